#include "listing_text.hpp"

#include <fastserve/http/percent.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace fastserve::files {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

struct sequence {
    std::size_t size = 1;
    bool good = false; // one character that may be shown
};

// What `text`, which is not empty, begins with (RFC 3629 4, without the controls of C0, DEL and C1).
sequence first_of(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return {1, lead >= 0x20 && lead != 0x7f};
    const std::size_t size = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
    if (size == 0) return {};
    // What is overlong, a surrogate or beyond U+10FFFF shows in the second byte.
    unsigned low = 0x80, high = 0xbf;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
    if (byte(1) < low || byte(1) > high) return {};
    for (std::size_t i = 2; i < size; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf) return {};
    return {size, !(lead == 0xc2 && byte(1) < 0xa0)};
}

void put_number(std::string& out, unsigned value, std::size_t digits) {
    const std::string text = std::to_string(value);
    if (text.size() < digits) out.append(digits - text.size(), '0');
    out += text;
}

} // namespace

void put_escaped(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const sequence next = first_of(text);
        const std::string_view bytes = text.substr(0, next.size);
        text.remove_prefix(next.size);
        if (!next.good)
            out += replacement;
        else if (bytes == "&")
            out += "&amp;";
        else if (bytes == "<")
            out += "&lt;";
        else if (bytes == ">")
            out += "&gt;";
        else if (bytes == "\"")
            out += "&quot;";
        else if (bytes == "'")
            out += "&#39;";
        else
            out += bytes;
    }
}

void put_encoded(std::string& out, std::string_view name) {
    for (const char c : name) {
        if (http::is_unreserved(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += http::hex_digits[byte >> 4];
        out += http::hex_digits[byte & 15];
    }
}

void put_size(std::string& out, std::uint64_t bytes) {
    constexpr std::array<std::string_view, 7> units = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    std::size_t unit = 0;
    std::uint64_t below = 0; // 1024 times what is behind the point
    for (; bytes >= 1024; ++unit) {
        below = bytes % 1024;
        bytes /= 1024;
    }
    out += std::to_string(bytes);
    if (unit != 0 && bytes < 10) {
        out += '.';
        out += static_cast<char>('0' + below * 10 / 1024); // cut off, as the whole number is
    }
    out += units[unit];
}

void put_time(std::string& out, std::int64_t seconds) {
    constexpr std::int64_t first = -62'135'596'800, last = 253'402'300'799; // of the years 1 and 9999
    const std::chrono::sys_seconds time{std::chrono::seconds(std::clamp(seconds, first, last))};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const auto minutes = static_cast<unsigned>((time - day).count() / 60);
    std::string day_text, minute_text;
    put_number(day_text, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    day_text += '-';
    put_number(day_text, static_cast<unsigned>(date.month()), 2);
    day_text += '-';
    put_number(day_text, static_cast<unsigned>(date.day()), 2);
    put_number(minute_text, minutes / 60, 2);
    minute_text += ':';
    put_number(minute_text, minutes % 60, 2);
    out.append("<time datetime=\"").append(day_text).append("T").append(minute_text).append("Z\">");
    out.append(day_text).append(" ").append(minute_text).append("</time>");
}

} // namespace fastserve::files
