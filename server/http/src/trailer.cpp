#include <fastserve/http/chunked.hpp>
#include <fastserve/http/field.hpp>

#include "field_chars.hpp"

#include <cstdint>

namespace fastserve::http {
namespace {

template <class... Fields>
constexpr std::uint64_t set_of(Fields... f) noexcept {
    return ((std::uint64_t{1} << static_cast<unsigned>(f)) | ...);
}

// Framing and the connection, routing, authentication, request modifiers and controls, the content's format: what had
// to be known before the content, or what a recipient that merges trailers into the head could be led astray with.
constexpr std::uint64_t never =
    set_of(field::transfer_encoding, field::content_length, field::connection, field::keep_alive, field::upgrade,
           field::trailer, field::te, field::expect) |
    set_of(field::host, field::forwarded, field::x_forwarded_for, field::x_forwarded_host, field::x_forwarded_proto,
           field::origin) |
    set_of(field::authorization, field::www_authenticate, field::cookie, field::set_cookie) |
    set_of(field::cache_control, field::pragma, field::range, field::if_match, field::if_modified_since,
           field::if_none_match, field::if_range, field::if_unmodified_since) |
    set_of(field::content_encoding, field::content_range, field::content_type);

bool may_be_trailer(std::string_view name) noexcept {
    if (const field f = find_field(name); f != field::unknown) return !((never >> static_cast<unsigned>(f)) & 1);
    for (const std::string_view other :
         {"max-forwards", "proxy-authenticate", "proxy-authorization", "proxy-connection"})
        if (equal_ignoring_case(name, other)) return false;
    return !equal_ignoring_case(name.substr(0, 3), "if-");
}

} // namespace

std::optional<std::string_view> find_trailer(std::string_view lines, std::string_view name) noexcept {
    if (lines.empty() || !may_be_trailer(name)) return std::nullopt;
    while (!lines.empty()) { // checked: a token, a colon, a value and CRLF
        const std::size_t colon = lines.find(':');
        const std::size_t end = lines.find("\r\n", colon);
        if (end == std::string_view::npos) break; // the last one has not come yet
        if (equal_ignoring_case(lines.substr(0, colon), name)) return trim(lines.substr(colon + 1, end - colon - 1));
        lines.remove_prefix(end + 2);
    }
    return std::nullopt;
}

} // namespace fastserve::http
