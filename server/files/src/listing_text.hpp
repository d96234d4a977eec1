// Names, sizes and times as a page shows them. All functions append to `out` and may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fastserve::files {

// As text of HTML, also within quotes. Bytes that are not UTF-8, and controls, are shown as U+FFFD.
void put_escaped(std::string& out, std::string_view text);

// As a segment of a URL: everything but unreserved characters (RFC 3986 2.3) in triples, so that it is the same in
// HTML.
void put_encoded(std::string& out, std::string_view name);

// "999 B", "1.0 KiB", "34 MiB": three digits at most, four just below the next unit.
void put_size(std::string& out, std::uint64_t bytes);

// A <time> of Unix seconds, to the minute: "2026-11-30 23:54". Years from 1 to 9999.
void put_time(std::string& out, std::int64_t seconds);

} // namespace fastserve::files
