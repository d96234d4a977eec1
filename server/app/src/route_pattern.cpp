#include <fastserve/detail/route_pattern.hpp>

#include <fastserve/http/error_category.hpp>
#include <fastserve/http/percent.hpp>

#include <algorithm>
#include <utility>

namespace fastserve::detail {

namespace {

constexpr std::string_view dots = "...";

constexpr bool is_name_octet(char c) noexcept {
    return http::is_unreserved(c) && c != '.' && c != '~';
}

// Brings `raw` into normal form: first every octet that a segment cannot hold is encoded, then the triples are unified.
route_errc parse_literal(std::string_view raw, std::string& out) {
    out.clear();
    for (const char c : raw) {
        if (c == '}') return route_errc::stray_brace;
        if (c == '{') return route_errc::partial_segment;
        if (c == '?' || c == '#') return route_errc::query_or_fragment;
        if (c == '%' || http::is_segment_octet(c)) {
            out += c;
        } else {
            out += '%';
            out += http::hex_digits[static_cast<unsigned char>(c) >> 4];
            out += http::hex_digits[static_cast<unsigned char>(c) & 15];
        }
    }
    const auto size = http::percent_normalise(out, out.data());
    if (!size) return route_errc::bad_escape;
    out.resize(*size);
    return route_errc::ok;
}

// `raw` starts with '{'.
route_errc parse_wildcard(std::string_view raw, pattern_segment& out) {
    const std::size_t close = raw.find('}');
    if (close == std::string_view::npos) return route_errc::unclosed_brace;
    if (close + 1 != raw.size()) return route_errc::partial_segment;
    std::string_view name = raw.substr(1, close - 1);
    out.kind = segment_kind::parameter;
    if (name.ends_with(dots)) {
        out.kind = segment_kind::tail;
        name.remove_suffix(dots.size());
    }
    if (name.empty()) return route_errc::empty_name;
    if (!std::all_of(name.begin(), name.end(), is_name_octet)) return route_errc::bad_name;
    out.text = name;
    return route_errc::ok;
}

} // namespace

route_errc parse_pattern(std::string_view text, route_pattern& out) {
    out.segments.clear();
    if (!text.starts_with('/')) return route_errc::no_leading_slash;
    if (text.size() > max_pattern_octets) return route_errc::pattern_too_long;
    std::size_t parameters = 0;
    for (std::size_t slash = 0; slash != std::string_view::npos;) {
        const std::size_t next = text.find('/', slash + 1);
        const std::string_view raw = text.substr(slash + 1, next == std::string_view::npos ? next : next - slash - 1);
        slash = next;

        if (out.segments.size() == max_route_segments) return route_errc::too_many_segments;
        if (!out.segments.empty() && out.segments.back().kind == segment_kind::tail) return route_errc::tail_not_last;
        pattern_segment segment;
        const bool wild = raw.starts_with('{');
        const route_errc error = wild ? parse_wildcard(raw, segment) : parse_literal(raw, segment.text);
        if (error != route_errc::ok) return error;
        if (wild) {
            if (++parameters > max_route_parameters) return route_errc::too_many_parameters;
            for (const pattern_segment& other : out.segments)
                if (other.kind != segment_kind::literal && other.text == segment.text)
                    return route_errc::duplicate_name;
        }
        out.segments.push_back(std::move(segment));
    }
    return route_errc::ok;
}

std::string_view message_of(route_errc e) noexcept {
    switch (e) {
    case route_errc::ok:
        return "success";
    case route_errc::no_leading_slash:
        return "a pattern starts with '/'";
    case route_errc::unclosed_brace:
        return "'{' without its '}' in the same segment";
    case route_errc::stray_brace:
        return "'}' without '{' (a literal brace is written %7D)";
    case route_errc::partial_segment:
        return "a parameter is a whole segment, with nothing beside it";
    case route_errc::empty_name:
        return "a parameter has no name";
    case route_errc::bad_name:
        return "a parameter's name is made of letters, digits, '_' and '-'";
    case route_errc::duplicate_name:
        return "two parameters of a pattern have the same name";
    case route_errc::tail_not_last:
        return "'{name...}' is the last segment";
    case route_errc::bad_escape:
        return "'%' begins two hexadecimal digits, and not 00";
    case route_errc::query_or_fragment:
        return "'?' and '#' are no part of a path";
    case route_errc::pattern_too_long:
        return "the pattern is longer than 4096 octets";
    case route_errc::too_many_segments:
        return "the pattern has more than 32 segments";
    case route_errc::too_many_parameters:
        return "the pattern has more than 16 parameters";
    case route_errc::bad_method:
        return "the method is out of range";
    case route_errc::duplicate_route:
        return "the method is registered twice for the same paths";
    case route_errc::too_many_routes:
        return "more than 65536 routes";
    }
    return "unknown error";
}

const std::error_category& route_category() noexcept {
    static const http::error_category<route_errc> instance("fastserve.route");
    return instance;
}

} // namespace fastserve::detail
