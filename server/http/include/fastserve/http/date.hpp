// The date a message carries (RFC 9110 5.6.7), made from a Unix time alone: no locale, no time zone, no clock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastserve::http {

inline constexpr std::size_t date_bytes = 29;

// Writes an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT", without a NUL. The form has four digits for the year: times
// outside the years 1 to 9999 are written as the first or the last second of them.
void format_date(std::int64_t unix_seconds, char (&out)[date_bytes]) noexcept;

} // namespace fastserve::http
