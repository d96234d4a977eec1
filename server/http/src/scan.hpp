// What a scan of the head's bytes leaves behind for the walker: where names and lines end.
#pragma once

#include <fastserve/http/head_parser.hpp>

#include <cstddef>
#include <cstdint>

namespace fastserve::http {

// How many blocks of 64 bytes a scan takes at most. One kilobyte holds nearly every head; a longer one takes several.
inline constexpr unsigned scan_window = 16;

struct scan_marks {
    // In at[]: for each line the first byte that is not a tchar, then the CR; offsets from the first byte scanned,
    // which begins a line. So "GET / HTTP/1.1" gives the first SP and the CR, a field line the colon and the CR.
    // Neither the colon nor the LF behind the CR is verified, and a line that is nothing but a token has one mark, its
    // CR; the first mark of the line behind such a one is then found not to be a colon. A last line that is cut short
    // may leave one mark, also one just behind the data. Marks stop before the byte that ended the scan.
    std::uint32_t count;
    std::uint32_t blocks; // that were looked at
    std::uint32_t stop;   // the byte that ended the scan early, if `ended` or `wrong`
    bool ended;           // at stop, a CR begins a line: the head ends here if LF follows
    bool wrong;           // at stop, a control character, or none behind a CR
    // Bit k of plain[b]: byte 64 b + k is chars::plain. Filled at least up to the first block with a CR.
    std::uint64_t plain[scan_window];
    std::uint16_t at[scan_window * 64 + 16];
};

// Scans [data, data + size), size > 0, up to the window's end. May read 63 bytes beyond the data.
using scan_kernel = void (*)(const char* data, std::size_t size, scan_marks& out) noexcept;

// The kernel of a level, or nullptr where it cannot run.
scan_kernel kernel_of(scan_level level) noexcept;

// The kernel in use, and a way for tests to put one of theirs in between.
scan_kernel current_kernel() noexcept;
void use_kernel(scan_kernel kernel) noexcept;

} // namespace fastserve::http
