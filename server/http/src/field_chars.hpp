// The bytes that names and values of fields are made of (RFC 9110 5.1, 5.5, 5.6.2), for what this layer writes and for
// what comes inside a chunked body.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fastserve::http {

enum char_class : std::uint8_t {
    token_char = 1,  // tchar
    value_char = 2,  // VCHAR, obs-text, SP, HTAB
    hex_digit = 4,   // the value is in hex_value
    quoted_char = 8, // qdtext: what a quoted-string holds without an escape
};

consteval std::array<std::uint8_t, 256> make_char_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (unsigned c = 0; c < 256; ++c) {
        const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        if (alpha || digit) classes[c] |= token_char;
        if (c == '\t' || (c >= 0x20 && c != 0x7f)) classes[c] |= value_char;
        if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) classes[c] |= hex_digit;
        if ((classes[c] & value_char) && c != '"' && c != '\\') classes[c] |= quoted_char;
    }
    for (const char c : std::string_view("!#$%&'*+-.^_`|~")) classes[static_cast<unsigned char>(c)] |= token_char;
    return classes;
}

inline constexpr auto char_classes = make_char_classes();

constexpr bool is(char c, char_class wanted) noexcept {
    return (char_classes[static_cast<unsigned char>(c)] & wanted) != 0;
}

constexpr bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t';
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// Without the blanks around it, which are no part of a value (RFC 9110 5.5).
constexpr std::string_view trim(std::string_view value) noexcept {
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
    return value;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

constexpr bool is_token(std::string_view text) noexcept {
    for (const char c : text)
        if (!is(c, token_char)) return false;
    return !text.empty();
}

// True for the fields that say where a message ends and whether the connection outlives it.
constexpr bool frames_a_message(std::string_view name) noexcept {
    switch (name.size()) {
    case 10:
        return equal_ignoring_case(name, "connection");
    case 14:
        return equal_ignoring_case(name, "content-length");
    case 17:
        return equal_ignoring_case(name, "transfer-encoding");
    default:
        return false;
    }
}

// True when `text` has no CR, LF, NUL or other control but HTAB.
inline bool is_value(std::string_view text) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t high_bits = 0x80 * ones;
    std::size_t i = 0;
    // Eight bytes at a time; whatever looks like a control is then looked at byte by byte, as HTAB is one that may
    // stay.
    for (; i + 8 <= text.size(); i += 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data() + i, 8);
        const std::uint64_t del = word ^ (0x7f * ones);
        const std::uint64_t below_space = (word - 0x20 * ones) & ~word;
        const std::uint64_t is_del = (del - ones) & ~del;
        if ((below_space | is_del) & high_bits) break;
    }
    for (; i < text.size(); ++i)
        if (!is(text[i], value_char)) return false;
    return true;
}

} // namespace fastserve::http
