// What can go wrong between a body and its coded form, and the status that answers a request which did it.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve::coding {

// One value a fault. Zero is success, as in every error enum.
enum class errc : std::uint8_t {
    ok = 0,
    // What a decoder finds wrong with its input.
    corrupt,          // not the coding's format, or a checksum that does not fit
    truncated,        // the input ended before the coded stream did; also an empty input
    trailing_garbage, // something follows the end of the coded stream
    too_large,        // decode_limits::max_bytes exceeded
    ratio_too_high,   // decode_limits::max_ratio exceeded
    window_too_large, // a zstd frame that needs more than 8 MiB of history (RFC 9659)
    needs_dictionary, // made with a dictionary, which HTTP's codings do not have
    // What an encoder finds.
    not_smaller, // encode_whole: the coded form would not be worth sending
    // Ours.
    unsupported, // identity, or a coding this build is without
    no_memory,
    misuse, // not open, or an operation after the end or in the middle of another
};

inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::misuse) + 1;

// The status code that answers a request whose body met `e`; 200 for errc::ok. 415 tells a client that its coding is
// the problem (RFC 9110 15.5.16).
constexpr int status_of(errc e) noexcept {
    switch (e) {
    case errc::ok: return 200;
    case errc::too_large:
    case errc::ratio_too_high: return 413;
    case errc::unsupported: return 415;
    case errc::no_memory: return 503;
    case errc::not_smaller:
    case errc::misuse: return 500;
    default: return 400;
    }
}

// One line a developer can act on, without the peer's bytes in it.
std::string_view message_of(errc e) noexcept;

const std::error_category& coding_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), coding_category()};
}

} // namespace fastserve::coding

template <>
struct std::is_error_code_enum<fastserve::coding::errc> : std::true_type {};
