// What a worker does without an event: deadlines, memory that goes back, and its end.
#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/worker.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace fastserve::net {

namespace {

exchange& as_net(http::exchange& x) noexcept {
    return static_cast<exchange&>(x);
}

} // namespace

// ---- time
// --------------------------------------------------------------------------------------------------------------

void worker::set_timer() noexcept {
    if (alone_ || timer_set_ || !open_) return;
    timer_set_ = true;
    timer_.expires_after(std::chrono::milliseconds(tick_ms));
    try {
        timer_.async_wait(in_memory(ties_->timer, [this, ties = ties_](const boost::system::error_code& e) {
            if (!ties->alive) return;
            timer_set_ = false;
            if (!e && open_) on_timer();
        }));
    } catch (const std::bad_alloc&) {
        timer_set_ = false; // the queue of timers could not grow; the next batch tries again
    }
}

void worker::on_timer() noexcept {
    {
        const batch now(*this);
        wheel_.advance(tick_of(turn_.now_ms),
                       [this](timer_node& node) { on_deadline(static_cast<connection&>(node)); });
    }
    env_.board.set_stalled(static_cast<int>(index_), false); // whoever thought so
    give_back_memory();
    if (ticks()) set_timer();
}

void worker::on_deadline(connection& c) noexcept {
    const std::uint64_t deadline = c.machine.deadline_ms(env_.limits);
    if (deadline == 0 || deadline > turn_.now_ms) {
        settle(c);
        return;
    }
    // A peer that reads slowly makes room long before there is an event for it: the system tells of room when a third
    // of its buffer is free, which may take minutes. Only who has made none at all has stalled.
    if (c.machine.has_unsent()) {
        if (!drive(c)) return;
        const std::uint64_t now_due = c.machine.deadline_ms(env_.limits);
        if (now_due == 0 || now_due > turn_.now_ms) return;
    }
    if (c.machine.idle()) {
        // A request that has just arrived is still answered.
        c.readable = true;
        if (!drive(c) || !c.machine.idle() || c.machine.deadline_ms(env_.limits) > turn_.now_ms) return;
    }
    add(counters_.timed_out, 1);
    begin_turn();
    c.readable = true;
    const http::step s = c.machine.on_deadline(turn_);
    if (s.next == http::action::close) { // at once: it has had its time
        orphan_suspended(c);
        close(c);
    } else {
        interpret(c, s);
    }
    end_turn();
}

// Once most connections have gone, what they occupied goes back to the system.
void worker::give_back_memory() noexcept {
    peak_connections_ = std::max(peak_connections_, read(counters_.connections));
    const std::uint64_t requests = read(counters_.requests);
    const bool quiet = requests == requests_at_tick_;
    requests_at_tick_ = requests;
    const bool shrunk = read(counters_.connections) < peak_connections_ / 2;
    if (!shrunk && !(quiet && used_since_idle_)) {
        quiet_ticks_ = 0;
        return;
    }
    if (++quiet_ticks_ < 4) return;
    quiet_ticks_ = 0;
    used_since_idle_ = false;
    peak_connections_ = read(counters_.connections);
    env_.handlers.idle(*this);
    slots_.flush();
    buffers_.flush();
    env_.connections.trim();
    env_.buffers.trim();
}

// ---- ends
// --------------------------------------------------------------------------------------------------------------

void worker::close_idle() noexcept {
    const batch now(*this);
    for (connection* at = connections_; at;) {
        connection& c = *at;
        at = c.next; // whatever happens to c, its neighbour stays: turns close nobody else
        const bool served = c.machine.requests() != 0 || turn_.now_ms - c.machine.started_ms() > first_request_ms;
        if (!served || !c.machine.between_requests()) continue;
        c.readable = true; // a request that has just arrived is still answered
        if (drive(c) && c.machine.between_requests()) close(c);
    }
}

void worker::shut_down() noexcept {
    if (in_batch_)
        ending_ = true; // what the batch has in its hands comes first
    else if (!ended())
        tear_down();
}

void worker::tear_down() noexcept {
    ending_ = open_ = false;
    in_batch_ = true;
    for (net::mail* m = mailbox_ ? mailbox_->close() : nullptr; m;) {
        auto& l = static_cast<letter&>(*m);
        m = m->next;
        l.deliver(*this, l);
    }
    while (connections_) {
        const http::machine& m = connections_->machine;
        if (m.has_unsent() || !(m.idle() || m.lingering())) add(counters_.cut, 1);
        close(*connections_);
    }
    for (connection* c = std::exchange(ready_, nullptr); c;) {
        connection& gone = *c;
        c = c->next_ready;
        retire(gone);
    }
    ending_ = false; // a letter may have asked for what is being done
    end_batch();
    timer_.cancel();
    if (turn_.spare) env_.handlers.release(*this, as_net(*std::exchange(turn_.spare, nullptr)));
    if (events_.is_open()) events_.release();
    ended_.store(true, std::memory_order_relaxed);
}

} // namespace fastserve::net
