// Replaces operator new, for binaries that show that something allocates nothing. To be included by one file of a binary,
// which is left out of sanitizer builds: their runtimes bring an operator new of their own.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace fastserve::test {

inline std::atomic<std::size_t> allocations{0};

} // namespace fastserve::test

// The array, sized and nothrow forms of the standard library end in these. Not inlined: the compiler would see free()
// meet new, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
    fastserve::test::allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
    std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}
