// The k-th allocation that is not the test's own finds no memory. Included by one file of a binary (malloc_family.hpp).
#pragma once

#include "../support/malloc_family.hpp"

#include <atomic>
#include <cstdint>

namespace fastserve::test {

// Thread safety: any thread.
struct failing_malloc {
    static inline std::atomic<std::int64_t> until{-1}; // allocations until one fails; negative: none does
    static inline std::atomic<std::uint64_t> failed{0};
    static inline thread_local bool exempt = false; // what the test itself allocates

    static void arm(std::int64_t k) noexcept { until.store(k, std::memory_order_relaxed); }
    // How many more it would have taken; 0 or less: one has failed.
    static std::int64_t disarm() noexcept { return until.exchange(-1, std::memory_order_relaxed); }

    static bool fails() noexcept {
        if (exempt || until.load(std::memory_order_relaxed) < 0) return false;
        if (until.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
        failed.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
};

bool may_allocate() noexcept {
    return !failing_malloc::fails();
}

} // namespace fastserve::test
