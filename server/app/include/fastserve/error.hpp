// What can be wrong with what a handler asks of a request.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve {

// One value a fault. Zero is success, as in every error enum.
enum class errc : std::uint8_t {
    ok = 0,
    missing,      // no such parameter or key
    malformed,    // not what the type asked for looks like
    out_of_range, // a number, but none that the type can hold
    bad_encoding, // '%' without two hexadecimal digits, or an encoded NUL
    wrong_type,   // the content is of another type than what is asked for
    too_many,     // more pairs than limits::form_pairs
    too_large,    // more bytes than the handler takes
    // Bodies in pieces.
    cancelled,    // the wait was, by the handler itself
    disconnected, // the peer has left, or its time is up
    not_streamed, // the route takes whole bodies
    not_whole,    // the route takes bodies in pieces
    busy,         // one piece after the other: another read or write has not ended
    head_sent,    // it is too late for an interim response
    too_long,     // more than the length that was announced
    taken,        // the body is read otherwise: by read(), or by next_part()
    past,         // another part was asked for since
};

inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::past) + 1;

// One line, without the peer's bytes in it: it may be sent as the detail of a problem.
std::string_view message_of(errc e) noexcept;

const std::error_category& app_category() noexcept;

// The status that answers what went wrong with a request: with errors of this enum, of http::errc and of
// http::multipart_errc 400, 408, 413, 415 and the like where it is the client's fault; 200 without an error, and 500
// for all else.
int status_of(std::error_code) noexcept;

inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), app_category()};
}

} // namespace fastserve

template <>
struct std::is_error_code_enum<fastserve::errc> : std::true_type {};
