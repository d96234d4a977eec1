#include "streams.hpp"

#include "peers.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve::test {

namespace {

using namespace boost::asio::experimental::awaitable_operators;

template <class T>
T number(const request& q, std::string_view name) {
    return q.param<T>(name).value();
}

// One run of a handler.
class visit {
public:
    visit(journal& j, request& q, response& a)
        : journal_(j), request_(q), response_(a), progress_(j.requests[number<std::uint64_t>(q, "id")]) {
        if (progress_.runs) wrong("a handler was started twice");
        progress_.runs = true;
        ++journal_.running;
    }
    ~visit() {
        progress_.runs = false;
        --journal_.running;
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    // The next piece; an empty one at the end. False: there is no use in going on.
    awaitable<bool> read(std::string_view& piece) {
        const result<chunk> got = co_await request_.read();
        co_return take(got, piece);
    }
    // `late`: there was none in that time. What operator|| gives would not do: if both come at once it may drop the
    // piece, and nobody would be the wiser.
    awaitable<bool> read_for(milliseconds time, std::string_view& piece, bool& late) {
        std::optional<result<chunk>> got;
        co_await (read_into(got) || awaitable<>(sleep_for(time)));
        late = !got || got->error() == errc::cancelled;
        co_return late || take(*got, piece);
    }
    awaitable<bool> write(std::string_view piece) {
        const error_code failed = co_await response_.write(piece);
        if (failed) {
            check(failed);
            co_return false;
        }
        progress_.written += piece.size();
        co_return true;
    }

    void wrong(std::string what) {
        if (journal_.wrong.empty()) journal_.wrong = std::string(request_.target()) + ": " + std::move(what);
    }

private:
    awaitable<> read_into(std::optional<result<chunk>>& got) { got = co_await request_.read(); }

    bool take(const result<chunk>& got, std::string_view& piece) {
        if (!got) {
            check(got.error());
            return false;
        }
        piece = *got;
        progress_.read += piece.size();
        return true;
    }
    // A peer may leave, be late, or end in the middle; all else would be the handler's doing.
    void check(const error_code& e) {
        if (e != errc::disconnected && e != http::errc::body_timeout && e != http::errc::incomplete_body)
            wrong("failed: " + e.message());
    }

    journal& journal_;
    request& request_;
    response& response_;
    progress& progress_;
};

// Announces what is to come. False: it has failed.
awaitable<bool> begin(visit& v, request& q, response& a, unsigned way) {
    if (way & with_trailer) a.trailer("X-Id", q.param("id"));
    if (way & with_interim) {
        const error_code failed = co_await a.interim(103);
        if (failed && failed != errc::disconnected) v.wrong("no interim response: " + failed.message());
        if (failed) co_return false;
    }
    co_return co_await v.write(""); // the head
}

awaitable<> take(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const milliseconds pause(number<unsigned>(q, "ms"));
    std::string all;
    std::string_view piece;
    for (int pauses = 0;; ++pauses) {
        const bool good = co_await v.read(piece);
        if (!good) co_return;
        if (piece.empty()) break;
        if (pause.count() != 0 && pauses < 8) co_await sleep_for(pause);
        all += piece; // which is good until the next read
    }
    a.bytes(std::move(all), "text/plain");
}

awaitable<> relay(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const auto way = number<unsigned>(q, "way");
    if (way & with_length) a.content_length(detail::parse_as<std::uint64_t>(q.field("Content-Length").value()).value());
    bool good = co_await begin(v, q, a, way);
    std::string_view piece;
    while (good) {
        good = co_await v.read(piece);
        if (!good || piece.empty()) break;
        good = co_await v.write(piece);
    }
}

awaitable<> part(journal& j, request& q, response& a) {
    visit v(j, q, a);
    std::string all;
    std::string_view piece;
    for (auto count = number<unsigned>(q, "count"); count != 0; --count) {
        const bool good = co_await v.read(piece);
        if (!good) co_return;
        if (piece.empty()) break;
        all += piece;
    }
    a.bytes(std::move(all), "text/plain");
}

awaitable<> early(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const auto id = number<std::uint64_t>(q, "id");
    if (id % 2 == 0) co_await sleep_for(milliseconds(5));
    a.text(content("early", id, 0));
}

awaitable<> timed(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const milliseconds time(number<unsigned>(q, "ms"));
    std::string all;
    std::string_view piece;
    for (unsigned given_up = 0;;) {
        bool late = false;
        bool good = false;
        if (given_up < 100)
            good = co_await v.read_for(time, piece, late);
        else
            good = co_await v.read(piece);
        if (!good) co_return;
        if (late) {
            // Something else, sometimes, before it reads on.
            if (++given_up % 4 == 0) co_await sleep_for(milliseconds(1));
            continue;
        }
        if (piece.empty()) break;
        all += piece;
    }
    a.bytes(std::move(all), "text/plain");
}

awaitable<> pieces(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const auto id = number<std::uint64_t>(q, "id");
    const auto way = number<unsigned>(q, "way");
    const std::string all = content("pieces", id, number<std::size_t>(q, "size"));
    if (way & with_length) a.content_length(all.size());
    bool good = co_await begin(v, q, a, way);
    dice d(id);
    int sleeps = 0;
    for (std::string_view left = all; good && !left.empty();) {
        const std::string_view piece = left.substr(0, 1 + d.below(left.size()));
        left.remove_prefix(piece.size());
        if ((way & with_sleeps) && ++sleeps < 5) co_await sleep_for(milliseconds(d.below(50)));
        good = co_await v.write(piece);
    }
}

awaitable<> cut(journal& j, request& q, response& a) {
    visit v(j, q, a);
    const auto id = number<std::uint64_t>(q, "id");
    const auto how = number<unsigned>(q, "cut");
    const std::string all = content("cut", id, number<std::size_t>(q, "size"));
    if (how == by_returning) a.content_length(all.size());
    const bool good = co_await v.write(std::string_view(all).substr(0, id % all.size()));
    if (!good) co_return;
    if (how == by_throwing) throw std::runtime_error("as it should");
    if (how == by_deadline) co_await sleep_for(std::chrono::hours(1));
}

} // namespace

void add_streams(server& app, journal& j) {
    const auto with = [&j](awaitable<> (*run)(journal&, request&, response&)) {
        return [&j, run](request& q, response& a) { return run(j, q, a); };
    };
    const route_options streamed{.body = body::streamed};
    app.post("/take/{id}/{ms}", with(take), streamed);
    app.post("/relay/{id}/{way}", with(relay), streamed);
    app.post("/part/{id}/{count}", with(part), streamed);
    app.post("/early/{id}", with(early), streamed);
    app.post("/timed/{id}/{ms}", with(timed), streamed);
    app.get("/pieces/{id}/{size}/{way}", with(pieces));
    app.get("/cut/{id}/{size}/{cut}", with(cut), {.deadline = route_time});
}

} // namespace fastserve::test
