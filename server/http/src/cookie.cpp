#include <fastserve/http/cookie.hpp>

#include <fastserve/http/date.hpp>
#include <fastserve/http/error_category.hpp>
#include <fastserve/http/head.hpp>

#include "field_chars.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace fastserve::http {
namespace {

constexpr bool is_visible(char c) noexcept {
    return c > ' ' && c <= '~';
}

constexpr bool is_cookie_octet(char c) noexcept {
    return is_visible(c) && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool is_cookie_value(std::string_view value) noexcept {
    const std::string_view octets = unquoted_cookie(value);
    return std::all_of(octets.begin(), octets.end(), is_cookie_octet);
}

// Labels parted by dots; a leading dot, which says nothing any more, is allowed (RFC 6265 4.1.2.3).
bool is_domain(std::string_view domain) noexcept {
    if (domain.starts_with('.')) domain.remove_prefix(1);
    char before = '.';
    for (const char c : domain) {
        const bool in_label = (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!in_label && (c != '.' || before == '.')) return false;
        before = c;
    }
    return before != '.';
}

bool is_path(std::string_view path) noexcept {
    return path.starts_with('/') &&
           std::all_of(path.begin(), path.end(), [](char c) { return is_visible(c) && c != ';'; });
}

// Browsers compare the prefixes without regard to case, lest a server that does be told another's cookie.
bool has_prefix(std::string_view name, std::string_view prefix) noexcept {
    return equal_ignoring_case(name.substr(0, prefix.size()), prefix);
}

cookie_errc check(const set_cookie& c) noexcept {
    if (!is_token(c.name)) return cookie_errc::bad_name;
    if (!is_cookie_value(c.value)) return cookie_errc::bad_value;
    if (!c.domain.empty() && !is_domain(c.domain)) return cookie_errc::bad_domain;
    if (!c.path.empty() && !is_path(c.path)) return cookie_errc::bad_path;
    if (c.name.size() + c.value.size() > longest_cookie_pair) return cookie_errc::pair_too_long;
    if (std::max(c.domain.size(), c.path.size()) > longest_cookie_attribute) return cookie_errc::attribute_too_long;
    if (has_prefix(c.name, "__Secure-") && !c.secure) return cookie_errc::bad_prefix;
    if (has_prefix(c.name, "__Host-") && !(c.secure && c.path == "/" && c.domain.empty()))
        return cookie_errc::bad_prefix;
    if (!c.secure && (c.same_site == same_site::none || c.partitioned)) return cookie_errc::needs_secure;
    return cookie_errc::ok;
}

char* put(char* out, std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

char* put_expires(char* out, std::int64_t unix_seconds) noexcept {
    char date[date_bytes];
    // Browsers read no year before 1601, and would then keep the cookie for the session instead of removing it.
    format_date(std::max<std::int64_t>(unix_seconds, 0), date);
    out = put(out, "; Expires=");
    return put(out, {date, date_bytes});
}

char* put_lifetime(char* out, const set_cookie& c) noexcept {
    if (!c.max_age) return c.expires ? put_expires(out, *c.expires) : out;
    // Max-Age has no zero in the grammar that servers write.
    if (c.max_age->count() <= 0) return put_expires(out, 0);
    out = put(out, "; Max-Age=");
    return std::to_chars(out, out + 20, static_cast<std::int64_t>(c.max_age->count())).ptr;
}

} // namespace

bool cookie_reader::next(cookie_pair& out) noexcept {
    while (!rest_.empty()) {
        const std::string_view all = rest_.substr(0, rest_.find(';'));
        rest_.remove_prefix(std::min(all.size() + 1, rest_.size()));
        const std::string_view pair = trim(all);
        const std::size_t equals = pair.find('=');
        if (equals == 0 || equals == std::string_view::npos) continue;
        out = {pair.substr(0, equals), pair.substr(equals + 1)};
        return true;
    }
    return false;
}

std::optional<std::string_view> find_cookie(std::string_view field_value, std::string_view name) noexcept {
    cookie_reader cookies(field_value);
    for (cookie_pair pair; cookies.next(pair);)
        if (pair.name == name) return pair.value;
    return std::nullopt;
}

std::optional<std::string_view> find_cookie(const head& of, std::string_view name) noexcept {
    std::optional<std::string_view> found;
    of.each(field::cookie, [&](std::string_view line) {
        if (!found) found = find_cookie(line, name);
    });
    return found;
}

std::string_view unquoted_cookie(std::string_view value) noexcept {
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return quoted ? value.substr(1, value.size() - 2) : value;
}

written_cookie write_set_cookie(const set_cookie& cookie, char (&out)[longest_set_cookie]) noexcept {
    // What the attributes of a fixed length need, all of them, in their longest form.
    static_assert(std::string_view("=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Domain=; Path=; Secure; HttpOnly"
                                   "; SameSite=Strict; Partitioned")
                      .size() <= 256);
    if (const cookie_errc error = check(cookie); error != cookie_errc::ok) return {error, 0};
    char* at = put(out, cookie.name);
    *at++ = '=';
    at = put(at, cookie.value);
    at = put_lifetime(at, cookie);
    if (!cookie.domain.empty()) at = put(put(at, "; Domain="), cookie.domain);
    if (!cookie.path.empty()) at = put(put(at, "; Path="), cookie.path);
    if (cookie.secure) at = put(at, "; Secure");
    if (cookie.http_only) at = put(at, "; HttpOnly");
    switch (cookie.same_site) {
    case same_site::unset: break;
    case same_site::strict: at = put(at, "; SameSite=Strict"); break;
    case same_site::lax: at = put(at, "; SameSite=Lax"); break;
    case same_site::none: at = put(at, "; SameSite=None"); break;
    }
    if (cookie.partitioned) at = put(at, "; Partitioned");
    return {cookie_errc::ok, static_cast<std::size_t>(at - out)};
}

// ---- errors

std::string_view message_of(cookie_errc e) noexcept {
    switch (e) {
    case cookie_errc::ok: return "success";
    case cookie_errc::bad_name: return "a cookie's name is a token: choose one of letters, digits, '-', '_' and '.'";
    case cookie_errc::bad_value:
        return "a cookie's value is visible ASCII without quotes, commas, semicolons and backslashes: encode what else "
               "there is, as base64url for example";
    case cookie_errc::bad_domain:
        return "a cookie's domain is a name without scheme and port: leave it empty for the host that answers";
    case cookie_errc::bad_path:
        return "a cookie's path begins with / and is visible ASCII without semicolons: percent-encode the rest";
    case cookie_errc::bad_prefix:
        return "the prefix of a cookie's name is a promise: __Secure- needs secure; __Host- needs secure, the path / "
               "and no domain";
    case cookie_errc::needs_secure:
        return "browsers take SameSite=None and Partitioned from secure cookies only: set secure, too";
    case cookie_errc::pair_too_long:
        return "browsers drop a cookie whose name and value exceed 4096 bytes: keep the data, and send a key to it";
    case cookie_errc::attribute_too_long:
        return "browsers ignore a cookie's domain or path of more than 1024 bytes: shorten it";
    }
    return "unknown error";
}

const std::error_category& cookie_category() noexcept {
    static const error_category<cookie_errc> instance("fastserve.cookie");
    return instance;
}

} // namespace fastserve::http
