// A connection's machine with a peer, a socket and a clock that are played by the input: whatever comes, cut anywhere,
// sent in parts, answered at once or later, late or never, the peer gets sound answers, in order, one a request, and
// nothing behind the last; and what it gets depends on what it sent alone.
//
// Input: three bytes of configuration, a byte with the length of a script, the script (a byte a step), and the bytes
// that the peer sends.
#include "fuzz.hpp"

#include "../http/machine_site.hpp"

#include <optional>
#include <string>

namespace {

using namespace machine_test;

constexpr std::size_t largest_body = 50'000; // of an answer
constexpr std::uint64_t most_body = 2'000;   // of a request

struct answered {
    unsigned id = 0; // of the request, in the order of routing; 0: the machine's own answer
    int status = 0;
    std::string body;
    bool operator==(const answered&) const = default;
};

// What the script may do besides cutting and delaying.
struct disturbance {
    bool time = false;   // a deadline came
    bool cut = false;    // the peer broke the connection
    bool drain = false;  // answers say that they are the last
    bool memory = false; // there is little of it
    bool any() const { return time || cut || drain || memory; }
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
            promised_.push_back({static_cast<unsigned>(promised_.size() + 1), 0, {}});
            heads_.push_back(x.head.method == verb::head);
            decision d;
            d.plain = kind() == 0 || kind() == 3;
            d.body_bytes = most_body;
            d.handler_timeout = timeout_;
            d.answered = x.head.path() == "/no" && !x.head.expect_continue;
            if (d.answered) fill(x);
            return d;
        };
        s.handle = [this](exchange& x) {
            fuzz::require(!promised_.empty() && promised_.back().status == 0, "a request is handled once");
            fuzz::require(x.body.size() <= most_body, "a body is no larger than allowed");
            if (kind() != 2) fill(x);
            in_work_ = kind() >= 2;
            return !in_work_;
        };
        s.finish = [this](exchange& x) {
            in_work_ = false;
            if (kind() == 2) fill(x);
        };
        return s;
    }

    // The connection took the exchange away from its handler.
    void forget() { in_work_ = false; }
    std::size_t routed() const { return promised_.size(); }
    const answered& promised(std::size_t id) const { return promised_[id - 1]; }
    bool head_request(std::size_t id) const { return heads_[id - 1]; }

private:
    unsigned kind() const { return kinds_ >> (promised_.size() % 4 * 2) & 3; }

    void fill(exchange& x) {
        answered& mine = promised_.back();
        const std::string_view path = x.head.path();
        mine.status = path == "/204" ? 204 : path == "/304" ? 304 : path == "/500" ? 500 : path == "/no" ? 404 : 200;
        if (path == "/large")
            mine.body = pattern(x.head.query().size() * 977 % largest_body);
        else
            mine.body = report(x);
        x.response.status(mine.status);
        x.response.set("X-Id", std::to_string(mine.id));
        x.response.body(mine.body);
        if (path == "/close") x.response.close();
    }

    unsigned kinds_;
    std::chrono::milliseconds timeout_;
    bool in_work_ = false;
    std::vector<answered> promised_;
    std::vector<bool> heads_;
};

// The value of a field that occurs once at most.
std::optional<std::string> value_of(std::string_view head, std::string_view name) {
    const std::string key = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(key);
    if (at == head.npos) return std::nullopt;
    fuzz::require(head.find(key, at + 1) == head.npos, "a field stands once");
    const std::size_t begin = at + key.size();
    return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
}

// Takes the answers that the peer got apart. `whole`: nothing of them may be missing.
std::vector<answered> read_wire(std::string_view wire, const numbered_site& s, bool whole) {
    std::vector<answered> all;
    bool last = false;
    while (!wire.empty()) {
        if (wire.starts_with(continue_text)) {
            fuzz::require(!last, "nothing comes behind the last answer");
            wire.remove_prefix(continue_text.size());
            continue;
        }
        const std::size_t end = wire.find("\r\n\r\n");
        if (end == wire.npos) {
            fuzz::require(!whole, "an answer is whole");
            return all;
        }
        fuzz::require(!last, "nothing comes behind the last answer");
        const std::string_view head = wire.substr(0, end + 2);
        wire.remove_prefix(end + 4);
        answered a;
        fuzz::require(head.starts_with("HTTP/1.1 ") && head.size() > 13 && head[12] == ' ',
                      "an answer begins an answer");
        a.status = std::stoi(std::string(head.substr(9, 3)));
        const auto id = value_of(head, "X-Id"), length = value_of(head, "Content-Length");
        if (id) a.id = static_cast<unsigned>(std::stoul(*id));
        const bool bodiless = a.status == 204 || a.status == 304;
        fuzz::require(bodiless == !length, "its length is said");
        last = value_of(head, "Connection") == "close";
        std::size_t size = length ? std::stoull(*length) : 0;
        if (id) {
            fuzz::require(a.id >= 1 && a.id <= s.routed(), "it answers a request");
            fuzz::require(all.empty() || all.back().id + 1 == a.id, "answers keep the order of requests");
            fuzz::require(!all.empty() || a.id == 1, "from the first one on");
            const answered& promised = s.promised(a.id);
            fuzz::require(promised.status == a.status, "with its own status");
            fuzz::require(bodiless || size == promised.body.size(), "and its own length");
            if (s.head_request(a.id)) {
                size = 0;
            } else if (!bodiless) {
                const std::string_view body = wire.substr(0, size);
                fuzz::require(std::string_view(promised.body).starts_with(body), "and its own body");
            }
        } else {
            fuzz::require(last && a.status >= 400, "what the machine says by itself is the last word");
            if (wire.empty()) size = 0; // to HEAD
        }
        if (wire.size() < size) {
            fuzz::require(!whole, "a body is whole");
            return all;
        }
        a.body = wire.substr(0, size);
        wire.remove_prefix(size);
        all.push_back(std::move(a));
    }
    return all;
}

class session {
public:
    explicit session(fuzz::input& in)
        : shape_(in.byte()), memory_(in.byte()), site_(in.byte(), std::chrono::milliseconds(shape_ & 1 ? 100 : 0)),
          driver_(site_.make(), options()) {
        disturbance_.memory = scarce();
        driver_.takes_exchanges = !(shape_ & 64);
    }

    void run(std::string_view script, std::string_view sent) {
        left_ = sent;
        for (const char c : script) {
            play(static_cast<unsigned char>(c));
            check();
        }
        driver_.send_most = [] { return unlimited; };
        while (!driver_.closed) {
            const std::size_t before = progress();
            if (!left_.empty()) deliver(left_.size());
            if (driver_.waiting) driver_.finish();
            if (driver_.blocked) driver_.writable();
            check();
            if (progress() == before && !driver_.waiting && !driver_.blocked) break;
        }
        const bool idle = driver_.m.idle();
        if (!driver_.closed) driver_.finish_peer();
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
        case 2:
            if (driver_.waiting) driver_.finish();
            return;
        case 3:
            if (driver_.blocked) driver_.writable();
            return;
        case 4:
            if (driver_.closed) return;
            disturbance_.drain |= driver_.bounds.connection_age.count() != 0; // it may come to an end by its age
            disturbance_.time |= driver_.advance_to(driver_.now_ms + (std::uint64_t{1} << argument % 18));
            if (!driver_.waiting) site_.forget();
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

    void rare(unsigned argument) {
        if (driver_.closed) return;
        switch (argument) {
        case 0:
            driver_.close();
            site_.forget();
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
        fuzz::require(driver_.most_unsent <= largest_body + 20 * 1024, "and so is what is unsent");
        if (driver_.closed) return;
        const std::uint64_t due = driver_.m.deadline_ms(driver_.bounds);
        fuzz::require(due != 0 || driver_.m.suspended(), "what waits for the peer has a deadline");
        fuzz::require(due == 0 || due > driver_.now_ms, "a deadline that has passed has been acted upon");
        fuzz::require(!driver_.waiting || driver_.m.suspended(), "a handler that waits is known");
    }

    // The driver's own accounts, which are GoogleTest's expectations.
    void require_sound() const {
        fuzz::require(!testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed(), "the accounts are right");
    }

    void judge(bool idle) {
        const bool cut = disturbance_.time || disturbance_.cut || driver_.no_memory();
        const auto got = read_wire(driver_.wire, site_, !cut);
        const std::size_t own = !got.empty() && got.back().id == 0;
        const std::size_t answers = got.size() - own;
        if (!cut)
            fuzz::require(answers + 1 >= site_.routed(), "each request is answered but the last, which was cut short");
        if (!cut && idle) fuzz::require(answers == site_.routed() && !own, "each request is answered");
        if (disturbance_.any()) return;

        // Nothing but its bytes decides what a peer is told.
        numbered_site plain(0, std::chrono::milliseconds(0));
        driver::options o;
        o.bounds = options().bounds;
        driver whole(plain.make(), o);
        whole.receive(given_);
        whole.finish_peer();
        fuzz::require(got == read_wire(whole.wire, plain, true), "the answers to the same bytes are the same");
    }

    unsigned shape_;
    unsigned memory_;
    numbered_site site_;
    driver driver_;
    disturbance disturbance_;
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
