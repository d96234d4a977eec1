// What a worker counts about itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace fastserve::net {

// One writer, the worker; readers on any thread see each number whole, and the numbers of one moment only roughly
// together. Padded, so that a reader and the neighbours' writers share no line with it.
struct alignas(128) worker_counters {
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> connections{0}; // open now
    std::atomic<std::uint64_t> accepted{0};    // taken over from an acceptor
    std::atomic<std::uint64_t> closed{0};
    std::atomic<std::uint64_t> moved_in{0}; // from another worker
    std::atomic<std::uint64_t> moved_out{0};
    std::atomic<std::uint64_t> suspended{0}; // handlers that have not finished
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> timed_out{0};
    std::atomic<std::uint64_t> cut{0}; // closed by shut_down() with a request or an answer unfinished
    std::atomic<std::uint64_t> batches{0};
    std::atomic<std::uint64_t> busy_since_ms{0}; // 0: asleep
};

// An addition by the only writer: a load and a store, no locked instruction.
inline void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
inline void subtract(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
}
inline std::uint64_t read(const std::atomic<std::uint64_t>& counter) noexcept {
    return counter.load(std::memory_order_relaxed);
}

} // namespace fastserve::net
