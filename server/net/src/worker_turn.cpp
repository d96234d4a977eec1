// One turn of one connection: what its machine asks for is done here.
#include <fastserve/net/worker.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace fastserve::net {

namespace {

// How often one connection may receive before others have their turn.
constexpr unsigned receives_a_turn = 16;
// And how much at once: room for a large body is no reason to fill it in one go.
constexpr std::size_t bytes_a_receive = 128 * 1024;
// And how often it may send what did not go at once: a fast reader of a large body takes all that it is given.
constexpr unsigned sends_a_turn = 16;
// How many handlers that ask again within a batch, for the next piece of a large body, have it in the same batch.
constexpr unsigned asked_again_a_batch = 8;
// A connection's placement is looked at again after this many requests (design 3.2).
constexpr std::uint32_t requests_a_look = 64;

// A deadline further ahead is looked at again by then.
constexpr std::uint64_t longest_wait_ms = 86'400'000;

constexpr std::uint32_t quiet_events = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr std::uint32_t blocked_events = quiet_events | EPOLLOUT;

exchange& as_net(http::exchange& x) noexcept {
    return static_cast<exchange&>(x);
}

} // namespace

void worker::begin_turn() noexcept {
    turn_.begin();
    receives_ = 0;
    if (!turn_.spare) [[unlikely]]
        turn_.spare = env_.handlers.acquire(*this);
}

void worker::end_turn() noexcept {
    if (turn_.returned) [[unlikely]]
        env_.handlers.release(*this, as_net(*std::exchange(turn_.returned, nullptr)));
}

bool worker::drive(connection& c) noexcept {
    begin_turn();
    const bool stays = interpret(c, c.machine.resume(turn_));
    end_turn();
    return stays;
}

// Sends what is ready, until it is sent or an event is promised for when more can be. False: the connection is closed.
bool worker::flush(connection& c, sys::sending how) noexcept {
    http::machine& m = c.machine;
    if (turn_.output_size == 0 && !m.has_unsent()) return true;
    for (unsigned sends = 1;; ++sends) {
        const sent s = c.stream.send(m.output(turn_), how);
        if (s.failed || !m.on_sent(turn_, s.size)) {
            close(c);
            return false;
        }
        if (!m.has_unsent()) [[likely]]
            return true;
        if (s.blocked) {
            wait_until_writable(c);
            return !c.closing;
        }
        if (sends == sends_a_turn) {
            make_ready(c);
            return true;
        }
    }
}

void worker::wait_until_writable(connection& c) noexcept {
    if (c.awaits_writable) return;
    c.awaits_writable = true;
    const std::uint64_t data = c.id.to_word();
    const int fd = c.stream.descriptor();
    const int e = c.registered ? sys::epoll_modify(events_fd_.get(), fd, blocked_events, data)
                               : sys::epoll_add(events_fd_.get(), fd, blocked_events, data);
    if (e == 0)
        c.registered = true;
    else
        close(c);
}

// The one place where a step becomes deeds.
bool worker::interpret(connection& c, http::step s) noexcept {
    http::machine& m = c.machine;
    for (;;) {
        switch (s.next) {
        case http::action::route: {
            exchange& x = as_net(*m.current());
            x.connection = c.id;
            x.peer = c.peer;
            // The machine knows of the end once it has been read; an event may have told before.
            if (c.finishing) x.peer_finished.store(true, std::memory_order_relaxed);
            s = m.on_decision(turn_, env_.handlers.route(*this, x));
            continue;
        }
        case http::action::handle: {
            exchange& x = as_net(*m.current());
            add(counters_.requests, 1);
            if (env_.handlers.handle(*this, x)) [[likely]] {
                s = m.on_answer(turn_);
            } else {
                x.suspended = true;
                add(counters_.suspended, 1);
                s = m.on_suspended(turn_);
                if (c.finishing) tell_peer_finished(c);
            }
            continue;
        }
        case http::action::read:
            if (!flush(c)) return false;
            if (m.has_unsent()) break;
            if (c.readable && receive(c, s)) continue;
            if (c.closing) return false;
            if (env_.placement && m.requests() - c.requests_seen >= requests_a_look && consider_moving(c)) return false;
            break;
        case http::action::flush:
            if (!flush(c)) return false;
            if (m.has_unsent()) break;
            s = m.resume(turn_);
            continue;
        case http::action::later:
            if (!flush(c)) return false;
            if (!m.has_unsent()) make_ready(c);
            break;
        case http::action::wait:
            if (!flush(c)) return false;
            break;
        case http::action::body: {
            exchange& x = as_net(*m.current());
            if (c.finishing) x.peer_finished.store(true, std::memory_order_relaxed);
            env_.handlers.body_ready(*this, x);
            break;
        }
        case http::action::written:
            if (!flush(c)) return false;
            if (m.has_unsent()) break;
            m.on_written();
            env_.handlers.written(*this, as_net(*m.current()));
            break;
        case http::action::linger:
            orphan_suspended(c);
            if (!flush(c, sys::sending::to_the_end)) return false;
            if (m.has_unsent() || linger(c)) break;
            return false;
        case http::action::close:
            orphan_suspended(c);
            // What is to be cut short by a reset leaves as far as it can before that.
            if (!flush(c, m.must_reset() ? sys::sending::on : sys::sending::to_the_end)) return false;
            if (m.has_unsent()) break;
            // What came after the last request would turn the end into a reset, and the answer might be lost in it.
            if (c.readable && c.stream.receive(turn_.input, c.finishing).size != 0) {
                s = m.linger(turn_);
                continue;
            }
            close(c);
            return false;
        }
        break;
    }
    return settle(c);
}

// Something else was answered, or nothing will be.
void worker::orphan_suspended(connection& c) noexcept {
    if (c.machine.suspended()) [[unlikely]]
        orphan(as_net(*c.machine.detach()));
}

// Its handler is suspended: an event is all that tells of the peer, since nothing is read.
void worker::tell_peer_finished(connection& c) noexcept {
    c.machine.on_peer_finished(turn_);
    env_.handlers.peer_finished(*this, as_net(*c.machine.current()));
}

// True: `s` is the next step. False: nothing was received now, or the connection is closed.
bool worker::receive(connection& c, http::step& s) noexcept {
    if (receives_++ >= receives_a_turn) {
        make_ready(c);
        return false;
    }
    std::span<char> area = c.machine.input_area(turn_);
    area = area.first(std::min(area.size(), bytes_a_receive));
    const received r = area.empty() ? received{.failed = true} : c.stream.receive(area, c.finishing);
    if (r.failed) {
        close(c);
        return false;
    }
    c.readable = !r.drained;
    if (r.finished) {
        s = c.machine.on_peer_finished(turn_);
        return true;
    }
    if (r.size == 0) return false;
    s = c.machine.on_input(turn_, r.size);
    return true;
}

// The last answer is out. What the peer still sends is received and dropped, because closing with unread bytes resets
// the connection and may destroy the answer before it is read. False: closed.
bool worker::linger(connection& c) noexcept {
    if (!c.shut_down) {
        c.shut_down = true;
        if (!c.stream.shut_down_sending()) {
            close(c);
            return false;
        }
    }
    while (c.readable) {
        if (receives_++ >= receives_a_turn) {
            make_ready(c);
            break;
        }
        const received r = c.stream.receive(turn_.input, c.finishing);
        if (r.failed || r.finished) {
            close(c);
            return false;
        }
        c.readable = !r.drained;
    }
    return true;
}

// The connection stays: its events and its deadline are what its state asks for.
bool worker::settle(connection& c) noexcept {
    if (!c.registered) [[unlikely]] {
        if (sys::epoll_add(events_fd_.get(), c.stream.descriptor(), quiet_events, c.id.to_word()) != 0) {
            close(c);
            return false;
        }
        c.registered = true;
    }
    const std::uint64_t deadline = c.machine.deadline_ms(env_.limits);
    if (deadline == 0)
        wheel_.cancel(c);
    else
        wheel_.schedule(c, tick_of(std::min(deadline, turn_.now_ms + longest_wait_ms)) + 1);
    return true;
}

// ---- what suspended handlers ask for
// -----------------------------------------------------------------------------------

void worker::ask(exchange& x, net::ask what) noexcept {
    const bool listed = x.asked != ask::nothing;
    x.asked = what;
    if (listed) return;
    x.next = nullptr;
    *last_asked_ = &x;
    last_asked_ = &x.next;
    if (!in_batch_) {
        const batch now(*this); // whose end performs it
    }
}

// The timer may still be set to the end of the peer's time, and will find that to have moved.
void worker::give_up(exchange& x) noexcept {
    if (x.asked != ask::nothing) {
        x.asked = ask::no_more;
        return;
    }
    if (x.orphaned) return;
    if (!in_batch_) look_at_clock();
    env_.connections.find(x.connection)->machine.on_given_up(turn_.now_ms);
}

// Those that ask meanwhile have their turn too, but not without end: a fast peer of a streaming handler would keep the
// others waiting.
void worker::perform_asked() noexcept {
    exchange** const end = last_asked_;
    bool again = false;
    for (unsigned more = 0; asked_ && (more < asked_again_a_batch || !open_); more += again) {
        exchange& x = *asked_;
        again = again || &x.next == end;
        asked_ = x.next;
        if (!asked_) last_asked_ = &asked_;
        perform(x);
    }
}

void worker::perform(exchange& x) noexcept {
    const net::ask what = std::exchange(x.asked, ask::nothing);
    if (what == ask::finish) {
        subtract(counters_.suspended, 1);
        x.suspended = false;
    }
    if (x.orphaned) {
        if (what == ask::finish) env_.handlers.release(*this, x);
        return; // its handler was told when it lost its peer
    }
    if (what == ask::no_more) return;
    connection& c = *env_.connections.find(x.connection);
    begin_turn();
    switch (what) {
    case ask::finish: interpret(c, c.machine.on_answer(turn_)); break;
    case ask::body: interpret(c, c.machine.on_body_wanted(turn_)); break;
    case ask::write: interpret(c, c.machine.on_write(turn_)); break;
    case ask::interim: interpret(c, c.machine.on_interim(turn_, x.interim_status)); break;
    case ask::nothing:
    case ask::no_more: break;
    }
    end_turn();
}

} // namespace fastserve::net
