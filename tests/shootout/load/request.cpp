#include "request.hpp"

#include <algorithm>

#include <strings.h>

namespace load {

namespace {

bool is_named(std::string_view field, std::string_view name) noexcept {
    return field.size() > name.size() && field[name.size()] == ':' &&
           ::strncasecmp(field.data(), name.data(), name.size()) == 0;
}

} // namespace

std::string write_request(const request_parts& parts, bool last) {
    const auto given = [&parts](std::string_view name) {
        return std::any_of(parts.fields.begin(), parts.fields.end(),
                           [name](const std::string& field) { return is_named(field, name); });
    };
    std::string out = parts.method + ' ' + parts.path + " HTTP/1.1\r\n";
    if (!given("Host")) out += "Host: " + parts.host + "\r\n";
    if (parts.browser)
        out += "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Firefox/115.0\r\n"
               "Accept: text/html,*/*;q=0.8\r\n"
               "Accept-Language: en-US,en;q=0.5\r\n"
               "Accept-Encoding: gzip, deflate, br\r\n"
               "Cache-Control: max-age=0\r\n";
    for (const std::string& field : parts.fields)
        if (!last || !is_named(field, "Connection")) out += field + "\r\n";
    if (last)
        out += "Connection: close\r\n";
    else if (parts.browser && !given("Connection"))
        out += "Connection: keep-alive\r\n";
    if (parts.has_body) out += "Content-Length: " + std::to_string(parts.body_bytes) + "\r\n";
    if (parts.browser) {
        const std::string_view cookie = "Cookie: s=";
        const std::size_t size = out.size() + cookie.size() + 4;
        if (size > browser_head_bytes) return {};
        out += cookie;
        for (std::size_t i = size; i < browser_head_bytes; ++i) out += static_cast<char>('a' + i * 7 % 26);
        out += "\r\n";
    }
    out += "\r\n";
    out.append(parts.body_bytes, 'x');
    return out;
}

bool is_field(std::string_view field) noexcept {
    const std::size_t colon = field.find(':');
    return colon != 0 && colon != std::string_view::npos &&
           field.substr(0, colon).find_first_of(" \t") == std::string_view::npos &&
           field.find_first_of("\r\n") == std::string_view::npos && field.find('\0') == std::string_view::npos;
}

} // namespace load
