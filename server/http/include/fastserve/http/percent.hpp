// Percent-encoding in the path of a request target (RFC 3986 2.1, 2.3 and 6.2.2).
//
// Every function here is pure, allocates nothing, and may be called from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fastserve::http {

// Decodes every triple of `in` into `out` and returns how many octets were written: at most in.size(), which is what
// `out` must have room for. `out` may be in.data(). '+' stays '+': it means a space in forms only.
//
// Returns nothing for a '%' that two hexadecimal digits do not follow, and for "%00": no route needs a NUL, and what
// is decoded here ends up in C interfaces that would stop reading at it. What `out` holds is then unspecified.
//
// A decoded value is not a path any more: it may hold '/', "..", '\\' and any other octet but NUL.
std::optional<std::size_t> percent_decode(std::string_view in, char* out) noexcept;

// Writes the normal form of `in` (RFC 3986 6.2.2.1 and 6.2.2.2) and returns its size. Triples of unreserved octets
// (letters, digits, "-._~") are decoded, all others get upper case digits, the rest is copied. "%2F" therefore stays
// and does not split a segment. Room, overlap and errors are as in percent_decode, so that every part between slashes
// of what this function accepts is accepted by percent_decode.
std::optional<std::size_t> percent_normalise(std::string_view in, char* out) noexcept;

// The form of a path that routes are matched with: `path` itself when nothing in it is encoded, otherwise its normal
// form in `scratch`, which must have room for path.size() octets and live as long as the result is used. Nothing when
// percent_normalise refuses it, which deserves a 400. Dot segments are left alone: resolving them is the client's part,
// and "%2e%2e" comes out as "..", to be judged by whoever maps a path to something.
inline std::optional<std::string_view> normal_path(std::string_view path, char* scratch) noexcept {
    if (path.find('%') == std::string_view::npos) return path;
    const auto size = percent_normalise(path, scratch);
    if (!size) return std::nullopt;
    return std::string_view(scratch, *size);
}

// Letters, digits, "-._~" (RFC 3986 2.3).
constexpr bool is_unreserved(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

// Whether a segment may hold `c` as it is (`pchar` of RFC 3986 3.3, without '%').
constexpr bool is_segment_octet(char c) noexcept {
    return is_unreserved(c) || (c != '\0' && std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos);
}

inline constexpr std::string_view hex_digits = "0123456789ABCDEF";

} // namespace fastserve::http
