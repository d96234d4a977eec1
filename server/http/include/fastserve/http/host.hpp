// The authority of a request: Host and what stands in an absolute target (RFC 9110 7.2, RFC 3986 3.2.2).
#pragma once

#include <string_view>

namespace fastserve::http {

// A valid authority taken apart. Views are parts of what was split.
struct authority {
    std::string_view host; // with the brackets of an IP literal
    std::string_view port; // digits, possibly none
};

// True if `text` is uri-host [ ":" port ] with a host that is not empty: a registered name, an IPv4 address, or an IPv6
// or future address in brackets; without user information. The port may have any number of digits, also none.
bool valid_authority(std::string_view text) noexcept;

// Takes apart what valid_authority accepts (or an empty text).
authority split_authority(std::string_view text) noexcept;

// True if `text` is an IPv6address of RFC 3986 (no brackets, no zone).
bool valid_ipv6(std::string_view text) noexcept;

} // namespace fastserve::http
