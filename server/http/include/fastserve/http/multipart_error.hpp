// What can be wrong with a multipart/form-data body, and the status that answers each.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve::http {

// One value a fault. Apart from errc, because these are faults of content: the message around it is sound, and so is
// the connection.
enum class multipart_errc : std::uint8_t {
    ok = 0,
    // The Content-Type field of the request.
    not_form_data,
    bad_content_type,
    missing_boundary,
    bad_boundary,
    // The body.
    bad_delimiter,
    bad_line_end,
    bad_field,
    duplicate_field,
    missing_disposition,
    bad_disposition,
    missing_name,
    incomplete,
    // Limits.
    too_many_parts,
    head_too_large,
    too_many_fields,
    name_too_long,
    filename_too_long,
    field_too_large,
    file_too_large,
    total_too_large,
    preamble_too_large,
    epilogue_too_large,
};

inline constexpr std::uint8_t multipart_errc_count = static_cast<std::uint8_t>(multipart_errc::epilogue_too_large) + 1;

// The status code that answers `e`; 200 for multipart_errc::ok.
constexpr int status_of(multipart_errc e) noexcept {
    if (e == multipart_errc::ok) return 200;
    if (e == multipart_errc::not_form_data) return 415;
    return e >= multipart_errc::too_many_parts ? 413 : 400;
}

// One line a developer can act on, without the peer's bytes in it.
std::string_view message_of(multipart_errc e) noexcept;

const std::error_category& multipart_category() noexcept;

inline std::error_code make_error_code(multipart_errc e) noexcept {
    return {static_cast<int>(e), multipart_category()};
}

} // namespace fastserve::http

template <>
struct std::is_error_code_enum<fastserve::http::multipart_errc> : std::true_type {};
