// Stands in for the whole malloc family, because Asio calls aligned_alloc where others call operator new. Included by
// one file of a binary without mimalloc, which is left out of sanitizer builds: their malloc is their own.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace fastserve::test {

// Asked before each allocation, on any thread, by who includes this. False: there is no memory.
bool may_allocate() noexcept;

inline void* unless_refused(void* (*allocate)(std::size_t, std::size_t), std::size_t first, std::size_t second) {
    if (may_allocate()) return allocate(first, second);
    errno = ENOMEM;
    return nullptr;
}

} // namespace fastserve::test

extern "C" {
void* malloc(std::size_t size) {
    return fastserve::test::unless_refused([](std::size_t n, std::size_t) { return __libc_malloc(n); }, size, 0);
}
void* calloc(std::size_t n, std::size_t size) {
    return fastserve::test::unless_refused(__libc_calloc, n, size);
}
void* realloc(void* old, std::size_t size) {
    if (fastserve::test::may_allocate()) return __libc_realloc(old, size);
    errno = ENOMEM;
    return nullptr;
}
void* memalign(std::size_t alignment, std::size_t size) {
    return fastserve::test::unless_refused(__libc_memalign, alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
    return fastserve::test::unless_refused(__libc_memalign, alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
    void* const got = fastserve::test::unless_refused(__libc_memalign, alignment, size);
    if (got) *out = got;
    return got ? 0 : ENOMEM;
}
void free(void* old) {
    __libc_free(old);
}
}
