// A slot number and a counter in one 64-bit word: the head of a lock-free list, and the handle of a pooled object.
#pragma once

#include <cstdint>

namespace fastserve::pool {

// `index` takes 24 bits (16,777,215 slots, the last value means none), `tag` the TagBits above them.
//
// As the head of a list the tag counts removals. It protects a thread that was stopped between reading the head and its
// compare-exchange: the exchange is fooled only when exactly a multiple of 2^TagBits removals happened meanwhile. At
// 50 million removals a second, more than one cache line can carry, 2^40 take 6.1 hours (2^32 would take 86 s) and each
// removal moves up to 32 objects. As a handle the tag is the slot's generation, which counts its releases: a slot
// released a million times a second wraps in 12.7 days.
//
// A narrower tag exists for the test that proves that the proof can fail.
template <unsigned TagBits = 40>
class basic_tagged_index {
    static_assert(TagBits >= 1 && TagBits <= 40);

public:
    static constexpr unsigned index_bits = 24;
    static constexpr std::uint32_t null_index = (std::uint32_t{1} << index_bits) - 1;
    static constexpr std::uint64_t tag_mask = (std::uint64_t{1} << TagBits) - 1;

    // No slot, tag 0.
    constexpr basic_tagged_index() noexcept = default;
    // Bits of `index` and `tag` beyond their widths are dropped.
    constexpr basic_tagged_index(std::uint32_t index, std::uint64_t tag) noexcept
        : word_{(tag & tag_mask) << index_bits | (index & null_index)} {}

    static constexpr basic_tagged_index from_word(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word & null_index), word >> index_bits};
    }
    constexpr std::uint64_t to_word() const noexcept { return word_; }

    constexpr std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(word_ & null_index); }
    constexpr std::uint64_t tag() const noexcept { return word_ >> index_bits; }
    constexpr bool is_null() const noexcept { return index() == null_index; }

    // What the head becomes when something is pushed: the same tag.
    constexpr basic_tagged_index with_index(std::uint32_t index) const noexcept { return {index, tag()}; }
    // What the head becomes when something is removed: the next tag.
    constexpr basic_tagged_index advanced_to(std::uint32_t index) const noexcept { return {index, tag() + 1}; }

    friend constexpr bool operator==(basic_tagged_index, basic_tagged_index) noexcept = default;

private:
    std::uint64_t word_ = null_index;
};

using tagged_index = basic_tagged_index<>;
static_assert(sizeof(tagged_index) == 8, "one word, so that a compare-exchange moves index and tag together");

inline constexpr std::uint32_t null_index = tagged_index::null_index;

// {index, generation} of a pooled object: 64 bits that may go into an epoll event or a message and outlive the object.
using handle = tagged_index;

} // namespace fastserve::pool
