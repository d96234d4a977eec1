// What the net layer itself refuses. What the kernel refuses is its errno in std::system_category.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve::net {

// One value a fault. Zero is success, as in every error enum.
enum class errc : std::uint8_t {
    ok = 0,
    // Text that should be an address.
    bad_address,
    missing_port,
    bad_port,
    port_out_of_range,
    unbracketed_v6,
    host_not_literal,
    unknown_interface,
    bad_path,
    path_too_long,
    bad_descriptor,
    // Opening a listener.
    path_not_socket,
    not_a_socket,
    not_a_stream,
    not_listening,
    cannot_group,
};

inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::cannot_group) + 1;

// One line that says what to do about it.
std::string_view message_of(errc e) noexcept;

const std::error_category& net_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), net_category()};
}

} // namespace fastserve::net

template <>
struct std::is_error_code_enum<fastserve::net::errc> : std::true_type {};
