#include "target.hpp"

#include <charconv>
#include <cstring>

#include <arpa/inet.h>

namespace load {

std::string read_target(std::string_view url, target& to) {
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme)) return "the URL must begin with http://";
    url.remove_prefix(scheme.size());
    const std::size_t slash = url.find('/');
    const std::string_view authority = url.substr(0, slash);
    to.path = slash == std::string_view::npos ? "/" : url.substr(slash);
    if (to.path.find_first_of(" #\r\n") != std::string::npos) return "the URL's path has what no request may have";
    to.host = authority;

    std::string_view host = authority, port;
    const std::size_t bracket = authority.find(']'), colon = authority.rfind(':');
    if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
        host = authority.substr(0, colon);
        port = authority.substr(colon + 1);
    }
    std::uint16_t number = 80;
    if (host.size() != authority.size()) {
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
        if (error != std::errc{} || end != port.data() + port.size() || number == 0)
            return "the URL's port must be 1 to 65535";
    }

    if (host == "localhost") host = "127.0.0.1";
    if (bracket != std::string_view::npos) {
        sockaddr_in6 six{};
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(number);
        const std::string text(host.substr(1, host.size() - 2));
        if (!host.starts_with('[') || !host.ends_with(']') || inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1)
            return "the URL's host is no address";
        if (!IN6_IS_ADDR_LOOPBACK(&six.sin6_addr)) return "only loopback is loaded: 127.0.0.0/8 or [::1]";
        std::memcpy(&to.address, &six, sizeof six);
        to.address_size = sizeof six;
        return {};
    }
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(number);
    if (inet_pton(AF_INET, std::string(host).c_str(), &four.sin_addr) != 1)
        return "the URL's host must be an address: 127.0.0.1, [::1]";
    if (ntohl(four.sin_addr.s_addr) >> 24 != 127) return "only loopback is loaded: 127.0.0.0/8 or [::1]";
    std::memcpy(&to.address, &four, sizeof four);
    to.address_size = sizeof four;
    return {};
}

sockaddr_in source_address(unsigned i) noexcept {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i % 65536u);
    return a;
}

} // namespace load
