// Who is at the other end of a connection.
#pragma once

#include <fastserve/net/address.hpp>

#include <array>
#include <cstdint>

#include <sys/socket.h>

namespace fastserve::net {

// Whom a connection goes to, as compactly as an idle connection must keep it.
struct peer_name {
    std::array<std::uint8_t, 16> ip{}; // IPv4 in the first four bytes
    std::uint32_t scope = 0;
    std::uint16_t port = 0;
    address::kind kind = address::kind::none;

    static peer_name from(const sockaddr_storage&, socklen_t size) noexcept;
    address to_address() const;
    // See address::peer_key().
    std::uint64_t key() const noexcept;
};

} // namespace fastserve::net
