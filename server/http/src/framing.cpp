#include "framing.hpp"

#include <fastserve/http/host.hpp>

#include "chars.hpp"
#include "head_builder.hpp"

#include <cstddef>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fastserve::http {
namespace {

constexpr std::uint64_t bit(field f) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(f);
}

// `lower` is spelled low.
bool equal_ignoring_case(std::string_view text, std::string_view lower) noexcept {
    if (text.size() != lower.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (chars::lower(text[i]) != lower[i]) return false;
    return true;
}

// Calls visit(member) for each member of a comma-separated list, without white space around it; skips empty ones
// (RFC 9110 5.6.1.2). A comma inside a quoted string separates too: the lists read here hold tokens.
template <class Visit>
void each_member(std::string_view list, Visit visit) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        std::string_view member = list.substr(0, comma);
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
        while (!member.empty() && chars::is(member.front(), chars::space)) member.remove_prefix(1);
        while (!member.empty() && chars::is(member.back(), chars::space)) member.remove_suffix(1);
        if (!member.empty()) visit(member);
    }
}

// Bit k set if byte k, for 32 bytes, is a letter, a digit, '-' or '.'.
std::uint32_t name_bytes(const char* at) noexcept {
#if defined(__SSE2__)
    const auto between = [](__m128i v, char low, char high) {
        return _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8(static_cast<char>(low - 1))),
                             _mm_cmplt_epi8(v, _mm_set1_epi8(static_cast<char>(high + 1))));
    };
    const auto half = [&](const char* from) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i letter = between(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
        const __m128i other = _mm_andnot_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('/')), between(v, '-', '9'));
        return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(letter, other)));
    };
    return half(at) | half(at + 16) << 16;
#else
    std::uint32_t all = 0;
    for (unsigned k = 0; k < 32; ++k) {
        const char c = chars::lower(at[k]);
        all |= std::uint32_t{(c >= 'a' && c <= 'z') || (c >= '-' && c <= '9' && c != '/')} << k;
    }
    return all;
#endif
}

// True for a name of at most 32 letters, digits, '-' and '.', perhaps with a port: nearly every Host. A value of a head
// has 32 readable bytes, so that all are looked at without a branch.
bool is_common_host(std::string_view text) noexcept {
    std::size_t size = text.size();
    while (size > 0 && chars::is(text[size - 1], chars::digit)) --size;
    size = size > 1 && text[size - 1] == ':' ? size - 1 : text.size();
    if (size == 0 || size > 32) return false;
    return static_cast<std::uint32_t>(~name_bytes(text.data()) << (32 - size)) == 0;
}

errc read_host(head& out) noexcept {
    if (!out.has(field::host)) return out.version_minor == 0 ? errc::ok : errc::missing_host;
    if (out.repeated & bit(field::host)) return errc::duplicate_host;
    const std::string_view value = *out.find(field::host);
    if (value.empty()) {
        // Right only for a target URI without an authority, which these two forms cannot rule out (RFC 9112 3.2).
        const bool may_be_empty = out.form == target_form::origin || out.form == target_form::asterisk;
        if (!may_be_empty) return errc::bad_host;
    } else if (!is_common_host(value) && !valid_authority(value)) {
        return errc::bad_host;
    }
    head_builder::set_host(out, value);
    return errc::ok;
}

errc read_length(std::string_view digits, std::uint64_t& out) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t n = 0;
    if (digits.empty()) return errc::bad_content_length;
    for (char c : digits) {
        if (!chars::is(c, chars::digit)) return errc::bad_content_length;
        const auto d = static_cast<std::uint64_t>(c - '0');
        if (n > (most - d) / 10) return errc::bad_content_length;
        n = n * 10 + d;
    }
    out = n;
    return errc::ok;
}

// Anything but "chunked" is refused; what is left to tell is whether the request was well framed with codings that are
// not known here (501, RFC 9112 6.1), or not framed at all (400, RFC 9112 6.3).
errc refuse_coding(std::string_view value) noexcept {
    bool tokens = value.find(",,") == std::string_view::npos && !value.ends_with(',') && !value.starts_with(',');
    std::size_t chunked = 0, members = 0;
    bool last_is_chunked = false;
    each_member(value, [&](std::string_view coding) {
        for (char c : coding) tokens = tokens && chars::is(c, chars::token);
        last_is_chunked = equal_ignoring_case(coding, "chunked");
        chunked += last_is_chunked;
        ++members;
    });
    return tokens && members > 1 && chunked == 1 && last_is_chunked ? errc::unknown_transfer_coding
                                                                    : errc::bad_transfer_encoding;
}

errc read_framing(head& out) noexcept {
    if (out.has(field::transfer_encoding)) {
        if (out.has(field::content_length)) return errc::length_and_chunked;
        if (out.version_minor == 0 || (out.repeated & bit(field::transfer_encoding)))
            return errc::bad_transfer_encoding;
        const std::string_view value = *out.find(field::transfer_encoding);
        if (!equal_ignoring_case(value, "chunked")) return refuse_coding(value);
        out.body = framing::chunked;
        return errc::ok;
    }
    if (out.has(field::content_length)) {
        if (out.repeated & bit(field::content_length)) return errc::duplicate_content_length;
        out.body = framing::length;
        return read_length(*out.find(field::content_length), out.content_length);
    }
    return errc::ok;
}

// 1.0 knows no expectations (RFC 9110 10.1.1).
errc read_expect(head& out) noexcept {
    if (out.version_minor == 0) return errc::ok;
    bool asked = false, unknown = false;
    out.each(field::expect, [&](std::string_view value) {
        each_member(value, [&](std::string_view member) {
            const bool is_continue = equal_ignoring_case(member, "100-continue");
            asked = asked || is_continue;
            unknown = unknown || !is_continue;
        });
    });
    if (unknown) return errc::expectation_failed;
    out.expect_continue = asked && (out.body == framing::chunked || out.content_length != 0);
    return errc::ok;
}

void read_connection(head& out) noexcept {
    if (!(out.repeated & bit(field::connection))) {
        // What browsers and proxies send, case included.
        const std::string_view value = *out.find(field::connection);
        if (value == "keep-alive" || value == "Keep-Alive") {
            out.keep_alive = true;
            return;
        }
    }
    bool close = false, keep_alive = false, upgrade = false;
    out.each(field::connection, [&](std::string_view value) {
        each_member(value, [&](std::string_view option) {
            close = close || equal_ignoring_case(option, "close");
            keep_alive = keep_alive || equal_ignoring_case(option, "keep-alive");
            upgrade = upgrade || equal_ignoring_case(option, "upgrade");
        });
    });
    out.keep_alive = !close && (out.version_minor != 0 || keep_alive);
    out.has_upgrade = upgrade && out.version_minor != 0 && out.has(field::upgrade);
}

} // namespace

errc judge_head(head& out) noexcept {
    out.body = framing::none;
    out.content_length = 0;
    out.keep_alive = out.version_minor != 0;
    out.expect_continue = out.has_upgrade = false;
    if (errc e = read_host(out); e != errc::ok) return e;

    constexpr std::uint64_t rare = bit(field::transfer_encoding) | bit(field::content_length) | bit(field::expect);
    if (out.present & rare) {
        if (errc e = read_framing(out); e != errc::ok) return e;
        if (errc e = read_expect(out); e != errc::ok) return e;
    }
    if (out.present & bit(field::connection)) read_connection(out);
    return errc::ok;
}

} // namespace fastserve::http
