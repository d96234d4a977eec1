// Memory for operations of Asio that must be started also when there is none left.
//
// Asio allocates each operation when it is started, and throws when it cannot. Where that would end a loop, or leave a
// coroutine unfinished, the operation lies in memory that its owner has from the beginning.
//
// Thread safety: none; what orders the end of one operation before the next one's start orders this too.
#pragma once

#include <boost/asio/bind_allocator.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace fastserve::net {

// Room for one operation at a time. A second one, and one that is too large, go to the heap.
//
// Lifetime: until the operation's handler has been called or destroyed. Asio moves the handler out of this memory
// before it gives it back, and calls it after that: so what keeps the memory alive may be held by the handler itself,
// and the handler may start the next operation in it.
class operation_memory {
public:
    operation_memory() = default;
    operation_memory(const operation_memory&) = delete;
    operation_memory& operator=(const operation_memory&) = delete;

    // Null: taken, or too small.
    void* take(std::size_t size) noexcept {
        if (taken_ || size > sizeof bytes_) return nullptr;
        taken_ = true;
        return bytes_;
    }
    // False: it is not from here.
    bool give(const void* p) noexcept {
        if (p != bytes_) return false;
        taken_ = false;
        return true;
    }

private:
    alignas(std::max_align_t) std::byte bytes_[256];
    bool taken_ = false;
};

template <class T>
struct operation_allocator {
    using value_type = T;

    explicit operation_allocator(operation_memory& m) noexcept : memory(&m) {}
    template <class U>
    operation_allocator(const operation_allocator<U>& other) noexcept : memory(other.memory) {}

    T* allocate(std::size_t n) {
        if (void* const p = memory->take(n * sizeof(T))) return static_cast<T*>(p);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) noexcept {
        if (!memory->give(p)) std::allocator<T>().deallocate(p, n);
    }
    friend bool operator==(const operation_allocator& a, const operation_allocator& b) noexcept {
        return a.memory == b.memory;
    }

    operation_memory* memory;
};

// `f` as a handler whose operation lies in `m`.
template <class F>
auto in_memory(operation_memory& m, F&& f) {
    return boost::asio::bind_allocator(operation_allocator<void>(m), std::forward<F>(f));
}

// What an object shares with the handlers that it has given to a loop: they may be called, or destroyed, after it has
// gone, if the loop is a user's.
struct loop_ties {
    bool alive = true;
    operation_memory wait, post, timer;
};

} // namespace fastserve::net
