// Making the use of returned memory visible: to AddressSanitizer wherever it is on, by checks in debug builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define FASTSERVE_POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FASTSERVE_POOL_ASAN 1
#endif
#endif

#ifdef FASTSERVE_POOL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fastserve::pool::detail {

#ifdef FASTSERVE_POOL_ASAN
inline constexpr bool has_asan = true;
inline void poison(const void* data, std::size_t bytes) noexcept {
    __asan_poison_memory_region(data, bytes);
}
inline void unpoison(const void* data, std::size_t bytes) noexcept {
    __asan_unpoison_memory_region(data, bytes);
}
#undef FASTSERVE_POOL_ASAN
#else
inline constexpr bool has_asan = false;
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
#endif

// Whether returned memory is filled with a pattern and looked at again when it is handed out. Everything of a program
// that includes the pool must agree on NDEBUG, as with every assertion in a header.
#ifdef NDEBUG
inline constexpr bool checks = has_asan;
#else
inline constexpr bool checks = true;
#endif

// Ends the program with one line on stderr, as an assertion does. Called only where `checks` is true.
[[noreturn]] void misuse(const char* what) noexcept;

} // namespace fastserve::pool::detail
