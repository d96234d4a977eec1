// Threads for handlers that wait or compute for long: a bounded queue and at most so many threads.
//
// Thread safety: submit() and now() from any thread; stop() from one that is not the pool's, once at a time.
//
// Invariants: running + queued jobs <= threads + queue; a job that was accepted is called exactly once, with true on a
// thread of the pool, or with false by stop(). The threads are started as jobs need them, so that a server that never
// blocks has none. A lock is fine here: what is submitted takes far longer than it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fastserve::detail {

class offload_pool {
public:
    // Must not throw. The argument: whether it runs; if not, the pool has stopped, and it only says so to who waits.
    using job = std::function<void(bool)>;

    struct counts {
        std::uint64_t running = 0, queued = 0, refused = 0;
    };

    offload_pool(unsigned threads, std::size_t queue) : most_threads_(threads), most_queued_(queue) {}
    ~offload_pool() { stop(); }
    offload_pool(const offload_pool&) = delete;
    offload_pool& operator=(const offload_pool&) = delete;

    // From now on there are no threads: jobs wait for run_one().
    void run_by_hand() noexcept { by_hand_ = true; }
    // Runs the job that has waited longest, in this thread. False: none waits.
    bool run_one();

    // False: all threads are busy and the queue is full, there is no memory, or the pool has stopped. The job is then
    // not called.
    bool submit(job j) noexcept;
    counts now() const;
    // Waits for the jobs that run; those that wait are called with false. Nothing is accepted any more.
    void stop();

private:
    void run() noexcept;
    bool start_thread();

    const unsigned most_threads_;
    const std::size_t most_queued_;
    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::deque<job> queue_;
    std::vector<std::thread> threads_;
    std::uint64_t running_ = 0;
    std::uint64_t refused_ = 0;
    bool stopped_ = false;
    bool by_hand_ = false; // set before the first job
};

} // namespace fastserve::detail
