// malloc for a library that takes functions for it: counts, remembers failures, and keeps the blocks of one stream for
// the next, for libraries whose contexts cannot be reset.
//
// Invariants: bytes() is the sum of all blocks, in use or idle, headers included. A stream begins with no other blocks
// than the last one used: streams of ever different sizes do not pile up.
#pragma once

#include <csetjmp>
#include <cstddef>

namespace fastserve::coding::detail {

class block_allocator {
public:
    block_allocator() noexcept = default;
    block_allocator(const block_allocator&) = delete;
    block_allocator& operator=(const block_allocator&) = delete;
    ~block_allocator() { drop_all(); }

    // Aligned for anything. When there is no memory failed() is true from then on, and it jumps to the place that
    // escape_to() named, or returns null if there is none.
    void* take(std::size_t bytes) noexcept;
    // Null is nothing.
    void give(void* data) noexcept;

    // For a library that ends the process when it gets null. What it was doing is never finished: drop_all() is what
    // may follow. Null: take() returns null.
    void escape_to(std::jmp_buf* where) noexcept { escape_ = where; }

    // Call it between streams: frees what the last one had no use for.
    void rotate() noexcept;
    // Frees all blocks, also those in use, whose owner is not to be touched again.
    void drop_all() noexcept;

    std::size_t bytes() const noexcept { return bytes_; }
    bool failed() const noexcept { return failed_; }

    // In the form that libraries call.
    static void* take_for(void* self, std::size_t bytes) { return static_cast<block_allocator*>(self)->take(bytes); }
    static void give_for(void* self, void* data) { static_cast<block_allocator*>(self)->give(data); }

private:
    struct alignas(std::max_align_t) header {
        header* next;
        std::size_t size; // without the header
        bool idle;
        bool used; // since the last rotate()
    };

    header* blocks_ = nullptr;
    std::jmp_buf* escape_ = nullptr;
    std::size_t bytes_ = 0;
    bool failed_ = false;
};

} // namespace fastserve::coding::detail
