// A worker: one thread, one event loop, many connections (design 3.1 to 3.4).
//
// The client sockets stand in an epoll set of the worker's own. Once anyone needs Asio's loop, that set is nested in
// Asio's: Asio waits for it as for one descriptor, and keeps timers, coroutines and whatever users wait for. A turn is
// what one connection does between two waits: receive, parse, route, run handlers, send once.
//
// Thread safety: all is done on the worker's thread (the one that runs context()), except for what is marked *any
// thread*.
//
// Invariants
// * A connection is in `connections_` of exactly its owner.
// * While `ready_` is not empty, or mail is waiting, the worker does not sleep.
// * A slot closed in a batch of events is released after the batch, so that a later event of the batch cannot meet the
//   slot's next user; the generation in the event tells an event of an earlier batch.
#pragma once

#include <fastserve/http/limits.hpp>
#include <fastserve/http/machine.hpp>
#include <fastserve/http/serializer.hpp>
#include <fastserve/net/connection.hpp>
#include <fastserve/net/counters.hpp>
#include <fastserve/net/exchange.hpp>
#include <fastserve/net/mailbox.hpp>
#include <fastserve/net/operation_memory.hpp>
#include <fastserve/net/placement.hpp>
#include <fastserve/net/service.hpp>
#include <fastserve/net/system.hpp>
#include <fastserve/net/timer_wheel.hpp>
#include <fastserve/pool/buffer_pool.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

namespace fastserve::net {

class gate;

using connection_pool = pool::object_pool<connection>;
using connection_cache = pool::local_cache<connection>;

// What all workers of a server share. Outlives them.
struct worker_environment {
    const http::limits& limits;
    service& handlers;
    connection_pool& connections;
    pool::buffer_pool& buffers;
    const placer* placement; // null: connections stay where they are
    load_board& board;
    gate& door; // where connections are counted
    std::string_view server_name;
};

// What else a worker's set may hold: a listener (acceptor.hpp).
class watched {
public:
    // On the worker's thread, within a batch of events, as long as the descriptor is readable.
    virtual void on_readable() noexcept = 0;

protected:
    ~watched() = default;
};

class worker {
public:
    // Deadlines are kept to this precision: a connection is closed at most two ticks late.
    static constexpr std::uint64_t tick_ms = 250;
    // While draining, a new connection has this long for its first request.
    static constexpr std::uint64_t first_request_ms = 1'000;
    // A batch of events that lasts longer makes the worker count as stalled.
    static constexpr std::uint64_t stall_ms = 50;

    worker(const worker_environment&, unsigned index, boost::asio::io_context&);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Makes the epoll set and the wake-up. The other workers are those that connections may be handed to.
    std::error_code open(std::span<const std::unique_ptr<worker>> all);
    // *Any thread*: shut_down() is done.
    bool ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

    // In a loop that somebody else runs: starts waiting for events. From then on context() has work until shut_down().
    std::error_code start();

    // The body of a worker's own thread: serves until shut_down(), and until context() has no work left.
    //
    // As long as nobody has asked for the loop, Asio has nothing to wait for, and the worker waits in its own set
    // alone: that spares two system calls a batch (CPU of a request with 100 connections: docs/benchmarks.md).
    void run();
    // In place of start() and run(), for who drives it from outside, as the simulation does: serves what can be served
    // now, in the worker's set and in the loop, and never waits; after shut_down(), in the loop alone, where handlers
    // that were cut come to their end. True: there may be more at once.
    bool poll();
    // *Any thread*: the loop is about to be used, by a coroutine or by whoever is handed its executor. From now on the
    // worker waits in it, for good: an executor that was handed out may be used at any time.
    void need_loop() noexcept;

    unsigned index() const noexcept { return index_; }
    boost::asio::io_context& context() noexcept { return context_; }
    worker_counters& counters() noexcept { return counters_; }
    const worker_counters& counters() const noexcept { return counters_; }
    const http::limits& limits() const noexcept { return env_.limits; }

    // *Any thread*: hands over letters; wakes the worker if it sleeps. False: the worker has shut down, the letter was
    // not taken.
    bool post(letter&) noexcept;
    // Empties the chain, which holds letters only, unless false.
    bool post(mail_chain&) noexcept;
    // *Any thread*: for senders that may outlive the worker.
    const std::shared_ptr<mailbox>& mail() const noexcept { return mailbox_; }

    // A new connection, which this worker owns from now on; its stream and id are set.
    void adopt(connection&) noexcept;

    // Tells `w` whenever the descriptor is readable, until unwatch(), which comes before either ends. An errno if that
    // cannot be.
    int watch(int fd, watched& w) noexcept;
    void unwatch(const watched& w) noexcept;

    // What the handler of a suspended exchange wants, or has done; not more than one thing at a time, but that it may
    // finish at any time. Done at once, or at the end of the batch.
    void ask(exchange&, net::ask) noexcept;
    void finish(exchange& x) noexcept { ask(x, net::ask::finish); }
    // It does not wait any longer for what it has asked for, and gets no answer. Done at once.
    void give_up(exchange&) noexcept;

    // Answers say Connection: close from now on.
    void drain() noexcept { turn_.draining = true; }
    // Closes what waits between requests; a new connection has its time for the first one.
    void close_idle() noexcept;
    // Closes everything and stops waiting, after the batch if there is one. Letters that are in the mailbox are
    // delivered first; later ones are refused.
    void shut_down() noexcept;

    std::uint64_t now_ms() const noexcept { return turn_.now_ms; }
    // *Any thread*: the clock of now_ms() and of worker_counters::busy_since_ms.
    static std::uint64_t clock_ms() noexcept;
    // *Any thread*: its batch of events has lasted so long that a handler must be in the way.
    bool stalled(std::uint64_t now_ms) const noexcept {
        const std::uint64_t since = read(counters_.busy_since_ms);
        return since != 0 && now_ms > since + stall_ms;
    }
    // The caches of this worker, for the service.
    pool::buffer_cache& buffers() noexcept { return buffers_; }

private:
    // What happens between two waits: the clock is read at its beginning, and what was put off is done at its end. A
    // batch within a batch is part of it.
    class batch {
    public:
        explicit batch(worker& w) noexcept;
        ~batch();
        batch(const batch&) = delete;
        batch& operator=(const batch&) = delete;

    private:
        worker* const outermost_;
    };

    struct watch_place {
        watched* by = nullptr; // null: free, or, with a descriptor, one that the set would not let go
        int fd = -1;
    };

    template <class F>
    void run_loop(F f);
    void wait_for_events();
    void on_events(int wait_ms) noexcept;
    void continue_soon();
    void look_at_clock() noexcept;
    void on_event(std::uint64_t data, std::uint32_t events) noexcept;
    void on_event_while_suspended(connection&, std::uint32_t events, bool finishes) noexcept;
    void let_go(watch_place&) noexcept;
    void deliver_mail() noexcept;
    void run_ready() noexcept;
    void end_batch() noexcept;
    void tear_down() noexcept;

    // These return whether the connection is still this worker's: neither closed nor moved.
    bool drive(connection&) noexcept;
    bool interpret(connection&, http::step) noexcept;
    bool settle(connection&) noexcept;
    bool flush(connection&, sys::sending = sys::sending::on) noexcept;
    void wait_until_writable(connection&) noexcept;
    bool receive(connection&, http::step&) noexcept;
    bool linger(connection&) noexcept;
    void tell_peer_finished(connection&) noexcept;
    void begin(connection&) noexcept;
    void take_over(connection&) noexcept;
    void enlist(connection&) noexcept;
    void delist(connection&) noexcept;
    void retire(connection&) noexcept;
    bool consider_moving(connection&) noexcept;
    void make_ready(connection&) noexcept;
    void close(connection&) noexcept;
    void orphan(exchange&) noexcept;
    void orphan_suspended(connection&) noexcept;
    void perform(exchange&) noexcept;
    void perform_asked() noexcept;
    void begin_turn() noexcept;
    void end_turn() noexcept;

    void set_timer() noexcept;
    // Deadlines are kept, or memory has not been given back yet.
    bool ticks() const noexcept { return connections_ || used_since_idle_ || peak_connections_ != 0; }
    void on_timer() noexcept;
    void on_deadline(connection&) noexcept;
    void give_back_memory() noexcept;
    static tick tick_of(std::uint64_t ms) noexcept { return static_cast<tick>(ms / tick_ms); }

    // Set up once.
    const worker_environment env_;
    const unsigned index_;
    boost::asio::io_context& context_;
    std::span<const std::unique_ptr<worker>> all_;
    unique_fd events_fd_;
    std::vector<watch_place> watched_; // events name them by their place
    std::shared_ptr<mailbox> mailbox_;
    boost::asio::posix::stream_descriptor events_;
    boost::asio::steady_timer timer_;
    const std::shared_ptr<loop_ties> ties_ = std::make_shared<loop_ties>();

    // Each turn.
    pool::buffer_cache buffers_;
    connection_cache slots_;
    pool::buffer input_;
    pool::buffer output_;
    http::response_templates templates_;
    http::turn turn_;
    bool open_ = false;                    // started, and not ended
    bool alone_ = false;                   // in run(), before anyone has needed the loop
    bool again_ = false;                   // while alone: something is left to be done
    std::atomic<bool> loop_needed_{false}; // L1: need_loop() releases what was given to the loop to L2: run()
    std::atomic<bool> ended_{false};       // publishes nothing: relaxed
    unsigned receives_ = 0;                // of this turn

    // Each batch.
    bool in_batch_ = false;
    bool ending_ = false;  // shut_down() waits for the end of the batch
    bool waiting_ = false; // for events_
    bool posted_ = false;  // on_events, by continue_soon
    bool timer_set_ = false;
    connection* connections_ = nullptr; // all it owns
    connection* ready_ = nullptr;       // whose turn was cut short
    connection* closed_ = nullptr;      // whose slots are free after the batch
    exchange* asked_ = nullptr;         // whose handlers have asked for something during the batch
    exchange** last_asked_ = &asked_;
    timer_wheel wheel_;

    // Each tick.
    bool used_since_idle_ = false;
    unsigned quiet_ticks_ = 0;
    std::uint64_t requests_at_tick_ = 0;
    std::uint64_t peak_connections_ = 0;

    worker_counters counters_;
};

} // namespace fastserve::net
