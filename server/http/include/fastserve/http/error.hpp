// What can be wrong with the bytes a peer sends, and the status that answers each.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve::http {

// One value a fault. Zero is success, as in every error enum.
enum class errc : std::uint8_t {
    ok = 0,
    // The request line (RFC 9112 3).
    bad_request_line,
    bad_method,
    unknown_method,
    bad_target,
    target_too_long,
    bad_version,
    unsupported_version,
    // Fields (RFC 9112 5, RFC 9110 5).
    bad_field_name,
    bad_field_value,
    bad_line_end,
    obsolete_fold,
    head_too_large,
    too_many_fields,
    // Host (RFC 9112 3.2).
    missing_host,
    duplicate_host,
    bad_host,
    // Framing (RFC 9112 6).
    bad_content_length,
    duplicate_content_length,
    bad_transfer_encoding,
    unknown_transfer_coding,
    length_and_chunked,
    // The body (RFC 9112 7).
    bad_chunk_size,
    bad_chunk_extension,
    bad_chunk_end,
    chunk_line_too_long,
    chunk_overhead_too_large,
    bad_trailer,
    trailer_too_large,
    too_many_trailer_fields,
    body_too_large,
    incomplete_body,
    // Semantics and time.
    expectation_failed,
    head_timeout,
    body_timeout,
};

inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::body_timeout) + 1;

// The status code that answers `e`; 200 for errc::ok.
constexpr int status_of(errc e) noexcept {
    switch (e) {
    case errc::ok: return 200;
    case errc::unknown_method:
    case errc::unknown_transfer_coding: return 501;
    case errc::target_too_long: return 414;
    case errc::unsupported_version: return 505;
    case errc::head_too_large:
    case errc::too_many_fields:
    case errc::trailer_too_large:
    case errc::too_many_trailer_fields: return 431;
    case errc::chunk_overhead_too_large:
    case errc::body_too_large: return 413;
    case errc::expectation_failed: return 417;
    case errc::head_timeout:
    case errc::body_timeout: return 408;
    default: return 400;
    }
}

// One line a developer can act on, without the peer's bytes in it.
std::string_view message_of(errc e) noexcept;

const std::error_category& http_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), http_category()}; }

} // namespace fastserve::http

template <>
struct std::is_error_code_enum<fastserve::http::errc> : std::true_type {};
