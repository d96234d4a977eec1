// What a route pattern may say, and what can be wrong with a registration.
//
//     /users/{id}/files/{path...}
//
// * A pattern starts with '/' and is a list of segments between slashes; a trailing slash is an empty last segment, so
//   "/a" and "/a/" are two patterns.
// * A literal segment is written decoded or encoded as one likes. It is kept in the normal form of percent_normalise,
//   with octets that a URI cannot hold encoded: "/a b" and "/%61%20b" are one pattern, "/a%2Fb" is one segment.
//   A literal brace is written %7B or %7D; a '%' must begin a triple; '?' and '#' are refused.
// * "{name}" is a whole segment and matches any segment that is not empty. Text beside it ("{name}.json") is refused.
// * "{name...}" is the last segment and matches the rest of the path, slashes included. The rest may be empty:
//   "/files/{path...}" matches "/files/" (and not "/files").
// * Names are made of letters, digits, '_' and '-', and differ within a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::detail {

inline constexpr std::size_t max_route_parameters = 16;
inline constexpr std::size_t max_route_segments = 32;
inline constexpr std::size_t max_pattern_octets = 4096;
inline constexpr std::size_t max_routes = 65'536;

enum class route_errc : std::uint8_t {
    ok = 0,
    no_leading_slash,
    unclosed_brace,
    stray_brace,
    partial_segment,
    empty_name,
    bad_name,
    duplicate_name,
    tail_not_last,
    bad_escape,
    query_or_fragment,
    pattern_too_long,
    too_many_segments,
    too_many_parameters,
    bad_method,
    duplicate_route,
    too_many_routes,
};

inline constexpr std::uint8_t route_errc_count = static_cast<std::uint8_t>(route_errc::too_many_routes) + 1;

// One line that says what to change.
std::string_view message_of(route_errc e) noexcept;

const std::error_category& route_category() noexcept;

inline std::error_code make_error_code(route_errc e) noexcept {
    return {static_cast<int>(e), route_category()};
}

enum class segment_kind : std::uint8_t { literal, parameter, tail };

struct pattern_segment {
    segment_kind kind{};
    std::string text; // literal: its normal form; otherwise the name
};

struct route_pattern {
    std::vector<pattern_segment> segments;
};

// Reads `text` into `out`. On an error `out` is unspecified.
route_errc parse_pattern(std::string_view text, route_pattern& out);

} // namespace fastserve::detail

template <>
struct std::is_error_code_enum<fastserve::detail::route_errc> : std::true_type {};
