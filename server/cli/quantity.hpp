// Numbers as people write them on a command line: 30s, 64k, 1000.
#pragma once

#include <fastserve/http/limits.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fastserve::cli {

// Digits and, without a space, a unit in any case: ms, s, m, h or d for a time, which otherwise is in milliseconds; k,
// M, G or T, with or without "B" or "iB", for bytes, in steps of 1024. Nothing for what is not of that form, or does
// not fit 64 bits.
std::optional<std::uint64_t> parse_quantity(std::string_view text, http::limit_unit) noexcept;

// The shortest text that parse_quantity() reads as `value`.
std::string format_quantity(std::uint64_t value, http::limit_unit);

// What a value of the unit is called in --help: SIZE, TIME, N.
std::string_view placeholder(http::limit_unit) noexcept;

// parse_quantity(), and what is wrong in words that follow the text itself: "takes ...", "must be ...".
struct quantity_or_fault {
    std::uint64_t value = 0;
    std::string fault{}; // empty: none
};
quantity_or_fault read_quantity(std::string_view text, http::limit_unit, std::uint64_t least, std::uint64_t most);

} // namespace fastserve::cli
