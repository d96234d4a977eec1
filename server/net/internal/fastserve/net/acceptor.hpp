// Takes connections from a listener and gives each to a worker.
//
// One component, whoever polls the listener: the acceptor thread for all workers, or one worker, in the set of its
// client sockets: where there is no other, as inside a user's loop, and where each has a listener of its own.
//
// Thread safety: all is done on the thread that runs the io_context given, or on the worker's, except for what is marked
// *any thread*, the counters, and gate, which is shared.
//
// Invariants
// * It never dies and never spins. Out of descriptors or memory it backs off for `backoff`, having told one waiting
// peer
//   so by way of a descriptor held in reserve; a connection that was aborted in the queue is skipped.
// * A turn accepts at most 64 connections. What it has accepted for a worker is handed over at its end, all at once.
#pragma once

#include <fastserve/http/limits.hpp>
#include <fastserve/net/listener.hpp>
#include <fastserve/net/operation_memory.hpp>
#include <fastserve/net/placement.hpp>
#include <fastserve/net/worker.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace fastserve::net {

// Who may come in: counts open connections, in all and by peer, over all acceptors.
//
// Thread safety: any thread. The lock is taken only when connections by peer are limited, and only when a connection
// begins or ends.
class gate {
public:
    // `waits`: see reserve().
    explicit gate(const http::limits& l, bool waits = false) noexcept : limits_(l), waits_(waits) {}

    // Where whoever comes stays in the listener's queue while as many are open as may be, takes a place for one before
    // it is accepted. False: there is none. Elsewhere it is true, and means nothing.
    bool reserve() noexcept {
        if (!waits_ || admitted_.fetch_add(1, std::memory_order_relaxed) < limits_.connections) return true;
        admitted_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    // Nobody came.
    void cancel() noexcept {
        if (waits_) admitted_.fetch_sub(1, std::memory_order_relaxed);
    }

    // Counts a connection in. False: it is over a limit, and takes nobody's place; it counts as open until leave().
    // `reserved`: after reserve().
    bool enter(std::uint64_t peer_key, bool reserved = false) noexcept;
    // `admitted`: what enter() returned.
    void leave(std::uint64_t peer_key, bool admitted) noexcept;

    // Those that are only told that there is no room included. Sequentially consistent with enter(): stall_monitor.hpp.
    std::uint64_t open() const noexcept { return open_.load(std::memory_order_seq_cst); }

private:
    bool enter_by_peer(std::uint64_t peer_key) noexcept;

    const http::limits& limits_;
    const bool waits_;
    alignas(64) std::atomic<std::uint64_t> open_{0};
    std::atomic<std::uint64_t> admitted_{0};
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_peer_;
};

class stall_monitor;

// A worker that polls a listener itself.
struct local_worker {
    worker* by = nullptr; // null: there is none, the acceptor thread does
    // The CPU whose packets choose this listener: the placer is asked whether the worker may keep what came. -1: it
    // keeps all.
    int cpu = -1;
};

class acceptor final : private watched {
public:
    static constexpr std::chrono::milliseconds backoff{100};
    // How soon it looks for room again where gate::reserve() says so.
    static constexpr std::chrono::milliseconds full_look{10};
    static constexpr unsigned accepts_a_turn = 64;
    // More than a queue holds: finish() takes no more out of one that an inherited listener leaves open.
    static constexpr unsigned most_queued = 64 * 1024;

    // `workers` are those that `placement` chooses among. With `local` all connections are adopted by that worker,
    // which watches the listener; `context` is its loop, and is needed only to wait for better times.
    acceptor(boost::asio::io_context& context, listener&& from, std::span<const std::unique_ptr<worker>> workers,
             placer& placement, load_board& board, connection_pool& connections, gate& door,
             stall_monitor* monitor = nullptr, const local_worker& local = {});
    ~acceptor();
    acceptor(const acceptor&) = delete;
    acceptor& operator=(const acceptor&) = delete;

    // Puts a descriptor in reserve, and makes the listener known to the loop; a local worker comes to know it by
    // start(). Not for one that is only to relieve others.
    std::error_code open();
    // Once, by the thread that made it.
    void start() noexcept;
    // Once more, without waiting, on the thread that made it: takes in who is in the queue.
    void relieve() noexcept;
    // *Any thread*, before finish(): takes in also who has sent nothing yet (listener.hpp).
    void accept_at_once() noexcept { listener_.accept_at_once(); }
    // *Any thread*, before finish(): lets nobody else into the queue.
    void stop_queueing() noexcept { listener_.stop_queueing(); }
    // On the thread that polls it, after stop_queueing(). Takes out all who are in the queue, and closes the listener:
    // nothing accepted is lost.
    void finish() noexcept;
    // The same in the stead of a worker that may not come to it: the queue has ended then, by whatever descriptor.
    void finish_for_all() noexcept;

    const address& local_address() const noexcept { return listener_.local(); }
    worker* local() const noexcept { return local_.by; }
    std::uint64_t accepted() const noexcept { return accepted_.load(std::memory_order_relaxed); }
    std::uint64_t starved() const noexcept { return starved_.load(std::memory_order_relaxed); }

private:
    enum class outcome : std::uint8_t {
        drained, // nobody waits
        full,    // whoever does, goes on
        more,
        refused, // there was no room for one, which was told so
        starved, // nor for that
    };

    // Tells a local worker, on its thread, to watch.
    struct starting final : letter {
        acceptor* of = nullptr;
    };

    void wait() noexcept;
    void on_readable() noexcept override;
    void look_again_in(std::chrono::milliseconds) noexcept;
    void stop_watching() noexcept;
    void empty_queue() noexcept;
    outcome accept_batch() noexcept;
    outcome accept_some() noexcept;
    void hand_over() noexcept;
    void give_up(connection&, int chosen) noexcept;
    int choose(const connection&) noexcept;
    bool place(int fd, const sockaddr_storage& peer, socklen_t size, bool reserved) noexcept;
    bool refuse_one() noexcept;

    boost::asio::io_context& context_;
    listener listener_;
    boost::asio::posix::stream_descriptor readable_;
    boost::asio::steady_timer timer_;
    std::span<const std::unique_ptr<worker>> workers_;
    placer& placement_;
    load_board& board_;
    connection_cache slots_;
    gate& gate_;
    stall_monitor* const monitor_;
    const local_worker local_;
    starting starting_;
    bool watching_ = false;              // the local worker does
    std::vector<mail_chain> chosen_for_; // by worker: what this turn has accepted for it; empty between turns
    unique_fd reserve_;
    bool open_ = true;
    const std::shared_ptr<loop_ties> ties_ = std::make_shared<loop_ties>();
    std::atomic<std::uint64_t> accepted_{0};
    std::atomic<std::uint64_t> starved_{0};
};

} // namespace fastserve::net
