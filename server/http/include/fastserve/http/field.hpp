// Names of field lines that the server, or a handler on its hot path, asks for (RFC 9110 18.4 and the Fetch metadata).
#pragma once

#include <cstdint>
#include <string_view>

namespace fastserve::http {

// Known names, in alphabetical order. At most 63 and unknown, so that a set of them is one 64-bit word. Any other name
// is carried as text and costs a comparison for each line when it is looked up.
enum class field : std::uint8_t {
    unknown = 0,
    accept,
    accept_encoding,
    accept_language,
    accept_ranges,
    access_control_request_headers,
    access_control_request_method,
    allow,
    authorization,
    cache_control,
    connection,
    content_disposition,
    content_encoding,
    content_length,
    content_range,
    content_type,
    cookie,
    date,
    etag,
    expect,
    expires,
    forwarded,
    host,
    if_match,
    if_modified_since,
    if_none_match,
    if_range,
    if_unmodified_since,
    keep_alive,
    last_modified,
    location,
    origin,
    pragma,
    priority,
    range,
    referer,
    retry_after,
    sec_ch_ua,
    sec_ch_ua_mobile,
    sec_ch_ua_platform,
    sec_fetch_dest,
    sec_fetch_mode,
    sec_fetch_site,
    sec_fetch_user,
    sec_websocket_accept,
    sec_websocket_extensions,
    sec_websocket_key,
    sec_websocket_protocol,
    sec_websocket_version,
    server,
    set_cookie,
    te,
    trailer,
    transfer_encoding,
    upgrade,
    upgrade_insecure_requests,
    user_agent,
    vary,
    via,
    www_authenticate,
    x_forwarded_for,
    x_forwarded_host,
    x_forwarded_proto,
    x_request_id,
};

inline constexpr std::uint8_t field_count = static_cast<std::uint8_t>(field::x_request_id) + 1;
static_assert(field_count <= 64, "a set of known fields is one 64-bit word");

// The customary spelling ("Content-Length"); empty for field::unknown. The view is static.
std::string_view to_string(field f) noexcept;

// The known field of that name, compared without regard to the case of ASCII letters, else field::unknown. Takes any
// bytes.
field find_field(std::string_view name) noexcept;

} // namespace fastserve::http
