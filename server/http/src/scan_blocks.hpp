// The arithmetic on bitmaps that all kernels share. Bit k of a bitmap stands for byte k of a block of 64.
//
// Lines are not searched for one behind the other, since each search would have to wait for the one before: sums and
// shifts mark the ends of all names and lines of a block at once. Everything here is inlined into kernels that raise
// their instruction set, has internal linkage, and calls nothing.
#pragma once

#include "scan.hpp"

namespace fastserve::http {
namespace {

struct block_bits {
    std::uint64_t token;   // tchar
    std::uint64_t control; // CTL without HTAB; so CR and LF are in it
    std::uint64_t cr;
};

// What one block leaves for the next.
struct scan_carry {
    std::uint64_t cr_before = 0;    // bit 0: a CR was the last byte
    std::uint64_t name_goes_on = 0; // bit 0: a name reached the last byte
    std::uint64_t starts = 1;       // bit 0: a line begins here
};

[[gnu::always_inline]] inline unsigned blocks_for(std::size_t size) {
    return size > 64 * (scan_window - 1) ? scan_window : static_cast<unsigned>((size + 63) / 64);
}

[[gnu::always_inline]] inline std::uint64_t valid_bits(std::size_t left) {
    return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

[[gnu::always_inline]] inline unsigned begin_scan(std::size_t size, scan_marks& out) {
    out.ended = out.wrong = false;
    return out.blocks = blocks_for(size);
}
[[gnu::always_inline]] inline void end_scan(scan_marks& out, const std::uint16_t* next) {
    out.count = static_cast<std::uint32_t>(next - out.at);
    if (out.ended || out.wrong) out.blocks = out.stop / 64 + 1;
}

// Finds the marks of block b. Returns true, with out.ended or out.wrong and out.stop set, if the scan stops in it.
[[gnu::always_inline]] inline bool mark_block(unsigned b, block_bits in, scan_carry& carry, std::uint64_t& marks,
                                              scan_marks& out) {
    const std::uint64_t lf = in.cr << 1 | carry.cr_before; // where LF has to be
    const std::uint64_t starts = lf << 1 | carry.starts;
    // A one added to the first bit of a run of ones ends up on the bit behind the run: that is where the name ends.
    const std::uint64_t sum = in.token + (starts | carry.name_goes_on);
    const std::uint64_t name_ends = sum & ~in.token;
    const std::uint64_t empty = starts & in.cr;
    const std::uint64_t wrong = in.control ^ (in.cr | lf);
    carry = {in.cr >> 63, sum < in.token, lf >> 63};
    marks = name_ends | in.cr;
    if ((wrong | empty) == 0) [[likely]]
        return false;
    const std::uint64_t first = (wrong | empty) & (~(wrong | empty) + 1);
    out.ended = (first & wrong) == 0;
    out.wrong = !out.ended;
    out.stop = b * 64 + static_cast<std::uint32_t>(__builtin_ctzll(first));
    marks &= first - 1;
    return true;
}

// Appends the places of the marks of block b at `next` and returns the new end. Writes some places beyond it: a fixed
// number of steps costs less than a branch that is guessed wrong.
[[gnu::always_inline]] inline std::uint16_t* write_marks(unsigned b, std::uint64_t marks, std::uint16_t* next) {
    const unsigned base = b * 64;
    while (marks != 0) {
        for (int k = 0; k < 4; ++k) {
            *next =
                static_cast<std::uint16_t>(base + (static_cast<unsigned>(__builtin_ctzll(marks | 1ULL << 63)) & 63));
            next += marks != 0;
            marks &= marks - 1;
        }
    }
    return next;
}

} // namespace
} // namespace fastserve::http
