// Why a path of a request leads to no file, and the status that answers each reason.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace fastserve::files {

// One value a reason. Zero is success, as in every error enum.
enum class errc : std::uint8_t {
    ok = 0,
    // What is wrong with the path itself.
    bad_encoding, // a '%' without two digits behind it, or a NUL
    no_such_name, // no file here can be called so: "", ".", "..", with '/' or '\' in it, or longer than names are
    hidden,       // a name that begins with a dot
    // What the file system says.
    not_found,
    outside,    // a link leads out of the folder, or is not followed
    not_a_file, // a device, a FIFO, a socket
    denied,
    not_listed, // a directory without an index, in a folder that is not listed
    busy,       // no descriptors, no memory, or a directory that is being renamed all the time
    failed,     // anything else: a disk that does not read
    // How it is used.
    bad_options, // an index that is no name, or a type or a Cache-Control that is no value of a field
};

inline constexpr std::uint8_t errc_count = static_cast<std::uint8_t>(errc::bad_options) + 1;

// The status code that answers a request whose path met `e`; 200 for errc::ok. What is hidden, outside or no file is as
// if it were not there, so that nobody learns what is.
constexpr int status_of(errc e) noexcept {
    switch (e) {
    case errc::ok: return 200;
    case errc::bad_encoding: return 400;
    case errc::denied:
    case errc::not_listed: return 403;
    case errc::busy: return 503;
    case errc::failed:
    case errc::bad_options: return 500;
    default: return 404;
    }
}

// One line a developer can act on, without the peer's bytes in it.
std::string_view message_of(errc e) noexcept;

const std::error_category& files_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), files_category()};
}

} // namespace fastserve::files

template <>
struct std::is_error_code_enum<fastserve::files::errc> : std::true_type {};
