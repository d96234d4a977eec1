// The dates that messages carry (RFC 9110 5.6.7), made from a Unix time alone: no locale, no time zone, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastserve::http {

inline constexpr std::size_t date_bytes = 29;

// Writes an IMF-fixdate, "Sun, 06 Nov 1994 08:49:37 GMT", without a NUL. The form has four digits for the year: times
// outside the years 1 to 9999 are written as the first or the last second of them.
void format_date(std::int64_t unix_seconds, char (&out)[date_bytes]) noexcept;

// Reads a date in any of the three forms that a recipient has to know, as seconds of Unix time:
//
//     Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate
//     Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
//     Sun Nov  6 08:49:37 1994         asctime
//
// Nothing for any other text, also one with blanks around it, and for a day or time that the calendar does not have.
// Names are compared with regard to case. The name of the day must be one, but need not be that of the date, which is
// all that is read. Second 60 of a leap second is the first of the next minute.
//
// `now`, in seconds of Unix time, is what the two digits of an RFC 850 year are read by: they mean the latest year that
// does not put the date more than 50 years (of 365.2425 days) into the future.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) noexcept;

} // namespace fastserve::http
