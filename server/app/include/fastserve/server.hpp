// The server: routes, listeners, workers.
#pragma once

#include <fastserve/router.hpp>
#include <fastserve/types.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace fastserve {

namespace test {
class world;
}

// Which worker gets a connection (docs/benchmarks.md has the measurements).
enum class placement : std::uint8_t {
    incoming_cpu, // the one on the CPU its packets arrive on, and it moves when they do; a listener a CPU if pinned
    bpf,          // a listener a worker also where they are not pinned, or an error: the kernel chooses
    least_loaded,
    round_robin,
};

// Whether workers stay on one CPU each. automatic: if there are at least as many workers as CPUs, and no CPU quota.
enum class pin : std::uint8_t { automatic, on, off };

// What becomes of connections beyond limits::connections: a 503 with Retry-After, or they stay in the listener's queue,
// which the system bounds, until there is room.
enum class when_full : std::uint8_t { refuse, wait };

enum class log_level : std::uint8_t { info, warning, error };

struct log_record {
    log_level level{};
    std::string_view message{}; // one line; good during the call
};

struct options {
    unsigned workers{}; // 0: as many as CPUs may be used (affinity mask and cgroup quota)
    fastserve::placement placement{};
    fastserve::pin pin{};
    fastserve::limits limits{};
    fastserve::when_full when_full{};
    // A connection is accepted when it has sent its first bytes, or after a second (TCP_DEFER_ACCEPT): half the wake-ups
    // for those of one request. A drain takes in those that wait only if drain_delay gives it that second.
    bool defer_accept{true};
    unsigned blocking_threads{};             // for blocking() and offload(); 0: 8 a CPU; started when needed
    unsigned blocking_queue{1024};           // jobs that may wait for one of them
    std::chrono::milliseconds drain_delay{}; // stop() goes on accepting for so long
    std::chrono::milliseconds grace{30'000}; // then what is in flight has so long to finish
    std::string server_name{"fastserve"};    // the Server field; empty: none
    std::function<void()> idle{};            // a worker has been quiet for a second: give memory back; must not throw
    std::function<void(const log_record&)> log{}; // called on any thread; must not throw. Empty: run() writes to stderr
};

// How stop() ended: what was still in flight when the grace was over.
struct drain_report {
    std::uint64_t connections_cut{};
    std::uint64_t handlers_cut{};
    bool clean() const noexcept { return connections_cut == 0 && handlers_cut == 0; }
};

struct pool_counts {
    std::uint64_t hits{}, misses{}, in_use{}, high_water{}, bytes_retained{};
};

struct worker_counts {
    std::uint64_t connections{}, requests{}, accepted{}, closed{}, refused{}, timed_out{}, moved_in{}, moved_out{},
        suspended{};
    bool stalled{}; // a handler has kept it for more than 50 ms
};

// Numbers of one moment, roughly: workers count on while they are read.
struct stats {
    std::uint64_t connections{}, requests{}, starved{};
    std::uint64_t offload_running{}, offload_queued{}, offload_refused{};
    pool_counts connection_pool{}, exchange_pool{}, buffer_pool{};
    std::vector<worker_counts> workers{};
};

// Lifetime: it outlives everything made with it: per_worker, what handlers capture must outlive it or its stop().
//
// Thread: registration, listen() and start() on one thread; snapshot(), draining(), request_drain() and abort() on any;
// stop() on any thread that is none of the server's own. The library prints nothing, never exits, and takes no signals,
// except in run().
//
// Errors: returned; registering routes throws (router.hpp).
class server : public router {
public:
    explicit server(options = {});
    // Serves on your loop, with one worker, which is not pinned. One thread runs the loop. start() adds work to it that
    // stop() takes away; stop() is called on the thread of the loop, not in a handler, and runs the loop until it is
    // done. Destroy the server before the loop.
    explicit server(boost::asio::io_context&, options = {});
    // Stops at once what was not stopped; blocking handlers that run are waited for.
    ~server();

    // "127.0.0.1:8080", "[::]:80" (both families), ":80", "unix:/run/x.sock", "unix:@name", "fd:3". Port 0 lets the
    // kernel choose; the address returned has the real one. May be called several times, before or after start().
    // Connections that come before start() wait in the queue; after stop() it is operation_canceled.
    result<address> listen(std::string_view where);

    // Starts the workers; returns when they are on their way. Routes are fixed from now on. Once: a second call, or one
    // after stop(), is operation_not_permitted.
    error_code start();

    // Drains and stops: answers say close, accepting goes on for the drain delay, whoever is in a listener's queue is
    // served, and what is in flight has the grace to finish; then it is cut, and handlers are cancelled. Returns when
    // the last thread has ended, which a blocking handler that does not look at request::stop() delays. A second call
    // does nothing; a server is not started again.
    drain_report stop();
    // Makes a stop() that runs cut short what it waits for.
    void abort() noexcept;
    // Answers carry Connection: close from now on; the first step of stop().
    void request_drain() noexcept;
    bool draining() const noexcept;

    stats snapshot() const;
    // How many there are; with options::workers 0, how many there will be.
    unsigned workers() const noexcept;
    const fastserve::options& settings() const noexcept;

    // For main: listens at `where`, serves until SIGTERM or SIGINT, drains, and returns the exit status: 0, or 1 with a
    // line to the log when it could not start or had to cut requests. A second signal ends the drain at once, and a
    // third one is the system's, which kills. SIGHUP is logged and ignored. Signals are taken for the time of the call.
    int run(std::string_view where);
    // The same for what listen() has opened. The three signals are let through in this thread for the time of the call: a
    // main that blocks them before it listens loses none that comes before run().
    int run();

private:
    friend class test::world;
    struct impl;
    std::unique_ptr<impl> impl_;
};

// One line that says why listen() failed for `where`, and what to do.
std::string listen_error(std::string_view where, const error_code&);

} // namespace fastserve
