// A connection's machine with a peer, a socket and a clock that are played by the input: whatever comes, cut anywhere,
// sent in parts, answered at once or later, late or never, the peer gets sound answers, in order, one a request, and
// nothing behind the last; and what it gets depends on what it sent alone.
//
// Input: three bytes of configuration, a byte with the length of a script, the script (a byte a step), and the bytes
// that the peer sends.
#include "machine_pieces.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace {

using namespace machine_test;

constexpr std::uint64_t most_body = 2'000; // of a request

// What the script may do besides cutting and delaying.
struct disturbance {
    bool time = false;   // a deadline came
    bool cut = false;    // the peer broke the connection
    bool drain = false;  // answers say that they are the last
    bool memory = false; // there is little of it
    bool early = false;  // a handler in pieces ended before it was done
    bool any() const { return time || cut || drain || memory || early; }
};

// A site whose answers tell which request they belong to.
class numbered_site {
public:
    // `kinds` has two bits for each request in turn: plain, owned, suspended, plain and suspended.
    numbered_site(unsigned kinds, std::chrono::milliseconds timeout) : kinds_(kinds), timeout_(timeout) {}

    site make() {
        site s;
        s.route = [this](exchange& x) {
            fuzz::require(!in_work_, "one request at a time");
            fuzz::promise& mine = promises_.emplace_back();
            mine.target = x.head.target();
            mine.head_request = x.head.method == verb::head;
            mine.version_minor = x.head.version_minor;
            mine.expects = x.head.expect_continue;
            mine.asked = !fuzz::in_pieces(x.head.path());
            decision d;
            d.plain = kind() == 0 || kind() == 3;
            d.streamed = fuzz::in_pieces(x.head.path());
            d.body_bytes = most_body;
            d.handler_timeout = timeout_;
            d.answered = x.head.path() == "/no" && !x.head.expect_continue;
            if (d.answered) fill(x);
            return d;
        };
        s.handle = [this](exchange& x) {
            fuzz::require(!promises_.empty() && promises_.back().status == 0, "a request is handled once");
            fuzz::require(x.body.size() <= most_body, "a body is no larger than allowed");
            streams_ = fuzz::in_pieces(x.head.path());
            if (kind() != 2 && !streams_) fill(x);
            in_work_ = kind() >= 2 || streams_;
            return !in_work_;
        };
        s.finish = [this](exchange& x) {
            in_work_ = false;
            if (kind() == 2 && !std::exchange(streams_, false)) fill(x);
        };
        return s;
    }

    // A handler in pieces is to be begun.
    bool streams() const { return streams_; }
    // The connection took the exchange away from its handler.
    void forget() { in_work_ = streams_ = false; }
    std::deque<fuzz::promise>& promises() { return promises_; }

private:
    unsigned kind() const { return kinds_ >> (promises_.size() % 4 * 2) & 3; }

    void fill(exchange& x) {
        fuzz::promise& mine = promises_.back();
        const std::string_view path = x.head.path();
        mine.status = path == "/204" ? 204 : path == "/304" ? 304 : path == "/500" ? 500 : path == "/no" ? 404 : 200;
        if (path == "/large")
            mine.body = pattern(x.head.query().size() * 977 % fuzz::largest_body);
        else
            mine.body = report(x);
        x.response.status(mine.status);
        x.response.set("X-Id", std::to_string(promises_.size()));
        x.response.body(mine.body);
        if (path == "/close") x.response.close();
    }

    unsigned kinds_;
    std::chrono::milliseconds timeout_;
    bool in_work_ = false, streams_ = false;
    std::deque<fuzz::promise> promises_;
};

// A site, its connection, and the handler in pieces of whatever request is in work.
struct served {
    served(unsigned kinds, std::chrono::milliseconds timeout, driver::options o)
        : site(kinds, timeout), connection(site.make(), o), pieces(connection) {}

    // After each event.
    void settle() {
        pieces.settle();
        if (!connection.waiting) return site.forget();
        if (!site.streams() || pieces.works()) return;
        pieces.id = std::to_string(site.promises().size());
        pieces.begin(site.promises().back());
    }
    // What a handler does next where nothing disturbs it. False: nothing before its peer has done something.
    bool next() {
        if (!connection.waiting) return false;
        if (!pieces.works()) {
            connection.finish();
        } else {
            if (pieces.busy() || (connection.m.reading() && connection.pending.empty())) return false;
            pieces.next();
        }
        settle();
        return true;
    }

    numbered_site site;
    driver connection;
    fuzz::piece_handler pieces;
};

class session {
public:
    explicit session(fuzz::input& in)
        : shape_(in.byte()), memory_(in.byte()),
          served_(in.byte(), std::chrono::milliseconds(shape_ & 1 ? 100 : 0), options()) {
        disturbance_.memory = scarce();
    }

    void run(std::string_view script, std::string_view sent) {
        left_ = sent;
        // As the network layer does; a handler in pieces must not ask when something else was answered.
        driver_.takes_exchanges = !(shape_ & 64) || sent.find("/echo") != sent.npos ||
                                  sent.find("/piece") != sent.npos || sent.find("/none") != sent.npos;
        for (const char c : script) {
            play(static_cast<unsigned char>(c));
            served_.settle();
            check();
        }
        driver_.send_most = [] { return unlimited; };
        while (!driver_.closed) {
            const std::size_t before = progress();
            if (!left_.empty()) deliver(left_.size());
            served_.settle();
            const bool goes_on = served_.next();
            if (driver_.blocked) driver_.writable();
            served_.settle();
            check();
            if (progress() == before && !goes_on && !driver_.blocked) break;
        }
        const bool idle = driver_.m.idle();
        if (!driver_.closed) driver_.finish_peer();
        served_.settle();
        fuzz::require(driver_.closed, "a connection ends when its peer is done and answered");
        // What is left without a connection ends by itself.
        driver_.release_detached();
        judge(idle);
        require_sound();
    }

private:
    bool scarce() const { return (shape_ & 14) == 14; }

    driver::options options() const {
        driver::options o;
        o.input_bytes = shape_ & 2 ? 200 : 4'096;
        o.output_bytes = shape_ & 4 ? 2'048 : 16 * 1024;
        o.bounds.head_bytes = 2'000;
        o.bounds.turn_requests = shape_ & 8 ? 2 : 128;
        o.bounds.connection_age = std::chrono::milliseconds(shape_ & 16 ? 3'000 : 0);
        o.bounds.requests_per_connection = shape_ & 32 ? 3 : 0;
        if (scarce()) o.pool_bytes = std::size_t{memory_ + 1} * 4'096;
        o.exchanges = !(scarce() && memory_ == 255);
        return o;
    }

    std::size_t progress() const {
        return left_.size() + driver_.wire.size() * 2 + driver_.pending.size() + driver_.handled;
    }

    void deliver(std::size_t size) {
        const std::string_view piece = left_.substr(0, size);
        left_.remove_prefix(piece.size());
        given_.append(piece);
        driver_.receive(piece);
    }

    void play(unsigned code) {
        const unsigned argument = code >> 3;
        switch (code & 7) {
        case 0: return deliver(1 + argument);
        case 1: return deliver(argument * 50);
        case 2: return handle(argument);
        case 3:
            if (driver_.blocked) driver_.writable();
            return;
        case 4:
            if (driver_.closed) return;
            disturbance_.drain |= driver_.bounds.connection_age.count() != 0; // it may come to an end by its age
            disturbance_.time |= driver_.advance_to(driver_.now_ms + (std::uint64_t{1} << argument % 18));
            return;
        case 5:
            if (argument % 2 == 0)
                driver_.receive_most = argument == 0 ? unlimited : argument * 20;
            else
                driver_.bounds.turn_requests = argument;
            return;
        case 6: {
            const std::size_t most = argument == 31 ? unlimited : argument * argument * 7;
            driver_.writes_itself = argument % 2 == 1;
            driver_.send_most = [most, i = 0]() mutable { return most == 0 && ++i % 2 == 0 ? std::size_t{1} : most; };
            return;
        }
        default: return rare(argument);
        }
    }

    // The handler does something.
    void handle(unsigned argument) {
        constexpr std::size_t sizes[] = {0, 1, 17, 1'000, 16 * 1024, 16 * 1024 + 1, 20'000, fuzz::largest_body};
        if (!served_.pieces.works() || argument == 0 || argument > 20) return void(served_.next());
        fuzz::piece_handler& h = served_.pieces;
        if (argument < 8) return h.read();
        if (argument < 16) return h.write(sizes[argument - 8]);
        if (argument < 19) return h.interim();
        disturbance_.early |= !h.busy();
        argument == 19 ? h.finish() : h.fail();
    }

    void rare(unsigned argument) {
        if (driver_.closed) return;
        switch (argument) {
        case 0:
            driver_.close();
            disturbance_.cut = true;
            return;
        case 1:
            driver_.draining = true;
            disturbance_.drain = true;
            return;
        case 2:
            left_ = {};
            driver_.finish_peer();
            return;
        default: return;
        }
    }

    void check() {
        require_sound();
        const auto stats = driver_.buffers.stats();
        fuzz::require(stats.bytes_committed - stats.bytes_retained <= 256 * 1024, "memory is bounded");
        fuzz::require(driver_.most_unsent <= fuzz::largest_body + 20 * 1024, "and so is what is unsent");
        const bool excused = disturbance_.time || disturbance_.cut || disturbance_.memory;
        if (served_.pieces.losses != std::exchange(losses_, served_.pieces.losses) && !excused)
            fuzz::require(driver_.detached.back()->body_error != errc::ok, "a handler loses its peer for a reason");
        if (driver_.closed) return;
        const std::uint64_t due = driver_.m.deadline_ms(driver_.bounds);
        const bool for_peer = !driver_.m.suspended() || driver_.m.reading() || driver_.blocked;
        fuzz::require(due != 0 || !for_peer, "what waits for the peer has a deadline");
        fuzz::require(!driver_.m.reading() || due <= driver_.now_ms + 35'000, "that is kept");
        fuzz::require(due == 0 || due > driver_.now_ms, "a deadline that has passed has been acted upon");
        fuzz::require(!driver_.waiting || driver_.m.suspended(), "a handler that waits is known");
    }

    // The driver's own accounts, which are GoogleTest's expectations.
    void require_sound() const {
        fuzz::require(!testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed(), "the accounts are right");
    }

    void judge(bool idle) {
        const bool cut = disturbance_.time || disturbance_.cut || driver_.no_memory();
        const auto got = fuzz::wire_reader(driver_.wire, served_.site.promises(), !cut).all;
        const std::size_t own = !got.empty() && got.back().id == 0;
        const std::size_t answers = got.size() - own, routed = served_.site.promises().size();
        if (!cut) fuzz::require(answers + 1 >= routed, "each request is answered but the last, which was cut short");
        if (!cut && idle) fuzz::require(answers == routed && !own, "each request is answered");

        // Nothing but its bytes decides what a peer is told, and what its requests are.
        driver::options o;
        o.bounds = options().bounds;
        served whole(0, std::chrono::milliseconds(0), o);
        whole.connection.receive(given_);
        whole.settle();
        while (!whole.connection.closed && whole.next()) {
        }
        whole.connection.finish_peer();
        whole.settle();
        const auto& expected = whole.site.promises();
        for (std::size_t i = 0; i < std::min(routed, expected.size()); ++i)
            fuzz::require(served_.site.promises()[i].target == expected[i].target, "no body is a request");
        if (disturbance_.any()) return;
        fuzz::require(agree(got, fuzz::wire_reader(whole.connection.wire, whole.site.promises(), true).all),
                      "the answers to the same bytes are the same");
    }

    unsigned shape_;
    unsigned memory_;
    served served_;
    driver& driver_ = served_.connection;
    disturbance disturbance_;
    std::size_t losses_ = 0;
    std::string_view left_;
    std::string given_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    session s(in);
    const std::string_view script = in.bytes(in.byte());
    s.run(script, in.rest());
    return 0;
}
