#include "block_allocator.hpp"

#include <cstdint>
#include <cstdlib>

namespace fastserve::coding::detail {

void* block_allocator::take(std::size_t bytes) noexcept {
    // A library holds a few dozen blocks, and mostly asks for the same as the last time.
    header* best = nullptr;
    for (header* block = blocks_; block != nullptr; block = block->next)
        if (block->idle && block->size >= bytes && block->size / 2 <= bytes &&
            (best == nullptr || block->size < best->size))
            best = block;
    if (best != nullptr) {
        best->idle = false;
        best->used = true;
        return best + 1;
    }
    if (bytes <= SIZE_MAX - sizeof(header)) {
        if (auto* const made = static_cast<header*>(std::malloc(sizeof(header) + bytes)); made != nullptr) {
            *made = {.next = blocks_, .size = bytes, .idle = false, .used = true};
            blocks_ = made;
            bytes_ += sizeof(header) + bytes;
            return made + 1;
        }
    }
    failed_ = true;
    if (escape_ != nullptr) std::longjmp(*escape_, 1);
    return nullptr;
}

void block_allocator::give(void* data) noexcept {
    if (data != nullptr) (static_cast<header*>(data) - 1)->idle = true;
}

void block_allocator::rotate() noexcept {
    failed_ = false;
    for (header** at = &blocks_; *at != nullptr;) {
        header* const block = *at;
        if (!block->idle || block->used) {
            block->used = false;
            at = &block->next;
            continue;
        }
        *at = block->next;
        bytes_ -= sizeof(header) + block->size;
        std::free(block);
    }
}

void block_allocator::drop_all() noexcept {
    for (header* block = blocks_; block != nullptr;) {
        header* const next = block->next;
        std::free(block);
        block = next;
    }
    blocks_ = nullptr;
    bytes_ = 0;
}

} // namespace fastserve::coding::detail
