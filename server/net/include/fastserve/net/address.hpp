// Where a server listens and who its peer is: an IP address with a port, a Unix socket, or an inherited descriptor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>
#include <sys/socket.h>

#include <fastserve/net/error.hpp>

namespace fastserve::net {

template <class T>
using result = boost::system::result<T>;

// A value, compared by what it names. An IPv4-mapped IPv6 address is never held: it is the IPv4 address it maps.
class address {
public:
    enum class kind : std::uint8_t { none, v4, v6, unix_path, descriptor };

    address() noexcept = default;

    // Reads the text of --listen:
    //   127.0.0.1:8080   [::1]:8080   [fe80::1%eth0]:8080   port 0 lets the kernel choose
    //   [::]:8080        all interfaces, IPv6 and IPv4; :8080 is short for it
    //   localhost:8080   127.0.0.1; no other name is accepted, because a listener must not depend on a resolver
    //   unix:/run/x.sock, unix:@name (abstract namespace), fd:3 (a listening socket handed down by the parent)
    // Errors: the errc values above path_not_socket.
    static result<address> parse(std::string_view text);

    // From what accept, getsockname or getpeername wrote; kind::none for any other family.
    static address from_sockaddr(const sockaddr* from, socklen_t size);

    static address v4(std::array<std::uint8_t, 4> ip, std::uint16_t port) noexcept;
    // A mapped address becomes an IPv4 one. `scope` is the index of the interface of a link-local address.
    static address v6(const std::array<std::uint8_t, 16>& ip, std::uint16_t port, std::uint32_t scope = 0) noexcept;
    // Empty: an unnamed socket, as the peers of a Unix listener are. A leading '@' names the abstract namespace.
    static address unix_path(std::string path);
    static address descriptor(int fd) noexcept;

    kind type() const noexcept { return kind_; }
    bool is_ip() const noexcept { return kind_ == kind::v4 || kind_ == kind::v6; }
    // 0.0.0.0 or [::].
    bool is_any() const noexcept;
    // 0 unless is_ip().
    std::uint16_t port() const noexcept { return port_; }
    // The same host at another port.
    address at_port(std::uint16_t port) const;
    // As parse() reads it: with the '@' of an abstract name. Empty unless kind::unix_path.
    const std::string& path() const noexcept { return path_; }
    // -1 unless kind::descriptor.
    int fd() const noexcept { return kind_ == kind::descriptor ? static_cast<int>(scope_) : -1; }

    // AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC for the others.
    int family() const noexcept;
    // Fills what bind and connect take, and returns its size: 0 for kind::none, kind::descriptor and a path that does
    // not fit (parse() refuses those).
    socklen_t to_sockaddr(sockaddr_storage& to) const noexcept;

    // The form parse() reads. An unnamed Unix socket is "unix:", kind::none is "-".
    std::string to_string() const;
    // What a person can click to reach a listener at this address: never 0.0.0.0, which is shown as 127.0.0.1, nor
    // [::], which is shown as localhost. What has no http URL is shown as to_string().
    std::string url() const;

    // Who counts as one peer: all of an IPv4 address, the /64 network of an IPv6 one (a single host owns at least that
    // much), never the port. All Unix peers are one.
    std::uint64_t peer_key() const noexcept;

    friend bool operator==(const address&, const address&) = default;

private:
    std::array<std::uint8_t, 16> ip_{}; // network order; IPv4 is in the first four bytes
    std::uint32_t scope_ = 0;           // v6: interface index; descriptor: its number
    std::uint16_t port_ = 0;            // host order
    kind kind_ = kind::none;
    std::string path_;
};

} // namespace fastserve::net
