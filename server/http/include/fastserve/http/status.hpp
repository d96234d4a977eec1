// Status codes (RFC 9110 15): their names, and what a code alone says about the message that carries it.
//
// A code is an `int`, so that one that is not registered needs no cast. The wire has room for three digits, and 100 to
// 999 are what fastserve will send: RFC 9110 gives 100 to 599 a meaning and tells a client to read the rest as 5xx,
// which some private protocols rely on. Below 100 there is no such thing on the wire.
#pragma once

#include <cstddef>
#include <string_view>

namespace fastserve::http {

// True for what fits a status line: 100 to 999.
constexpr bool is_status(int status) noexcept {
    return status >= 100 && status <= 999;
}

// 1xx: not the answer yet, the final one follows on the same exchange. 101 alone ends it.
constexpr bool is_informational(int status) noexcept {
    return status >= 100 && status <= 199;
}

// True when the message ends with its head whatever its fields say: 1xx, 204 and 304 (RFC 9112 6.3).
constexpr bool has_no_body(int status) noexcept {
    return is_informational(status) || status == 204 || status == 304;
}

// True when the code can be a handler's answer. An interim code cannot: the client would go on waiting for another.
constexpr bool is_final_status(int status) noexcept {
    return is_status(status) && (!is_informational(status) || status == 101);
}

// The registered name of a code, at most `longest_reason` bytes; empty for one that is not registered. Static storage.
std::string_view reason(int status) noexcept;

inline constexpr std::size_t longest_reason = 31;

} // namespace fastserve::http
