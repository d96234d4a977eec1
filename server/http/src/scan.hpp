// What a scan of the head's bytes leaves behind: bitmaps, which the walker reads.
#pragma once

#include <fastserve/http/head_parser.hpp>

#include <cstddef>
#include <cstdint>

namespace fastserve::http {

// 64 bytes; bit k stands for byte k. Bits of bytes that are not part of the data are zero.
struct scan_block {
    std::uint64_t token;   // tchar
    std::uint64_t control; // CTL without HTAB; so CR and LF are in it
    std::uint64_t cr;
    std::uint64_t plain; // what a target holds without more ado; filled at least up to the first block with a CR
};

// How many blocks a kernel fills at most. One kilobyte holds nearly every head; a longer one takes several scans.
inline constexpr unsigned scan_window = 16;

// Fills out[0..n) for the bytes [data, data + size), size > 0, and returns n <= scan_window. Stops early behind a block
// in which a CR follows a CR at a distance of two: the head ends there, or is wrong. May read 63 bytes beyond the data.
using scan_kernel = unsigned (*)(const char* data, std::size_t size, scan_block* out) noexcept;

unsigned scan_scalar(const char* data, std::size_t size, scan_block* out) noexcept;

// The kernel of a level, or nullptr where it cannot run.
scan_kernel kernel_of(scan_level level) noexcept;

// The kernel in use, and a way for tests to put one of theirs in between.
scan_kernel current_kernel() noexcept;
void use_kernel(scan_kernel kernel) noexcept;

} // namespace fastserve::http
