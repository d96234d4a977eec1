#include "quantity.hpp"

#include <charconv>
#include <limits>
#include <span>

namespace fastserve::cli {

namespace {

struct named_unit {
    std::string_view name;
    std::uint64_t factor;
};

// Ascending. The first is what a number without a unit means.
constexpr named_unit times[] = {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr named_unit sizes[] = {{"", 1}, {"k", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {"T", 1ull << 40}};
constexpr named_unit counts[] = {{"", 1}};

std::span<const named_unit> units_of(http::limit_unit u) noexcept {
    switch (u) {
    case http::limit_unit::milliseconds:
        return times;
    case http::limit_unit::bytes:
    case http::limit_unit::bytes_per_second:
        return sizes;
    case http::limit_unit::count:
        break;
    }
    return counts;
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letters(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

} // namespace

std::optional<std::uint64_t> parse_quantity(std::string_view text, http::limit_unit u) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    const std::span<const named_unit> known = units_of(u);
    if (known.data() == sizes && !unit.empty() && lower(unit.back()) == 'b') {
        unit.remove_suffix(1);
        if (unit.size() > 1 && lower(unit.back()) == 'i') unit.remove_suffix(1);
    }
    if (unit.empty()) return number;
    for (const named_unit& n : known) {
        if (!same_letters(n.name, unit)) continue;
        if (number > std::numeric_limits<std::uint64_t>::max() / n.factor) return std::nullopt;
        return number * n.factor;
    }
    return std::nullopt;
}

std::string format_quantity(std::uint64_t value, http::limit_unit u) {
    if (value == 0) return "0";
    const std::span<const named_unit> known = units_of(u);
    const named_unit* best = &known.front();
    for (const named_unit& n : known)
        if (value % n.factor == 0) best = &n;
    return std::to_string(value / best->factor).append(best->name);
}

std::string_view placeholder(http::limit_unit u) noexcept {
    switch (u) {
    case http::limit_unit::milliseconds:
        return "TIME";
    case http::limit_unit::bytes:
    case http::limit_unit::bytes_per_second:
        return "SIZE";
    case http::limit_unit::count:
        break;
    }
    return "N";
}

quantity_or_fault read_quantity(std::string_view text, http::limit_unit u, std::uint64_t least, std::uint64_t most) {
    const std::optional<std::uint64_t> value = parse_quantity(text, u);
    if (value && *value >= least && *value <= most) return {.value = *value};
    if (value) return {.fault = "must be from " + format_quantity(least, u) + " to " + format_quantity(most, u)};
    switch (u) {
    case http::limit_unit::milliseconds:
        return {.fault = "takes a time: 500ms, 30s, 5m, or a number of milliseconds"};
    case http::limit_unit::bytes:
        return {.fault = "takes a size: 64k, 1M, or a number of bytes"};
    case http::limit_unit::bytes_per_second:
        return {.fault = "takes bytes a second: 64k, 1M, or a number"};
    case http::limit_unit::count:
        break;
    }
    return {.fault = "takes a whole number"};
}

} // namespace fastserve::cli
