// Stands in for the network layer: runs one machine by the steps it answers with, with a peer made of strings.
//
// What the peer sends lies in a queue until the machine reads; how much one receive or one send moves is up to the
// test. Everything that a machine may not rely on is overwritten as soon as the rules allow it: the turn's input before
// each receive and after each turn, the turn's output after each send. After each event the accounts of exchanges and
// buffers are looked at.
#pragma once

#include <fastserve/http/machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace machine_test {

using namespace fastserve::http;
namespace pool = fastserve::pool;

constexpr std::int64_t fixed_date = 784'111'777; // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::size_t unlimited = std::size_t(-1);

// What a connection is served with.
struct site {
    std::function<decision(exchange&)> route;
    std::function<bool(exchange&)> handle; // false: it is suspended
    std::function<void(exchange&)> finish; // the end of a suspended handler
};

class driver {
public:
    struct options {
        limits bounds{};
        std::size_t input_bytes = 16 * 1024;
        std::size_t output_bytes = 64 * 1024;
        std::size_t pool_bytes = std::size_t{64} << 20;
        bool exchanges = true; // false: there is none at hand
    };

    explicit driver(site s) : driver(std::move(s), options{}) {}
    driver(site s, options o)
        : bounds(o.bounds), site_(std::move(s)), options_(o), input_(o.input_bytes + parse_padding),
          output_(o.output_bytes) {
        const auto failed = buffers.open({.budget_bytes = o.pool_bytes});
        if (failed) throw std::system_error(failed);
        cache = std::make_unique<pool::buffer_cache>(buffers);
        templates.refresh(fixed_date);
        t_ = std::make_unique<turn>(turn{.limits = bounds, .buffers = *cache, .templates = templates});
        t_->input = {input_.data(), o.input_bytes};
        t_->output = output_;
        m.start(now_ms);
    }
    driver(const driver&) = delete;
    driver& operator=(const driver&) = delete;
    ~driver() {
        if (!closed) close();
        release_detached();
        if (t_->spare) free_.push_back(t_->spare);
        EXPECT_EQ(free_.size(), made_.size()) << "an exchange is lost";
        EXPECT_EQ(buffers.stats().in_use, held_by_test) << "a buffer is lost";
    }

    // ---- events

    void receive(std::string_view bytes) {
        if (closed || shut) return; // nobody looks at it any more
        pending.append(bytes);
        if (reading()) turn_with([&] { return step{action::read}; });
    }
    // Byte by byte.
    void receive_each(std::string_view bytes) {
        for (const char& c : bytes) receive({&c, 1});
    }
    void finish_peer() {
        peer_done = true;
        if (closed) return;
        turn_with([&] { return reading() || shut ? next_ : m.on_peer_finished(*t_); });
    }
    // The suspended handler finishes.
    void finish() {
        ASSERT_TRUE(waiting);
        exchange& x = *std::exchange(waiting, nullptr);
        site_.finish(x);
        turn_with([&] { return m.on_answer(*t_); });
    }
    // The suspended handler asks for the next piece of its body.
    void want_body() {
        ASSERT_TRUE(waiting);
        turn_with([&] { return m.on_body_wanted(*t_); });
    }
    // It waits for that no longer.
    void give_up() {
        before_event();
        m.on_given_up(now_ms);
        next_ = {action::wait};
        check();
    }
    // All pieces up to the end.
    std::string read_all() {
        std::string all;
        do {
            const std::size_t before = pieces.size();
            want_body();
            if (pieces.size() == before) return all + "(waits)";
            all += pieces.back();
        } while (!pieces.back().empty());
        return all;
    }
    // The suspended handler sends a piece. `bytes` stay good until `written` counts it.
    void write(std::string_view bytes) {
        ASSERT_TRUE(waiting);
        waiting->outgoing = bytes;
        turn_with([&] { return m.on_write(*t_); });
    }
    void interim(int status) {
        ASSERT_TRUE(waiting);
        turn_with([&] { return m.on_interim(*t_, status); });
    }
    // The socket takes more.
    void writable() {
        ASSERT_TRUE(blocked);
        turn_with([&] { return next_; });
    }
    // Calls on_deadline() if it is due; a suspended handler then loses its connection.
    bool advance_to(std::uint64_t ms) {
        now_ms = ms;
        const std::uint64_t due = m.deadline_ms(bounds);
        if (closed || due == 0 || ms < due) return false;
        turn_with([&] {
            return m.on_deadline(*t_);
        });
        return true;
    }
    void refuse(int status) {
        turn_with([&] { return m.refuse(*t_, status); });
    }
    // The connection breaks.
    void close() {
        const bool suspended = m.suspended();
        exchange* const x = m.abandon();
        EXPECT_EQ(suspended, waiting != nullptr);
        closed = true;
        blocked = false;
        waiting = nullptr;
        if (x) suspended ? detached.push_back(x) : release(x);
    }
    // Another connection on the same machine.
    void reopen() {
        if (!closed) close();
        closed = shut = peer_done = no_memory_ = false;
        wire.clear();
        pending.clear();
        next_ = {action::read};
        m.start(now_ms);
    }
    // A handler without a connection ends.
    void release_detached() {
        for (exchange* x : detached) release(x);
        detached.clear();
    }

    // ---- the peer

    std::string wire;    // what it got
    std::string pending; // what it sent, and was not received yet
    bool peer_done = false;
    bool shut = false;   // we have shut down our sending side
    bool closed = false; // we have closed
    std::size_t receive_most = unlimited;
    std::function<std::size_t()> send_most = [] { return unlimited; }; // of one send
    bool writes_itself = true;                                         // the socket becomes writable by itself

    // ---- what may be looked at and set

    limits bounds;
    pool::buffer_pool buffers;
    std::unique_ptr<pool::buffer_cache> cache;
    response_templates templates;
    machine m;
    std::uint64_t now_ms = 1'000'000;
    exchange* waiting = nullptr; // of the suspended handler
    std::vector<exchange*> detached;
    bool blocked = false; // the socket takes no more for now
    bool draining = false;
    std::size_t sends = 0;
    std::size_t laters = 0;
    std::size_t handled = 0;
    bool takes_exchanges = true; // a suspended handler's, when something else was answered
    std::vector<std::string> pieces; // of streamed bodies, as the handlers got them; empty: an end
    std::size_t written = 0;         // how many pieces of responses are out
    std::size_t held_by_test = 0;
    std::size_t most_unsent = 0;
    std::function<void()> before_event = [] {};

    std::function<void()> between_turns = [] {};

    turn& lent() { return *t_; }
    bool reading() const { return !closed && !blocked && (next_.next == action::read || m.reading()); }
    bool no_memory() const { return no_memory_; }

private:
    void detach() {
        if (!m.suspended()) return;
        detached.push_back(m.detach());
        waiting = nullptr;
    }

    template <class Event>
    void turn_with(Event&& event) {
        before_event();
        begin();
        run(event());
        while (blocked && writes_itself && !closed) {
            end();
            begin();
            run(next_);
        }
        end();
        check();
    }

    void begin() {
        t_->now_ms = now_ms;
        t_->draining = draining;
        t_->begin();
        if (!t_->spare && options_.exchanges) {
            if (free_.empty()) {
                made_.push_back(std::make_unique<exchange>(bounds));
                free_.push_back(made_.back().get());
            }
            t_->spare = free_.back();
            free_.pop_back();
        }
    }
    void end() {
        if (t_->returned) free_.push_back(std::exchange(t_->returned, nullptr));
        spoil_input();
    }
    void spoil_input() { std::fill_n(input_.begin(), std::exchange(received_, 0), '#'); }
    void release(exchange* x) {
        x->reset();
        free_.push_back(x);
    }

    // Sends what is ready. False: not all of it left, or the connection ended.
    bool send() {
        for (;;) {
            const auto parts = m.output(*t_);
            std::size_t total = 0;
            for (const std::string_view p : parts) total += p.size();
            if (total == 0) {
                blocked = false;
                return true;
            }
            std::size_t n = std::min(send_most(), total);
            const std::size_t sent = n;
            for (const std::string_view p : parts) {
                wire.append(p.substr(0, n));
                n -= std::min(n, p.size());
            }
            ++sends;
            most_unsent = std::max(most_unsent, total - sent);
            const std::size_t filled = t_->output_size;
            if (!m.on_sent(*t_, sent)) {
                no_memory_ = true;
                close();
                return false;
            }
            EXPECT_EQ(m.has_unsent(), sent != total);
            EXPECT_FALSE(m.idle() && sent != total);
            std::fill_n(output_.begin(), filled, '%');
            if (sent != total) {
                blocked = true;
                return false;
            }
        }
    }

    void run(step s) {
        for (;;) {
            next_ = s;
            switch (s.next) {
            case action::route:
                EXPECT_FALSE(blocked) << "a request was taken up while output is unsent";
                s = m.on_decision(*t_, site_.route(*m.current()));
                continue;
            case action::handle:
                ++handled;
                if (site_.handle(*m.current())) {
                    s = m.on_answer(*t_);
                } else {
                    waiting = m.current();
                    s = m.on_suspended(*t_);
                }
                continue;
            case action::body:
                pieces.emplace_back(m.current()->body);
                next_ = {action::wait};
                return;
            case action::linger:
            case action::close:
                if (takes_exchanges) detach();
                break;
            default:
                break;
            }
            const bool was_blocked = blocked;
            if (!send()) return;
            if (was_blocked) {
                s = m.resume(*t_);
                continue;
            }
            switch (s.next) {
            case action::flush:
                s = m.resume(*t_);
                continue;
            case action::later:
                ++laters;
                between_turns();
                end();
                begin();
                s = m.resume(*t_);
                continue;
            case action::read:
                if (pending.empty() && !peer_done) return;
                s = pending.empty() ? m.on_peer_finished(*t_) : receive_some();
                continue;
            case action::written:
                m.on_written();
                ++written;
                next_ = {action::wait};
                return;
            case action::linger:
                shut = true;
                pending.clear();
                if (!peer_done) return;
                s = m.on_peer_finished(*t_);
                continue;
            case action::close:
                return close();
            default:
                return;
            }
        }
    }

    step receive_some() {
        const std::span<char> area = m.input_area(*t_);
        EXPECT_FALSE(area.empty());
        const std::size_t n = std::min({area.size(), receive_most, pending.size()});
        spoil_input();
        if (area.data() == input_.data()) received_ = n;
        std::memcpy(area.data(), pending.data(), n);
        pending.erase(0, n);
        return m.on_input(*t_, n);
    }

    void check() {
        if (m.idle() || closed) {
            EXPECT_EQ(m.current(), nullptr);
            if (detached.empty()) {
                EXPECT_EQ(buffers.stats().in_use, held_by_test) << "an idle connection holds a buffer";
            }
        }
        EXPECT_EQ(free_.size() + (t_->spare ? 1 : 0) + (m.current() ? 1 : 0) + detached.size(), made_.size());
    }

    site site_;
    options options_;
    std::vector<char> input_;
    std::vector<char> output_;
    std::unique_ptr<turn> t_;
    std::vector<std::unique_ptr<exchange>> made_;
    std::vector<exchange*> free_;
    std::size_t received_ = 0; // lies in input_
    step next_{action::read};
    bool no_memory_ = false;
};

} // namespace machine_test
