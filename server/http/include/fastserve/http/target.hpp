// The request target (RFC 9112 3.2): its four forms and what each is made of.
#pragma once

#include <fastserve/http/error.hpp>

#include <cstdint>
#include <string_view>

namespace fastserve::http {

enum class target_form : std::uint8_t {
    origin,    // "/path?query"
    absolute,  // "http://host/path?query" or https
    authority, // "host:port", CONNECT only
    asterisk,  // "*", OPTIONS only
};

// A target taken apart. Views are parts of the target, or empty ones that point nowhere; `path` of an absolute target
// without one is a static "/" (RFC 9110 4.2.3), or "*" with OPTIONS (RFC 9112 3.2.4). No percent-decoding is done.
struct target_parts {
    target_form form = target_form::origin;
    bool secure = false; // absolute form with the https scheme
    bool has_query = false;
    std::string_view authority; // absolute and authority forms
    std::string_view path;      // empty in the authority form
    std::string_view query;     // behind the '?', without it
};

// True for the bytes that a target may hold: the unreserved and reserved characters of RFC 3986 without '#', and '%'.
// '[' and ']' are let through anywhere, since "?a[]=1" is common and harmless; '"', '<', '>', '\', '^', '`', '{', '|',
// '}', controls, SP and 8-bit bytes are not.
bool is_target_char(unsigned char c) noexcept;

// True if some valid target begins with `prefix`, as far as its form tells; so that a wrong form is seen at its first
// byte.
bool may_begin_target(std::string_view prefix, bool connect, bool options) noexcept;

// Takes `target` apart. `connect` and `options` say which method asks. errc::bad_target when it is empty, has a byte
// that is_target_char refuses or a '%' without two hexadecimal digits, is of a form that the method does not take, has
// another scheme, an empty host, or user information (RFC 9110 4.2.4).
errc split_target(std::string_view target, bool connect, bool options, target_parts& out) noexcept;

} // namespace fastserve::http
