// One turn of one connection: what its machine asks for is done here.
#include <fastserve/net/worker.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace fastserve::net {

namespace {

// How often one connection may receive before others have their turn.
constexpr unsigned receives_a_turn = 16;
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

void worker::drive(connection& c) noexcept {
    begin_turn();
    http::machine& m = c.machine;
    if (m.has_unsent()) {
        if (flush(c) && !m.has_unsent()) interpret(c, m.resume(turn_));
        settle(c);
    } else {
        interpret(c, m.resume(turn_));
    }
    end_turn();
}

// Sends what is ready. False: the connection is closed.
bool worker::flush(connection& c) noexcept {
    http::machine& m = c.machine;
    if (turn_.output_size == 0 && !m.has_unsent()) return true;
    const sent s = c.stream.send(m.output(turn_));
    if (s.failed || !m.on_sent(turn_, s.size)) {
        close(c);
        return false;
    }
    if (m.has_unsent()) wait_until_writable(c);
    return true;
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
void worker::interpret(connection& c, http::step s) noexcept {
    http::machine& m = c.machine;
    for (;;) {
        switch (s.next) {
        case http::action::route: {
            exchange& x = as_net(*m.current());
            x.connection = c.id;
            x.peer = c.peer;
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
            }
            continue;
        }
        case http::action::read:
            if (!flush(c)) return;
            if (m.has_unsent()) break;
            if (c.readable && receive(c, s)) continue;
            if (c.closing) return;
            if (env_.placement && m.requests() - c.requests_seen >= requests_a_look && !c.readable && m.idle() &&
                consider_moving(c))
                return;
            break;
        case http::action::flush:
            if (!flush(c)) return;
            if (m.has_unsent()) break;
            s = m.resume(turn_);
            continue;
        case http::action::later:
            if (!flush(c)) return;
            if (!m.has_unsent()) make_ready(c);
            break;
        case http::action::wait:
            if (!flush(c)) return;
            break;
        case http::action::linger:
            if (!flush(c)) return;
            if (m.has_unsent() || linger(c)) break;
            return;
        case http::action::close:
            if (!flush(c)) return;
            if (m.has_unsent()) break;
            close(c);
            return;
        }
        break;
    }
    settle(c);
}

// True: `s` is the next step. False: nothing was received now, or the connection is closed.
bool worker::receive(connection& c, http::step& s) noexcept {
    if (receives_++ >= receives_a_turn) {
        make_ready(c);
        return false;
    }
    const std::span<char> area = c.machine.input_area(turn_);
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
        c.stream.shut_down_sending();
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
void worker::settle(connection& c) noexcept {
    if (c.closing) return;
    if (!c.registered) [[unlikely]] {
        if (sys::epoll_add(events_fd_.get(), c.stream.descriptor(), quiet_events, c.id.to_word()) != 0) {
            close(c);
            return;
        }
        c.registered = true;
    }
    const std::uint64_t deadline = c.machine.deadline_ms(env_.limits);
    if (deadline == 0)
        wheel_.cancel(c);
    else
        wheel_.schedule(c, tick_of(std::min(deadline, turn_.now_ms + longest_wait_ms)) + 1);
}

void worker::finish(exchange& x) noexcept {
    if (in_batch_) {
        x.next = finished_;
        finished_ = &x;
        return;
    }
    in_batch_ = true;
    look_at_clock();
    answer(x);
    end_batch();
    if (ready_) continue_soon();
}

void worker::answer(exchange& x) noexcept {
    subtract(counters_.suspended, 1);
    x.suspended = false;
    if (x.orphaned) {
        env_.handlers.release(*this, x);
        return;
    }
    connection* const c = env_.connections.find(x.connection);
    begin_turn();
    interpret(*c, c->machine.on_answer(turn_));
    end_turn();
}

} // namespace fastserve::net
