// Classes of bytes, one table for everything in this folder that reads the grammar byte by byte.
#pragma once

#include <array>
#include <cstdint>

namespace fastserve::http::chars {

inline constexpr std::uint8_t token = 1;     // tchar, RFC 9110 5.6.2
inline constexpr std::uint8_t control = 2;   // never in a field value: CTL without HTAB, RFC 9110 5.5
inline constexpr std::uint8_t target = 4;    // see is_target_char
inline constexpr std::uint8_t plain = 8;     // target without '%' and '?'
inline constexpr std::uint8_t reg_name = 16; // unreserved and sub-delims, RFC 3986 3.2.2
inline constexpr std::uint8_t digit = 32;
inline constexpr std::uint8_t hex = 64;
inline constexpr std::uint8_t space = 128; // SP and HTAB, the only white space

consteval std::array<std::uint8_t, 256> make_table() {
    std::array<std::uint8_t, 256> t{};
    auto add = [&t](const char* set, std::uint8_t classes) {
        for (; *set; ++set) t[static_cast<unsigned char>(*set)] |= classes;
    };
    constexpr auto letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    add(letters, token | target | plain | reg_name);
    add("0123456789", token | target | plain | reg_name | digit | hex);
    add("ABCDEFabcdef", hex);
    add("!#$%&'*+-.^_`|~", token);
    add("-._~!$&'()*+,;=", target | plain | reg_name);
    add(":/[]@", target | plain);
    add("?%", target);
    add(" \t", space);
    for (unsigned c = 0; c < 0x20; ++c)
        if (c != '\t') t[c] |= control;
    t[0x7f] |= control;
    return t;
}
inline constexpr std::array<std::uint8_t, 256> table = make_table();

constexpr bool is(char c, std::uint8_t classes) noexcept {
    return table[static_cast<unsigned char>(c)] & classes;
}

// ASCII only; other bytes are left as they are.
constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

} // namespace fastserve::http::chars
