// The fixed pool of workers and all they share: memory, listeners, and the way they end.
//
// Thread safety: one thread sets up (open, listen, start); request_drain(), abort_drain() and the readings may be
// called from any thread; stop() from any thread that is not a worker's, or, inside a user's loop, from that loop's.
//
// Shutting down is a protocol (design 3.10):
//   1. answers carry Connection: close, draining() is true, accepting goes on for the drain delay;
//   2. listeners let nobody else into their queue, all who are in it are taken out, and they close;
//   3. connections between requests close, what is in flight finishes;
//   4. after the grace, what is left is cut, and the report says how much that was.
#pragma once

#include <fastserve/http/limits.hpp>
#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/cpus.hpp>
#include <fastserve/net/stall_monitor.hpp>
#include <fastserve/net/worker.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace fastserve::net {

struct worker_pool_options {
    unsigned workers = 0; // 0: as many as the CPUs that this process may use
    net::placement placement = net::placement::incoming_cpu;
    net::pin pin = net::pin::automatic;
    http::limits limits{};
    bool wait_when_full = false; // see gate::reserve()
    bool defer_accept = false;   // see listen_options
    std::string server_name = "fastserve";
    std::chrono::milliseconds drain_delay{0};
    std::chrono::milliseconds grace{30'000};
    std::size_t buffer_budget_bytes = std::size_t{4} << 30;
};

// How a drain ended.
struct drain_report {
    std::uint64_t connections_cut = 0; // with a request or an answer in flight
    std::uint64_t handlers_cut = 0;    // that had not finished
    bool clean() const noexcept { return connections_cut == 0 && handlers_cut == 0; }
};

class worker_pool {
public:
    worker_pool(service& handlers, worker_pool_options options);
    // One worker, on the user's loop, which is run by one thread.
    worker_pool(service& handlers, worker_pool_options options, boost::asio::io_context& loop);
    ~worker_pool();
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;

    // Before open(): how many workers, whatever the options say.
    void set_workers(unsigned n) noexcept { options_.workers = n; }
    // Reserves memory and makes the workers. To be called once, first.
    std::error_code open();
    // Opens a listener; the address it got. Before start() it queues connections, afterwards it is served at once. Once
    // a drain has begun: std::errc::operation_canceled.
    result<address> listen(const address& at);
    // Starts the threads. On failure (of the first or of a later one) all is stopped, and stays so.
    std::error_code start();

    // In place of start(), for workers that are driven by worker::poll() on one thread. Where stop() would wait it
    // calls `pass`, which drives them and lets so much time pass, by worker::clock_ms(). Empty: nobody drives them any
    // more, and stop() has nothing to do.
    void drive(std::function<void(std::chrono::milliseconds)> pass);
    // Gives one of those a connection that no acceptor has taken. False: there is no slot, or nobody is let in any
    // more; the descriptor is the caller's.
    bool adopt(int fd, const peer_name&, unsigned index) noexcept;

    // Step 1 of the protocol.
    void request_drain() noexcept;
    // What is left to wait for is cut at once.
    void abort_drain() noexcept;
    // The whole protocol; returns when all threads have ended, which a plain handler that does not return prevents. A
    // second call does nothing. Inside a user's loop it runs that loop, so not from a handler.
    drain_report stop();
    // Stops at once what was not stopped, and destroys the loops with all that still waits on them. Only memory is
    // left: exchanges of handlers that never ended hold some of it, so the service destroys them between this and the
    // end of the pool.
    void end() noexcept;

    bool running() const noexcept { return started_ && !stopped_; }
    bool draining() const noexcept { return draining_.load(std::memory_order_relaxed); }
    const worker_pool_options& options() const noexcept { return options_; }
    unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
    worker& at(unsigned index) const noexcept { return *workers_[index]; }
    // Those that are only told that there is no room included.
    std::uint64_t open_connections() const noexcept { return gate_.open(); }
    std::uint64_t starved() const noexcept;
    pool::pool_stats connection_stats() const noexcept { return connections_.stats(); }
    pool::pool_stats buffer_stats() const noexcept { return buffers_.stats(); }
    std::size_t buffer_bytes() const noexcept { return buffers_.charged_bytes(); }
    std::vector<address> addresses() const;

private:
    result<address> serve_by_worker(std::vector<listener> group, std::span<const int> cpus);
    result<std::unique_ptr<acceptor>> make_acceptor(listener&&, boost::asio::io_context&, const local_worker&);
    void publish(std::unique_ptr<acceptor>);
    void run_worker(unsigned index) noexcept;
    bool on_worker(unsigned index, std::function<void(worker&)>) noexcept;
    void on_every_worker(const std::function<void(worker&)>&) noexcept;
    void finish_accepting() noexcept;
    void finish_on_workers() noexcept;
    void on_accept_loop(std::function<void()>) noexcept;
    std::uint64_t suspended() const noexcept;
    std::uint64_t cut() const noexcept;
    bool wait_until(std::uint64_t ms, const std::function<bool()>& done);
    void pause();
    void end_workers();

    service& handlers_;
    worker_pool_options options_;
    boost::asio::io_context* const users_loop_ = nullptr;

    pool::buffer_pool buffers_;
    connection_pool connections_;
    gate gate_;
    std::optional<load_board> board_;
    std::optional<placer> placer_;
    std::vector<std::unique_ptr<boost::asio::io_context>> loops_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<int> cpus_;
    bool pinned_ = false;

    boost::asio::io_context accept_loop_{1};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> accept_work_;
    mutable std::mutex acceptors_mutex_; // listen() may add one while others read
    std::vector<std::unique_ptr<acceptor>> acceptors_;
    std::optional<stall_monitor> monitor_; // where workers have listeners of their own

    std::function<void(std::chrono::milliseconds)> pass_; // drive()
    bool lets_in_ = true;                                 // adopt()

    std::vector<std::thread> threads_;
    std::atomic<bool> started_{false};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> draining_{false};
    std::atomic<bool> aborted_{false};
};

} // namespace fastserve::net
