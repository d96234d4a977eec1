// Nibble tables for the kernels that classify bytes with shuffles: a byte is in class bit k if low[byte & 15] and
// high[byte >> 4] both have it. Made from the one table of classes, and checked against it at compile time.
#pragma once

#include "chars.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace fastserve::http::scan_tables {

struct nibbles {
    alignas(16) std::uint8_t low[16] = {};
    alignas(16) std::uint8_t high[16] = {};
};

// Bits 0 to 4: token; bits 5 to 7: control. No byte is both, so that above 0x1f means control, and not zero either.
// Row 6 ('`' to 'o', all tokens) is made of the bits of rows 3 (0-9) and 4 (1-15), which frees a bit for DEL.
inline constexpr std::uint8_t first_control = 0x20;
consteval nibbles make_field_nibbles() {
    nibbles n;
    constexpr std::uint8_t row_bits[16] = {0x20, 0x40, 0x01, 0x02, 0x04, 0x08, 0x06, 0x90};
    constexpr std::uint8_t row_of_bit[8] = {2, 3, 4, 5, 7, 0, 1, 7};
    for (unsigned h = 0; h < 16; ++h) n.high[h] = row_bits[h];
    for (unsigned l = 0; l < 16; ++l)
        for (unsigned bit = 0; bit < 8; ++bit) {
            const std::uint8_t classes = chars::table[row_of_bit[bit] * 16U + l];
            if (classes & (bit < 5 ? chars::token : chars::control)) n.low[l] |= static_cast<std::uint8_t>(1U << bit);
        }
    return n;
}

// One bit a row: bytes of chars::plain are all in rows 2 to 7.
consteval nibbles make_plain_nibbles() {
    nibbles n;
    for (unsigned h = 2; h < 8; ++h) {
        n.high[h] = static_cast<std::uint8_t>(1U << h);
        for (unsigned l = 0; l < 16; ++l)
            if (chars::table[h * 16 + l] & chars::plain) n.low[l] |= n.high[h];
    }
    return n;
}

inline constexpr nibbles field_classes = make_field_nibbles();
inline constexpr nibbles plain_classes = make_plain_nibbles();

consteval bool agree() {
    for (unsigned c = 0; c < 256; ++c) {
        const unsigned f = field_classes.low[c & 15] & field_classes.high[c >> 4],
                       p = plain_classes.low[c & 15] & plain_classes.high[c >> 4];
        const unsigned classes = chars::table[c];
        if ((f != 0 && f < first_control) != ((classes & chars::token) != 0)) return false;
        if ((f >= first_control) != ((classes & chars::control) != 0)) return false;
        if ((p != 0) != ((classes & chars::plain) != 0)) return false;
    }
    return true;
}
static_assert(agree());

// For kernels that look seven bits up at once. Token is the top bit, which is the cheapest to gather.
inline constexpr std::uint8_t class_token = 0x80, class_control = 1, class_cr = 2, class_plain = 4;
struct ascii_classes {
    alignas(64) std::uint8_t of[128] = {};
};
consteval ascii_classes make_ascii() {
    ascii_classes t;
    for (unsigned c = 0; c < 128; ++c)
        t.of[c] =
            static_cast<std::uint8_t>((chars::table[c] & chars::token ? class_token : 0) |
                                      (chars::table[c] & chars::control ? class_control : 0) |
                                      (c == '\r' ? class_cr : 0) | (chars::table[c] & chars::plain ? class_plain : 0));
    return t;
}
inline constexpr ascii_classes ascii = make_ascii();

struct numbers {
    alignas(64) std::uint8_t of[64] = {};
};
consteval numbers make_numbers() {
    numbers n;
    for (std::uint8_t i = 0; i < 64; ++i) n.of[i] = i;
    return n;
}
inline constexpr numbers zero_to_63 = make_numbers();

} // namespace fastserve::http::scan_tables
