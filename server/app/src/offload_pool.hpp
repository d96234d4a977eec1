// Threads for handlers that wait or compute for long: a bounded queue and at most so many threads.
//
// Thread safety: submit() and counts() from any thread; stop() from one that is not the pool's.
//
// Invariants: running + queued jobs are bounded; a job that was accepted runs exactly once, or is dropped by stop().
// The threads are started as jobs need them, so that a server that never blocks has none. A lock is fine here: what is
// submitted takes far longer than it.
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
    struct counts {
        std::uint64_t running = 0, queued = 0, refused = 0;
    };

    offload_pool(unsigned threads, std::size_t queue) : most_threads_(threads), most_queued_(queue) {}
    ~offload_pool() { stop(); }
    offload_pool(const offload_pool&) = delete;
    offload_pool& operator=(const offload_pool&) = delete;

    // False: all threads are busy and the queue is full, or the pool has stopped; the job will not run. Jobs must not
    // throw.
    bool submit(std::function<void()> job) noexcept;
    counts now() const;
    // Waits for the jobs that run; those that wait are dropped. Nothing is accepted any more.
    void stop();

private:
    void run() noexcept;

    const unsigned most_threads_;
    const std::size_t most_queued_;
    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::deque<std::function<void()>> queue_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    std::uint64_t running_ = 0;
    std::uint64_t refused_ = 0;
    bool stopped_ = false;
};

} // namespace fastserve::detail
