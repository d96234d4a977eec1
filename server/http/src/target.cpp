#include <fastserve/http/target.hpp>

#include <fastserve/http/host.hpp>

#include "chars.hpp"

#include <cstddef>

namespace fastserve::http {
namespace {

bool has_target_chars(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!chars::is(text[i], chars::target)) return false;
        if (text[i] != '%') continue;
        if (text.size() - i < 3 || !chars::is(text[i + 1], chars::hex) || !chars::is(text[i + 2], chars::hex))
            return false;
        i += 2;
    }
    return true;
}

// The length of a leading "http://" or "https://", or 0.
std::size_t scheme_size(std::string_view target) noexcept {
    constexpr std::string_view https = "https://";
    std::size_t i = 0;
    while (i < 4 && i < target.size() && chars::lower(target[i]) == https[i]) ++i;
    if (i < 4) return 0;
    if (target.substr(4, 3) == "://") return 7;
    return target.size() >= 8 && chars::lower(target[4]) == 's' && target.substr(5, 3) == "://" ? 8 : 0;
}

void split_path(std::string_view text, target_parts& out) noexcept {
    const std::size_t mark = text.find('?');
    out.path = text.substr(0, mark);
    out.has_query = mark != std::string_view::npos;
    if (out.has_query) out.query = text.substr(mark + 1);
}

} // namespace

bool is_target_char(unsigned char c) noexcept {
    return chars::table[c] & chars::target;
}

bool may_begin_target(std::string_view prefix, bool connect, bool options) noexcept {
    if (prefix.empty() || connect || prefix[0] == '/') return true;
    if (prefix[0] == '*') return options && prefix.size() == 1;
    const auto agrees = [prefix](std::string_view scheme) {
        for (std::size_t i = 0; i < prefix.size() && i < scheme.size(); ++i)
            if (chars::lower(prefix[i]) != scheme[i]) return false;
        return true;
    };
    return agrees("http://") || agrees("https://");
}

errc split_target(std::string_view target, bool connect, bool options, target_parts& out) noexcept {
    out = {};
    if (target.empty() || !has_target_chars(target)) return errc::bad_target;
    if (connect) {
        // CONNECT names a host and a port, and has no default for the latter (RFC 9112 3.2.3).
        out.form = target_form::authority;
        out.authority = target;
        return valid_authority(target) && !split_authority(target).port.empty() ? errc::ok : errc::bad_target;
    }
    if (target[0] == '/') {
        split_path(target, out);
        return errc::ok;
    }
    if (target == "*") {
        out.form = target_form::asterisk;
        out.path = target;
        return options ? errc::ok : errc::bad_target;
    }
    const std::size_t scheme = scheme_size(target);
    if (scheme == 0) return errc::bad_target;
    out.form = target_form::absolute;
    out.secure = scheme == 8;
    const std::size_t end = target.find_first_of("/?", scheme);
    out.authority = target.substr(scheme, end == std::string_view::npos ? end : end - scheme);
    if (!valid_authority(out.authority)) return errc::bad_target;
    if (end != std::string_view::npos) split_path(target.substr(end), out);
    if (out.path.empty()) {
        // OPTIONS for a URI without a path asks about the whole server (RFC 9112 3.2.4).
        out.path = options && !out.has_query ? "*" : "/";
    }
    return errc::ok;
}

} // namespace fastserve::http
