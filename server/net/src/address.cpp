#include <fastserve/net/address.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace fastserve::net {

namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t max_path = sizeof(sockaddr_un::sun_path) - 1;

// Digits and nothing else: from_chars alone would take a sign.
template <class T>
bool parse_digits(std::string_view text, T& value) noexcept {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) value = std::numeric_limits<T>::max();
    return end == text.data() + text.size();
}

errc parse_port(std::string_view text, std::uint16_t& port) noexcept {
    std::uint32_t value = 0;
    if (text.empty()) return errc::missing_port;
    if (!parse_digits(text, value)) return errc::bad_port;
    if (value > 65535) return errc::port_out_of_range;
    port = static_cast<std::uint16_t>(value);
    return errc::ok;
}

result<address> parse_unix(std::string_view path) {
    if (path.empty() || path == "@" || path.find('\0') != path.npos) return errc::bad_path;
    if (path.size() > max_path) return errc::path_too_long;
    return address::unix_path(std::string(path));
}

result<address> parse_descriptor(std::string_view number) {
    std::int32_t fd = 0;
    if (!parse_digits(number, fd) || fd == std::numeric_limits<std::int32_t>::max()) return errc::bad_descriptor;
    return address::descriptor(fd);
}

result<address> parse_v6(std::string_view host, std::uint16_t port) {
    std::uint32_t scope = 0;
    if (const std::size_t percent = host.find('%'); percent != host.npos) {
        const std::string interface(host.substr(percent + 1));
        if (!parse_digits(interface, scope)) scope = ::if_nametoindex(interface.c_str());
        if (scope == 0) return errc::unknown_interface;
        host = host.substr(0, percent);
    }
    std::array<std::uint8_t, 16> ip{};
    if (::inet_pton(AF_INET6, std::string(host).c_str(), ip.data()) != 1) return errc::bad_address;
    return address::v6(ip, port, scope);
}

result<address> parse_named(std::string_view host, std::uint16_t port) {
    if (host.empty()) return address::v6({}, port);
    if (host == "localhost") return address::v4({127, 0, 0, 1}, port);
    std::array<std::uint8_t, 4> ip{};
    if (::inet_pton(AF_INET, std::string(host).c_str(), ip.data()) == 1) return address::v4(ip, port);
    if (host.find_first_not_of("0123456789.") == host.npos) return errc::bad_address;
    return errc::host_not_literal;
}

} // namespace

result<address> address::parse(std::string_view text) {
    if (text.starts_with("unix:")) return parse_unix(text.substr(5));
    if (text.starts_with("fd:")) return parse_descriptor(text.substr(3));
    // inet_pton reads a C string: what follows a NUL must not be ignored.
    if (text.empty() || text.find_first_of(std::string_view("\0/ ", 3)) != text.npos) return errc::bad_address;

    std::string_view host, rest;
    const bool bracketed = text.front() == '[';
    if (bracketed) {
        const std::size_t end = text.find(']');
        if (end == text.npos) return errc::bad_address;
        host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else {
        const std::size_t colon = text.find(':');
        if (colon != text.rfind(':')) return errc::unbracketed_v6;
        host = text.substr(0, colon);
        rest = colon == text.npos ? std::string_view{} : text.substr(colon);
    }
    if (rest.empty()) return errc::missing_port;
    if (rest.front() != ':') return errc::bad_address;
    std::uint16_t port = 0;
    if (const errc e = parse_port(rest.substr(1), port); e != errc::ok) return e;
    return bracketed ? parse_v6(host, port) : parse_named(host, port);
}

address address::from_sockaddr(const sockaddr* from, socklen_t size) {
    // Copied out, because the bytes need not be aligned for the type they hold.
    if (size < sizeof(sa_family_t)) return {};
    sa_family_t family{};
    std::memcpy(&family, &from->sa_family, sizeof family);
    if (family == AF_INET && size >= sizeof(sockaddr_in)) {
        sockaddr_in in{};
        std::memcpy(&in, from, sizeof in);
        std::array<std::uint8_t, 4> ip{};
        std::memcpy(ip.data(), &in.sin_addr, ip.size());
        return v4(ip, ntohs(in.sin_port));
    }
    if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
        sockaddr_in6 in{};
        std::memcpy(&in, from, sizeof in);
        std::array<std::uint8_t, 16> ip{};
        std::memcpy(ip.data(), &in.sin6_addr, ip.size());
        return v6(ip, ntohs(in.sin6_port), in.sin6_scope_id);
    }
    if (family == AF_UNIX) {
        constexpr std::size_t head = offsetof(sockaddr_un, sun_path);
        if (size <= head) return unix_path({});
        std::string path(reinterpret_cast<const char*>(from) + head, std::min<std::size_t>(size - head, max_path + 1));
        if (path.front() == '\0') {
            path.front() = '@';
            return unix_path(std::move(path));
        }
        path.resize(std::min(path.find('\0'), path.size())); // the size may count the terminator
        return unix_path(std::move(path));
    }
    return {};
}

address address::v4(std::array<std::uint8_t, 4> ip, std::uint16_t port) noexcept {
    address a;
    std::copy(ip.begin(), ip.end(), a.ip_.begin());
    a.port_ = port;
    a.kind_ = kind::v4;
    return a;
}

address address::v6(const std::array<std::uint8_t, 16>& ip, std::uint16_t port, std::uint32_t scope) noexcept {
    if (std::equal(mapped_prefix.begin(), mapped_prefix.end(), ip.begin()))
        return v4({ip[12], ip[13], ip[14], ip[15]}, port);
    address a;
    a.ip_ = ip;
    a.scope_ = scope;
    a.port_ = port;
    a.kind_ = kind::v6;
    return a;
}

address address::unix_path(std::string path) {
    address a;
    a.kind_ = kind::unix_path;
    a.path_ = std::move(path);
    return a;
}

address address::descriptor(int fd) noexcept {
    address a;
    a.kind_ = kind::descriptor;
    a.scope_ = static_cast<std::uint32_t>(fd);
    return a;
}

bool address::is_any() const noexcept {
    return is_ip() && std::all_of(ip_.begin(), ip_.end(), [](std::uint8_t byte) { return byte == 0; });
}

address address::at_port(std::uint16_t port) const {
    address a = *this;
    a.port_ = port;
    return a;
}

int address::family() const noexcept {
    switch (kind_) {
    case kind::v4:
        return AF_INET;
    case kind::v6:
        return AF_INET6;
    case kind::unix_path:
        return AF_UNIX;
    case kind::none:
    case kind::descriptor:
        break;
    }
    return AF_UNSPEC;
}

socklen_t address::to_sockaddr(sockaddr_storage& to) const noexcept {
    to = {};
    switch (kind_) {
    case kind::v4: {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port_);
        std::memcpy(&in.sin_addr, ip_.data(), 4);
        std::memcpy(&to, &in, sizeof in);
        return sizeof in;
    }
    case kind::v6: {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port_);
        in.sin6_scope_id = scope_;
        std::memcpy(&in.sin6_addr, ip_.data(), 16);
        std::memcpy(&to, &in, sizeof in);
        return sizeof in;
    }
    case kind::unix_path: {
        if (path_.empty() || path_.size() > max_path) return 0;
        sockaddr_un un{};
        un.sun_family = AF_UNIX;
        std::memcpy(un.sun_path, path_.data(), path_.size());
        const bool abstract = path_.front() == '@';
        if (abstract) un.sun_path[0] = '\0';
        std::memcpy(&to, &un, sizeof un);
        // An abstract name is exactly as long as the size says; a path ends in a NUL.
        return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size() + (abstract ? 0 : 1));
    }
    case kind::none:
    case kind::descriptor:
        break;
    }
    return 0;
}

namespace {

std::string ip_text(int family, const std::array<std::uint8_t, 16>& ip) {
    char text[INET6_ADDRSTRLEN] = {};
    return ::inet_ntop(family, ip.data(), text, sizeof text) ? std::string(text) : std::string();
}

} // namespace

std::string address::to_string() const {
    switch (kind_) {
    case kind::none:
        break;
    case kind::v4:
        return ip_text(AF_INET, ip_) + ':' + std::to_string(port_);
    case kind::v6: {
        std::string host = ip_text(AF_INET6, ip_);
        if (scope_ != 0) host += '%' + std::to_string(scope_);
        return '[' + host + "]:" + std::to_string(port_);
    }
    case kind::unix_path:
        return "unix:" + path_;
    case kind::descriptor:
        return "fd:" + std::to_string(fd());
    }
    return "-";
}

std::string address::url() const {
    if (!is_ip()) return to_string();
    const std::string port = ':' + std::to_string(port_);
    if (is_any()) return (kind_ == kind::v4 ? "http://127.0.0.1" : "http://localhost") + port;
    if (scope_ != 0) // RFC 6874 2: the '%' of a zone is itself percent-encoded
        return "http://[" + ip_text(AF_INET6, ip_) + "%25" + std::to_string(scope_) + ']' + port;
    return "http://" + to_string();
}

std::uint64_t address::peer_key() const noexcept {
    // The other kinds take networks under ff00::/8: a multicast address is nobody's source.
    constexpr std::uint64_t v4_keys = 0xffff'0000'0000'0000u;
    constexpr std::uint64_t unix_key = 0xfffe'0000'0000'0000u;
    std::uint64_t key = 0;
    switch (kind_) {
    case kind::v4:
        for (std::size_t i = 0; i < 4; ++i) key = key << 8 | ip_[i];
        return v4_keys | key;
    case kind::v6:
        for (std::size_t i = 0; i < 8; ++i) key = key << 8 | ip_[i];
        return key;
    case kind::unix_path:
        return unix_key;
    case kind::none:
    case kind::descriptor:
        break;
    }
    return unix_key | 1;
}

} // namespace fastserve::net
