// Every case, in process, cut at every position: not one byte of the answers may depend on how the request arrives.
#include "../http/machine_driver.hpp"
#include "case_file.hpp"

#include <fastserve/http/percent.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace machine_test;
using namespace std::string_view_literals;
using fastserve::http::normal_path;
using wire::wire_case;

const std::vector<wire_case>& cases() {
    static const std::vector<wire_case> all = wire::load_cases(WIRE_CASES);
    return all;
}

enum class kind { plain, owned, suspended, streamed };

// What fixture.cpp serves, without its files, decided and answered on the machine itself.
decision route(exchange& x, kind k) {
    const auto answered = [&x](int status) {
        x.response.status(status);
        if (status == 405 || status == 204) x.response.set("Allow", "GET, HEAD, OPTIONS");
        return decision{.answered = true};
    };
    decision d{.plain = k == kind::plain, .body_bytes = 4 << 20};
    const head& h = x.head;
    std::string scratch(h.path().size(), '\0');
    const auto path = normal_path(h.path(), scratch.data());
    if (h.secure_target) return answered(421);
    if (!path) return answered(400);
    if (*path == "*") return answered(204);
    if (h.method == verb::connect || h.method == verb::trace) return answered(405);
    if (*path == "/stream-refuse") return answered(403);
    if (*path == "/echo" || *path == "/small" || *path == "/stream-echo") {
        if (*path == "/small") d.body_bytes = 1024;
        d.streamed = k == kind::streamed;
        return d;
    }
    constexpr std::string_view others[] = {"/",         "/get-only", "/204",   "/205",
                                           "/redirect", "/stream",   "/early", "/trailer"};
    if (std::find(std::begin(others), std::end(others), *path) == std::end(others)) return answered(404);
    if (h.method == verb::options) return answered(204);
    return h.method == verb::get || h.method == verb::head ? d : answered(405);
}

void handle(exchange& x) {
    const auto path = x.head.path();
    if (path == "/echo" || path == "/small" || path == "/stream-echo") {
        x.response.body(x.body);
    } else if (path == "/204" || path == "/205") {
        x.response.status(path == "/204" ? 204 : 205);
    } else if (path == "/redirect") {
        x.response.status(x.head.query().find("%0") == std::string_view::npos ? 302 : 400);
    } else {
        x.response.body("hello world");
    }
}

site serve(kind k) {
    return {[k](exchange& x) { return route(x, k); },
            [k](exchange& x) {
                const bool later = k == kind::suspended || k == kind::streamed;
                if (!later) handle(x);
                return !later;
            },
            handle};
}

// A connection after the other, on one machine.
class peer {
public:
    explicit peer(kind k) : streams_(k == kind::streamed), driver_(serve(k)) {}

    struct result {
        std::string wire; // without interim answers: whether one is due depends on what has arrived
        bool ended;
        bool operator==(const result&) const = default;
        friend void PrintTo(const result& r, std::ostream* out) {
            *out << (r.ended ? "ended: " : "goes on: ") << r.wire.substr(0, 400);
        }
    };

    // Sends the case in pieces that end where `next_cut(position)` says.
    template <class Cut>
    result send(const wire_case& c, Cut next_cut) {
        driver_.reopen();
        driver_.pieces.clear();
        body_.clear();
        taken_ = 0;
        for (std::size_t at = 0; at < c.send.size() && !over();) {
            const std::size_t to = std::min(next_cut(at), c.send.size());
            receive(std::string_view(c.send).substr(at, to - at));
            at = to;
        }
        receive(c.then);
        if (c.half_close) driver_.finish_peer();
        finish_handlers();
        std::string wire = without(driver_.wire, "HTTP/1.1 100 Continue\r\n\r\n");
        if (c.unannounced) wire = without(std::move(wire), "Connection: close\r\n");
        return {std::move(wire), over()};
    }
    result send_whole(const wire_case& c) {
        return send(c, [](std::size_t) { return std::string::npos; });
    }
    result send_in_two(const wire_case& c, std::size_t cut) {
        return send(c, [cut](std::size_t at) { return at < cut ? cut : std::string::npos; });
    }

private:
    // Nothing more is read.
    bool over() const { return driver_.closed || driver_.shut; }
    // No more at once than the machine takes: the driver moves what it has to keep.
    void receive(std::string_view bytes) {
        while (!bytes.empty() && !over()) {
            const std::size_t size = std::min<std::size_t>(bytes.size(), 16 * 1024);
            driver_.receive(bytes.substr(0, size));
            bytes.remove_prefix(size);
            finish_handlers();
        }
    }
    void finish_handlers() {
        while (driver_.waiting && !driver_.closed) {
            if (driver_.waiting->body_open || driver_.waiting->body_waits) {
                // All that has come; the answer is made of it when it is whole, whatever its pieces were.
                const std::size_t before = driver_.pieces.size();
                if (!driver_.m.reading()) driver_.want_body();
                for (; taken_ < driver_.pieces.size(); ++taken_) body_ += driver_.pieces[taken_];
                if (driver_.pieces.size() == before) return;
                continue;
            }
            for (; taken_ < driver_.pieces.size(); ++taken_) body_ += driver_.pieces[taken_];
            if (streams_ && !body_.empty()) {
                driver_.waiting->response.content_length(body_.size());
                driver_.write(body_);
            }
            body_.clear();
            driver_.finish();
        }
    }
    static std::string without(std::string text, std::string_view line) {
        for (std::size_t at; (at = text.find(line)) != std::string::npos;) text.erase(at, line.size());
        return text;
    }

    bool streams_;
    driver driver_;
    std::string body_; // of a streamed request, as far as it was taken
    std::size_t taken_ = 0;
};

int first_status(std::string_view wire) {
    constexpr std::string_view version = "HTTP/1.1 ";
    if (!wire.starts_with(version) || wire.size() < version.size() + 3) return 0;
    return std::stoi(std::string(wire.substr(version.size(), 3)));
}

// Where a case of this size is cut behind `cut`. Up to short_case it is everywhere; longer ones repeat themselves, and
// are cut everywhere near both of their ends. With WIRE_ALL_CUTS in the environment, which takes minutes, they are cut
// everywhere up to long_case, and beyond that at every 61st position of the middle.
std::size_t next_cut(std::size_t cut, std::size_t size) {
    constexpr std::size_t short_case = 2048, long_case = 64 * 1024, stride = 61;
    static const bool all = std::getenv("WIRE_ALL_CUTS") != nullptr;
    const std::size_t near_an_end = size > long_case ? 32 : 128;
    const bool in_the_middle = cut + 1 >= near_an_end && cut + near_an_end < size;
    if (size <= short_case || !in_the_middle || (all && size <= long_case)) return cut + 1;
    return all ? std::min(cut + stride, size - near_an_end) : size - near_an_end;
}

TEST(wire_split, cases_are_judged_as_over_sockets) {
    ASSERT_GE(cases().size(), 382u);
    peer p(kind::plain);
    for (const wire_case& c : cases()) {
        if (c.file == "files") continue;
        const peer::result whole = p.send_whole(c);
        const int status = first_status(whole.wire);
        if (c.waits) {
            EXPECT_TRUE(whole.wire.empty() && !whole.ended) << c.id;
        } else if (!c.status.empty()) {
            const bool silent = whole.wire.empty() && whole.ended && c.may_be_silent;
            EXPECT_TRUE(silent || std::count(c.status.begin(), c.status.end(), status)) << c.id << ": " << status;
        }
    }
}

TEST(wire_split, every_position) {
    peer p(kind::plain);
    std::size_t tried = 0;
    for (const wire_case& c : cases()) {
        const peer::result whole = p.send_whole(c);
        for (std::size_t cut = 1; cut < c.send.size(); cut = next_cut(cut, c.send.size()), ++tried)
            ASSERT_EQ(p.send_in_two(c, cut), whole) << c.id << " cut at " << cut;
    }
    EXPECT_GT(tried, 60'000u);
    RecordProperty("cuts", std::to_string(tried));
}

TEST(wire_split, byte_by_byte_into_every_kind_of_handler) {
    for (const kind k : {kind::plain, kind::owned, kind::suspended, kind::streamed}) {
        peer p(k);
        for (const wire_case& c : cases()) {
            const peer::result whole = p.send_whole(c);
            // What is longest is a body; its bytes come in larger pieces once it is well under way.
            const auto next = [](std::size_t at) { return at < 24 * 1024 ? at + 1 : at + 509; };
            ASSERT_EQ(p.send(c, next), whole) << c.id << " with a handler of kind " << static_cast<int>(k);
        }
    }
}

// What cases become when bytes of them are changed, and when one follows another.
class mutator {
public:
    explicit mutator(std::uint64_t seed) : random_(seed) {
        for (const wire_case& c : cases())
            if (c.send.size() < 600 && c.then.empty()) short_ones_.push_back(&c);
    }
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

    std::string next() {
        std::string text = any();
        if (below(3) == 0) text += any();
        for (std::size_t n = below(4); n > 0 && !text.empty(); --n) {
            constexpr std::string_view bytes = "\0\r\n\t :,;=\"0159aAfx/%*[]\x7f\x80\xff"sv;
            const std::size_t at = below(text.size());
            switch (below(4)) {
            case 0: text[at] = bytes[below(bytes.size())]; break;
            case 1: text.insert(at, 1, bytes[below(bytes.size())]); break;
            case 2: text.erase(at, 1 + below(4)); break;
            default: text.insert(below(text.size()), text.substr(at, 1 + below(20))); break;
            }
        }
        return text;
    }

private:
    const std::string& any() { return short_ones_[below(short_ones_.size())]->send; }

    std::mt19937_64 random_;
    std::vector<const wire_case*> short_ones_;
};

TEST(wire_split, mutated_cases_at_random_positions) {
    const char* const given = std::getenv("WIRE_SEED");
    const std::uint64_t seed = given ? std::stoull(given) : std::random_device{}();
    const char* const rounds = std::getenv("WIRE_ROUNDS");
    std::printf("WIRE_SEED=%llu\n", static_cast<unsigned long long>(seed));
    mutator m(seed);
    peer p(kind::plain);
    for (std::uint64_t left = rounds ? std::stoull(rounds) : 20'000; left > 0; --left) {
        // A refusal that comes before the body may turn out to be the last answer.
        const wire_case c{.send = m.next(), .half_close = m.below(4) == 0, .unannounced = true};
        if (c.send.size() < 2) continue;
        const peer::result whole = p.send_whole(c);
        const std::size_t cut = 1 + m.below(c.send.size() - 1);
        ASSERT_EQ(p.send_in_two(c, cut), whole) << "seed " << seed << " cut at " << cut << '\n' << c.send;
        const std::size_t most = 1 + m.below(40);
        ASSERT_EQ(p.send(c, [&](std::size_t at) { return at + 1 + m.below(most); }), whole)
            << "seed " << seed << " in pieces of at most " << most << '\n'
            << c.send;
    }
}

} // namespace
