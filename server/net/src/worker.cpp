#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/worker.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <new>
#include <utility>

#include <sys/epoll.h>

namespace fastserve::net {

namespace {

constexpr std::size_t input_bytes = 64 * 1024;
constexpr std::size_t output_bytes = 256 * 1024;
constexpr std::size_t events_a_batch = 256;
// The unit of time that placement_tuning is in.
constexpr std::uint64_t placement_tick_ms = 100;

exchange& as_net(http::exchange& x) noexcept {
    return static_cast<exchange&>(x);
}

// What an event says of what is no connection: 0 is the wake-up, n the watched one at place n - 1.
std::uint64_t event_of_no_connection(std::uint64_t n) noexcept {
    return pool::handle(pool::null_index, n).to_word();
}

} // namespace

worker::worker(const worker_environment& env, unsigned index, boost::asio::io_context& context)
    : env_(env), index_(index), context_(context), events_(context), timer_(context), buffers_(env.buffers),
      slots_(env.connections), turn_{.limits = env.limits,
                                     .buffers = buffers_,
                                     .templates = templates_,
                                     .input = {},
                                     .output = {}},
      wheel_(tick_of(clock_ms())) {}

worker::~worker() {
    shut_down();
    ties_->alive = false;
    if (events_.is_open()) events_.release(); // the descriptor is ours
}

std::error_code worker::open(std::span<const std::unique_ptr<worker>> all) {
    all_ = all;
    const sys::io_result set = sys::epoll_create();
    if (!set.ok()) return sys::to_error_code(set.error);
    events_fd_.reset(set.descriptor());
    result<std::shared_ptr<mailbox>> mail = mailbox::open();
    if (!mail) return mail.error();
    mailbox_ = std::move(*mail);
    // Edge-triggered, so that the counter never has to be read: each signal is an edge.
    const std::uint64_t wake = event_of_no_connection(0);
    if (const int e = sys::epoll_add(events_fd_.get(), mailbox_->wake_fd(), EPOLLIN | EPOLLET, wake))
        return sys::to_error_code(e);
    input_ = buffers_.acquire(input_bytes);
    output_ = buffers_.acquire(output_bytes);
    if (!input_ || !output_) return std::make_error_code(std::errc::not_enough_memory);
    turn_.input = {input_.data(), input_.capacity()};
    turn_.output = {output_.data(), output_.capacity()};
    turn_.refusals = env_.handlers.refusals();
    templates_.server_name(env_.server_name);
    look_at_clock();
    return {};
}

std::error_code worker::start() {
    boost::system::error_code failed;
    try {
        events_.assign(events_fd_.get(), failed);
    } catch (const std::bad_alloc&) {
        return std::make_error_code(std::errc::not_enough_memory);
    }
    if (failed) return failed;
    open_ = true;
    continue_soon();
    return {};
}

void worker::run() {
    // A loop whose last work ends is stopped, also before anybody has run it: a handler's may come and go until then.
    auto work = boost::asio::make_work_guard(context_);
    // It looks once without waiting: senders wake only who has told them that it sleeps.
    alone_ = open_ = again_ = true;
    tick last = tick_of(clock_ms());
    while (open_ && !loop_needed_.load(std::memory_order_acquire)) { // L2
        on_events(std::exchange(again_, false) ? 0 : ticks() ? static_cast<int>(tick_ms) : -1);
        if (const tick now = tick_of(turn_.now_ms); now != last && open_) {
            last = now;
            on_timer();
        }
    }
    // Should the system have no memory to nest the one set in the other, both are looked at in turn.
    while (open_ && start()) {
        on_events(1);
        run_loop([this] { context_.poll(); });
    }
    alone_ = false;
    if (open_) {
        set_timer();
        continue_soon();
    }
    work.reset();
    run_loop([this] { context_.run(); });
}

// Where Asio finds no memory to go on with a coroutine, it throws out of the loop and destroys the coroutine: that is
// the end of one request (application::ending), and the loop goes on.
template <class F>
void worker::run_loop(F f) {
    for (;;) {
        try {
            f();
            return;
        } catch (const std::bad_alloc&) {
        }
    }
}

bool worker::poll() {
    again_ = false;
    if (!ended()) {
        alone_ = open_ = true; // alone: nothing of the worker's own waits in the loop
        on_events(0);
        if (open_ && tick_of(turn_.now_ms) != wheel_.current()) on_timer();
    }
    bool ran = false;
    if (loop_needed_.load(std::memory_order_relaxed)) { // what was given to it was given by this thread
        context_.restart();
        ran = context_.poll() != 0;
    }
    return again_ || ran;
}

void worker::need_loop() noexcept {
    if (loop_needed_.load(std::memory_order_relaxed)) return;
    loop_needed_.store(true, std::memory_order_release); // L1
    mailbox_->wake();
}

// ---- the loop
// ----------------------------------------------------------------------------------------------------------

void worker::wait_for_events() {
    waiting_ = true;
    events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       in_memory(ties_->wait, [this, ties = ties_](const boost::system::error_code& e) {
                           if (!ties->alive) return;
                           waiting_ = false;
                           if (!e && open_) on_events(0);
                       }));
}

void worker::continue_soon() {
    if (alone_) {
        again_ = true;
        return;
    }
    if (posted_) return;
    posted_ = true;
    boost::asio::post(context_, in_memory(ties_->post, [this, ties = ties_] {
                          if (!ties->alive) return;
                          posted_ = false;
                          if (open_) on_events(0);
                      }));
}

std::uint64_t worker::clock_ms() noexcept {
    return sys::coarse_ms(CLOCK_MONOTONIC_COARSE);
}

void worker::look_at_clock() noexcept {
    turn_.now_ms = clock_ms();
    templates_.refresh(static_cast<std::int64_t>(sys::coarse_ms(CLOCK_REALTIME_COARSE) / 1000));
}

worker::batch::batch(worker& w) noexcept : outermost_(w.in_batch_ ? nullptr : &w) {
    if (!outermost_) return;
    w.in_batch_ = true;
    w.look_at_clock();
    w.counters_.busy_since_ms.store(w.turn_.now_ms, std::memory_order_relaxed);
}

worker::batch::~batch() {
    if (outermost_) outermost_->end_batch();
}

void worker::on_events(int wait_ms) noexcept {
    std::array<epoll_event, events_a_batch> events;
    const sys::io_result got = sys::epoll_wait(events_fd_.get(), events, wait_ms);
    const std::size_t count = got.ok() ? static_cast<std::size_t>(got.n) : 0;
    {
        const batch now(*this);
        add(counters_.batches, 1);
        for (std::size_t i = 0; i < count; ++i) on_event(events[i].data.u64, events[i].events);
        deliver_mail();
        run_ready();
    }
    if (!open_) return;
    if (ready_ || asked_ || count == events_a_batch || !mailbox_->try_sleep())
        continue_soon();
    else if (!alone_ && !waiting_)
        wait_for_events();
}

void worker::on_event(std::uint64_t data, std::uint32_t events) noexcept {
    const auto handle = pool::handle::from_word(data);
    if (handle.is_null()) {
        // 0 is the wake-up: its mail is delivered after the events.
        if (handle.tag() == 0) return;
        watch_place& p = watched_[handle.tag() - 1];
        if (p.by)
            p.by->on_readable();
        else if (p.fd >= 0) // else let go earlier in this batch
            let_go(p);
        return;
    }
    connection* const c = env_.connections.find(handle);
    if (!c || c->closing) return;
    const bool finishes = (events & EPOLLRDHUP) && !c->finishing;
    if (finishes) c->finishing = true;
    if (events & ~static_cast<std::uint32_t>(EPOLLOUT)) c->readable = true;
    if (c->machine.suspended() && !c->machine.reading()) [[unlikely]] {
        on_event_while_suspended(*c, events, finishes);
        return;
    }
    // Its turn comes with the ready ones, after the events; a second one in the same batch would be the others' loss.
    if (!c->is_ready) drive(*c);
}

// Nothing is read while a handler has the word, but its peer's leaving is noticed.
void worker::on_event_while_suspended(connection& c, std::uint32_t events, bool finishes) noexcept {
    if (events & (EPOLLHUP | EPOLLERR)) {
        close(c);
        return;
    }
    if (finishes) tell_peer_finished(c);
    if ((events & EPOLLOUT) && c.machine.has_unsent()) drive(c);
}

void worker::deliver_mail() noexcept {
    for (net::mail* m = mailbox_->take_all(); m;) {
        auto& l = static_cast<letter&>(*m);
        m = m->next;
        l.deliver(*this, l);
    }
}

void worker::run_ready() noexcept {
    for (connection* c = std::exchange(ready_, nullptr); c;) {
        connection& now = *c;
        c = c->next_ready;
        now.is_ready = false;
        if (now.closing)
            retire(now);
        else
            drive(now);
    }
}

void worker::end_batch() noexcept {
    perform_asked();
    while (closed_) {
        connection* const c = closed_;
        closed_ = c->next_ready;
        slots_.put(c);
    }
    in_batch_ = false;
    if (!timer_set_ && ticks()) [[unlikely]]
        set_timer(); // there was no memory for it
    counters_.busy_since_ms.store(0, std::memory_order_relaxed);
    if (ending_)
        tear_down();
    else if ((ready_ || asked_) && open_)
        continue_soon();
}

bool worker::post(letter& l) noexcept {
    return mailbox_->post(l);
}

bool worker::post(mail_chain& letters) noexcept {
    return mailbox_->post(letters);
}

// ---- connections
// -------------------------------------------------------------------------------------------------------

int worker::watch(int fd, watched& w) noexcept {
    const auto there = std::find_if(watched_.begin(), watched_.end(), [fd](const watch_place& p) { return p.fd == fd; });
    if (there != watched_.end()) { // the set still has it
        there->by = &w;
        return 0;
    }
    auto place = std::find_if(watched_.begin(), watched_.end(), [](const watch_place& p) { return p.fd < 0; });
    if (place == watched_.end()) {
        try {
            place = watched_.insert(place, watch_place{});
        } catch (const std::bad_alloc&) {
            return ENOMEM;
        }
    }
    const auto index = static_cast<std::uint64_t>(place - watched_.begin());
    const int e = sys::epoll_add(events_fd_.get(), fd, EPOLLIN, event_of_no_connection(index + 1));
    if (e == 0) *place = {&w, fd};
    return e;
}

void worker::unwatch(const watched& w) noexcept {
    for (watch_place& p : watched_)
        if (p.by == &w) let_go(p);
}

// Its events go on if that fails, and each of them tries again.
void worker::let_go(watch_place& p) noexcept {
    p.by = nullptr;
    if (sys::epoll_remove(events_fd_.get(), p.fd) == 0) p.fd = -1;
}

void worker::enlist(connection& c) noexcept {
    c.owner = this;
    c.previous = nullptr;
    c.next = connections_;
    if (connections_) connections_->previous = &c;
    connections_ = &c;
    add(counters_.connections, 1);
    used_since_idle_ = true;
    set_timer();
}

void worker::adopt(connection& c) noexcept {
    const batch now(*this);
    begin(c);
}

void worker::begin(connection& c) noexcept {
    enlist(c);
    add(counters_.accepted, 1);
    c.machine.start(turn_.now_ms);
    // The request has often arrived by now: one recv may spare a trip through epoll, and a connection that ends with
    // its first answer never enters the set.
    c.readable = true;
    if (c.refused) {
        add(counters_.refused, 1);
        begin_turn();
        interpret(c, c.machine.refuse(turn_, 503));
        end_turn();
        return;
    }
    drive(c);
}

// From another worker.
void worker::take_over(connection& c) noexcept {
    enlist(c);
    add(counters_.moved_in, 1);
    c.readable = true;
    drive(c);
}

// True: it has moved.
bool worker::consider_moving(connection& c) noexcept {
    if (c.readable || c.is_ready || turn_.draining || !c.machine.idle()) return false;
    c.requests_seen = static_cast<std::uint32_t>(c.machine.requests());
    const int self = static_cast<int>(index_);
    const int to = env_.placement->rehome(self, c.stream.incoming_cpu(), c.flow,
                                          static_cast<std::uint32_t>(turn_.now_ms / placement_tick_ms));
    if (to == self) return false;
    if (c.registered && sys::epoll_remove(events_fd_.get(), c.stream.descriptor()) != 0) return false;
    c.registered = c.awaits_writable = false;
    wheel_.cancel(c);
    delist(c);
    add(counters_.moved_out, 1);
    c.owner = nullptr;
    env_.board.left(self);
    env_.board.joined(to);
    c.deliver = [](worker& w, letter& l) noexcept { w.take_over(static_cast<connection&>(l)); };
    if (!all_[static_cast<std::size_t>(to)]->post(c)) {
        // The other worker has shut down meanwhile: so will this one.
        c.closing = true;
        c.stream.close();
        env_.door.leave(c.peer.key(), !c.refused);
        env_.board.left(to);
        add(counters_.closed, 1);
        retire(c);
    }
    return true;
}

void worker::delist(connection& c) noexcept {
    (c.previous ? c.previous->next : connections_) = c.next;
    if (c.next) c.next->previous = c.previous;
    subtract(counters_.connections, 1);
}

void worker::close(connection& c) noexcept {
    if (c.closing) return;
    c.closing = true;
    if (http::exchange* x = c.machine.abandon()) {
        if (as_net(*x).suspended)
            orphan(as_net(*x));
        else
            env_.handlers.release(*this, as_net(*x));
    }
    if (c.registered) sys::epoll_remove(events_fd_.get(), c.stream.descriptor());
    if (c.machine.must_reset()) [[unlikely]]
        c.stream.reset_on_close();
    c.stream.close();
    env_.door.leave(c.peer.key(), !c.refused);
    env_.board.left(static_cast<int>(index_));
    wheel_.cancel(c);
    delist(c);
    add(counters_.closed, 1);
    if (!c.is_ready) retire(c); // else when the ready list meets it
}

// Its slot is free after this batch.
void worker::retire(connection& c) noexcept {
    c.next_ready = closed_;
    closed_ = &c;
}

void worker::orphan(exchange& x) noexcept {
    x.orphaned = true;
    env_.handlers.cancel(*this, x);
}

void worker::make_ready(connection& c) noexcept {
    if (c.is_ready) return;
    c.is_ready = true;
    c.next_ready = ready_;
    ready_ = &c;
}

} // namespace fastserve::net
