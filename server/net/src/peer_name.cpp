#include <fastserve/net/peer_name.hpp>

#include <cstring>

#include <netinet/in.h>

namespace fastserve::net {

peer_name peer_name::from(const sockaddr_storage& s, socklen_t size) noexcept {
    peer_name p;
    if (size >= sizeof(sockaddr_in) && s.ss_family == AF_INET) {
        sockaddr_in in;
        std::memcpy(&in, &s, sizeof in);
        p.kind = address::kind::v4;
        p.port = ntohs(in.sin_port);
        std::memcpy(p.ip.data(), &in.sin_addr, 4);
    } else if (size >= sizeof(sockaddr_in6) && s.ss_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, &s, sizeof in);
        p.port = ntohs(in.sin6_port);
        static constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        if (std::memcmp(&in.sin6_addr, mapped, sizeof mapped) == 0) {
            p.kind = address::kind::v4;
            std::memcpy(p.ip.data(), reinterpret_cast<const char*>(&in.sin6_addr) + sizeof mapped, 4);
        } else {
            p.kind = address::kind::v6;
            p.scope = in.sin6_scope_id;
            std::memcpy(p.ip.data(), &in.sin6_addr, 16);
        }
    } else if (s.ss_family == AF_UNIX) {
        p.kind = address::kind::unix_path;
    }
    return p;
}

address peer_name::to_address() const {
    switch (kind) {
    case address::kind::v4:
        return address::v4({ip[0], ip[1], ip[2], ip[3]}, port);
    case address::kind::v6:
        return address::v6(ip, port, scope);
    case address::kind::unix_path:
        return address::unix_path({});
    default:
        return {};
    }
}

std::uint64_t peer_name::key() const noexcept {
    return to_address().peer_key();
}

} // namespace fastserve::net
