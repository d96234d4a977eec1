#include <fastserve/http/host.hpp>

#include "chars.hpp"

#include <cstddef>
#include <cstdint>

namespace fastserve::http {
namespace {

// dec-octet "." dec-octet "." dec-octet "." dec-octet, RFC 3986 3.2.2: no leading zeros.
bool valid_ipv4(std::string_view text) noexcept {
    for (int octets = 1;; ++octets) {
        std::size_t n = 0;
        unsigned value = 0;
        for (; n < text.size() && n < 4 && chars::is(text[n], chars::digit); ++n)
            value = value * 10 + static_cast<unsigned>(text[n] - '0');
        if (n == 0 || n > 3 || value > 255 || (n > 1 && text[0] == '0')) return false;
        text.remove_prefix(n);
        if (octets == 4) return text.empty();
        if (text.empty() || text[0] != '.') return false;
        text.remove_prefix(1);
    }
}

// "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )
bool valid_ip_future(std::string_view text) noexcept {
    if (text.empty() || (text[0] | 0x20) != 'v') return false;
    std::size_t i = 1;
    while (i < text.size() && chars::is(text[i], chars::hex)) ++i;
    if (i == 1 || i + 1 >= text.size() || text[i] != '.') return false;
    for (++i; i < text.size(); ++i)
        if (!chars::is(text[i], chars::reg_name) && text[i] != ':') return false;
    return true;
}

bool valid_port(std::string_view text) noexcept {
    for (char c : text)
        if (!chars::is(c, chars::digit)) return false;
    return true;
}

} // namespace

bool valid_ipv6(std::string_view text) noexcept {
    int groups = 0;
    bool gap = false;
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
        if (text.empty()) return true;
    }
    for (;;) {
        std::size_t n = 0;
        while (n < text.size() && chars::is(text[n], chars::hex)) ++n;
        if (n < text.size() && text[n] == '.') {
            groups += 2;
            return valid_ipv4(text) && (gap ? groups <= 7 : groups == 8);
        }
        if (n == 0 || n > 4) return false;
        ++groups;
        text.remove_prefix(n);
        if (text.empty()) return gap ? groups <= 7 : groups == 8;
        if (text[0] != ':' || groups >= 8) return false;
        text.remove_prefix(1);
        if (text.starts_with(":")) {
            if (gap) return false;
            gap = true;
            text.remove_prefix(1);
            if (text.empty()) return groups <= 7;
        }
    }
}

bool valid_authority(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return false;
        const std::string_view inside = text.substr(1, end - 1), behind = text.substr(end + 1);
        if (!behind.empty() && (behind[0] != ':' || !valid_port(behind.substr(1)))) return false;
        return valid_ipv6(inside) || valid_ip_future(inside);
    }
    std::size_t i = 0;
    for (; i < text.size() && text[i] != ':'; ++i) {
        if (chars::is(text[i], chars::reg_name)) continue;
        if (text[i] != '%' || i + 2 >= text.size() || !chars::is(text[i + 1], chars::hex) ||
            !chars::is(text[i + 2], chars::hex))
            return false;
        i += 2;
    }
    return i > 0 && (i == text.size() || valid_port(text.substr(i + 1)));
}

authority split_authority(std::string_view text) noexcept {
    const std::size_t bracket = text.find(']');
    const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon == std::string_view::npos) return {text, {}};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

} // namespace fastserve::http
