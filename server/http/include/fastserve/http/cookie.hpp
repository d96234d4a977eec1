// Cookies: reading what a browser sends, and writing what it is to keep (RFC 6265 4, and the prefixes, SameSite and
// Partitioned that browsers have added to it).
//
// Every function here is pure, allocates nothing, throws nothing, and may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace fastserve::http {

struct head;

// ---- the request

// Views are parts of the field's value.
struct cookie_pair {
    std::string_view name;
    std::string_view value;
};

// The pairs of one Cookie field, in order:
//
//     cookie_reader cookies(value);
//     for (cookie_pair p; cookies.next(p);) ...
//
// Read as browsers write it: pairs are parted by ';' and nothing else, and blanks around a pair are no part of it. A
// name ends at the first '='. What has no '=' or no name is skipped: it names no cookie. Beyond that nothing is judged:
// a name may be no token, and a value may hold any byte that a field can.
//
// A value is what was sent, quotes included. A quote hides no ';': browsers keep a quoted value as it is and end it
// there, and a server that reads on can be made to take another cookie's bytes for those of a quoted one.
class cookie_reader {
public:
    explicit cookie_reader(std::string_view field_value) noexcept : rest_(field_value) {}

    // False at the end, with `out` as it was.
    bool next(cookie_pair& out) noexcept;

private:
    std::string_view rest_;
};

// The value of the first cookie of that name, byte by byte, in one field or in all Cookie lines of a head. The first
// one is that of the longest path (RFC 6265 5.4). Nothing if there is none, or if `name` is empty.
std::optional<std::string_view> find_cookie(std::string_view field_value, std::string_view name) noexcept;
std::optional<std::string_view> find_cookie(const head& of, std::string_view name) noexcept;

// The value without the quotes around it, if it has both; for clients that quote what they were not given in quotes.
std::string_view unquoted_cookie(std::string_view value) noexcept;

// ---- the response

// Why a cookie is not written: each of these would be dropped by a browser, be read as something else, or end up
// elsewhere in the head.
enum class cookie_errc : std::uint8_t {
    ok = 0,
    bad_name,      // no token
    bad_value,     // a byte that is no cookie-octet; quotes are allowed around the whole
    bad_domain,    // no dotted name of letters, digits, '-' and '_'
    bad_path,      // does not begin with '/', or has ';' or a byte that is no visible ASCII
    bad_prefix,    // "__Secure-" without secure; "__Host-" without secure and the path "/", or with a domain
    needs_secure,  // SameSite=None or Partitioned without Secure
    pair_too_long, // name and value have more than longest_cookie_pair bytes
    attribute_too_long,
};

inline constexpr std::uint8_t cookie_errc_count = static_cast<std::uint8_t>(cookie_errc::attribute_too_long) + 1;

// One line a developer can act on, without the cookie's bytes in it.
std::string_view message_of(cookie_errc e) noexcept;

const std::error_category& cookie_category() noexcept;

inline std::error_code make_error_code(cookie_errc e) noexcept {
    return {static_cast<int>(e), cookie_category()};
}

enum class same_site : std::uint8_t { unset, strict, lax, none };

// A Set-Cookie field before it is written. Views must be good while it is.
struct set_cookie {
    std::string_view name{};
    std::string_view value{}; // cookie-octets: visible ASCII without '"', ',', ';' and '\'. Encode what else there is.
    // How long the browser keeps it; for its session if neither is there. Zero or less: it is removed at once (name,
    // domain and path must be those it was set with). `max_age` prevails where both are there.
    std::optional<std::chrono::seconds> max_age{};
    std::optional<std::int64_t> expires{}; // Unix time, in seconds
    std::string_view domain{};             // empty: only the host that sets it
    std::string_view path{};               // empty: that of the request, up to its last '/'
    bool secure = false;
    bool http_only = false;
    http::same_site same_site = http::same_site::unset;
    bool partitioned = false;
};

// What browsers take; a longer pair or attribute makes them drop it silently.
inline constexpr std::size_t longest_cookie_pair = 4096;
inline constexpr std::size_t longest_cookie_attribute = 1024;
// Room for any value of Set-Cookie that write_set_cookie writes.
inline constexpr std::size_t longest_set_cookie = longest_cookie_pair + 2 * longest_cookie_attribute + 256;

struct written_cookie {
    cookie_errc error = cookie_errc::ok;
    std::size_t size = 0; // of what is in `out`; 0 with an error
};

// Writes the value of a Set-Cookie field. With an error, `out` is as it was. No byte of the cookie can add an attribute
// or a field: what could is refused, not encoded, so that what is read back is what was given.
written_cookie write_set_cookie(const set_cookie& cookie, char (&out)[longest_set_cookie]) noexcept;

} // namespace fastserve::http

template <>
struct std::is_error_code_enum<fastserve::http::cookie_errc> : std::true_type {};
