#include <fastserve/net/error.hpp>

#include <fastserve/http/error_category.hpp>

namespace fastserve::net {

std::string_view message_of(errc e) noexcept {
    switch (e) {
    case errc::ok:
        return "success";
    case errc::bad_address:
        return "not an address: write HOST:PORT, [V6]:PORT, unix:PATH or fd:NUMBER";
    case errc::missing_port:
        return "the address has no port: write HOST:PORT";
    case errc::bad_port:
        return "the port is not a number";
    case errc::port_out_of_range:
        return "the port is above 65535";
    case errc::unbracketed_v6:
        return "an IPv6 address stands in brackets: write [::1]:8080";
    case errc::host_not_literal:
        return "the host is neither an IP address nor localhost: names are not resolved";
    case errc::unknown_interface:
        return "no such network interface";
    case errc::bad_path:
        return "the path of a Unix socket is empty or holds a NUL";
    case errc::path_too_long:
        return "the path of a Unix socket is longer than 107 bytes";
    case errc::bad_descriptor:
        return "not the number of a descriptor: write fd:3";
    case errc::path_not_socket:
        return "the path is taken by a file that is not a socket, which is left alone";
    case errc::not_a_socket:
        return "the inherited descriptor is not an open socket";
    case errc::not_a_stream:
        return "the inherited descriptor is not a TCP or Unix stream socket";
    case errc::not_listening:
        return "the inherited socket does not listen";
    case errc::cannot_group:
        return "only an IP address can be shared by a group of listeners";
    }
    return "unknown error";
}

const std::error_category& net_category() noexcept {
    static const http::error_category<errc> instance("fastserve.net");
    return instance;
}

} // namespace fastserve::net
