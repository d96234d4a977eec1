// Stands in for the whole malloc family, because Asio calls aligned_alloc where others call operator new: the k-th
// allocation that is not the test's own returns null. Included by one file of a binary without mimalloc.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

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
        errno = ENOMEM;
        return true;
    }
};

} // namespace fastserve::test

extern "C" {
void* malloc(std::size_t size) {
    return fastserve::test::failing_malloc::fails() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
    return fastserve::test::failing_malloc::fails() ? nullptr : __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
    return fastserve::test::failing_malloc::fails() ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    return fastserve::test::failing_malloc::fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fastserve::test::failing_malloc::fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    void* const got = fastserve::test::failing_malloc::fails() ? nullptr : __libc_memalign(alignment, size);
    if (got) *out = got;
    return got ? 0 : ENOMEM;
}
void free(void* old) {
    __libc_free(old);
}
}
