// The content codings there are (RFC 9110 8.4.1), and their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastserve::coding {

// gzip: RFC 1952. deflate: the zlib format of RFC 1950, not the raw one of RFC 1951. br: RFC 7932. zstd: RFC 8878 with
// the window of RFC 9659.
enum class coding : std::uint8_t { identity, gzip, deflate, br, zstd };

// So that coding::gzip names it, inside this namespace and outside.
using enum coding;

inline constexpr std::size_t coding_count = 5;

namespace detail {
inline constexpr std::array<std::string_view, coding_count> tokens{"identity", "gzip", "deflate", "br", "zstd"};

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `small` is in lower case.
constexpr bool equals_ignoring_case(std::string_view text, std::string_view small) noexcept {
    if (text.size() != small.size()) return false;
    for (std::size_t i = 0; i != text.size(); ++i)
        if (lower(text[i]) != small[i]) return false;
    return true;
}
} // namespace detail

// The registered token, as it stands in Content-Encoding.
constexpr std::string_view token_of(coding c) noexcept {
    return detail::tokens[static_cast<std::size_t>(c)];
}

// The coding that a token of Content-Encoding or Accept-Encoding names: in any case, and x-gzip for gzip (RFC 9110
// 8.4.1.3). Empty for one that is not among the five; white space is the caller's to take off. Whether this build can
// do it is said by available().
constexpr std::optional<coding> from_token(std::string_view token) noexcept {
    for (std::size_t i = 0; i != coding_count; ++i)
        if (detail::equals_ignoring_case(token, detail::tokens[i])) return static_cast<coding>(i);
    if (detail::equals_ignoring_case(token, "x-gzip")) return gzip;
    return std::nullopt;
}

// Whether encoders and decoders of it can be opened: the library may be built without one or the other. True for
// identity, which needs none.
bool available(coding c) noexcept;

// The level an encoder has unless told otherwise: what a server can afford for each answer. 0 for identity.
constexpr int default_level(coding c) noexcept {
    switch (c) {
    case identity: return 0;
    case gzip:
    case deflate: return 6;
    case br: return 4;
    case zstd: return 3;
    }
    return 0;
}

} // namespace fastserve::coding
