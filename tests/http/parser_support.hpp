// What the parser's tests share: parsing a text whole or in pieces, and one comparable account of the outcome.
#pragma once

#include <fastserve/http/head_parser.hpp>

#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace parser_test {

namespace http = fastserve::http;

// Everything a parse says, as text: two parses agree if and only if their accounts are equal.
struct outcome {
    http::parse_status status = http::parse_status::need_more;
    http::errc error = http::errc::ok;
    std::string account;

    friend bool operator==(const outcome&, const outcome&) = default;
    friend std::ostream& operator<<(std::ostream& out, const outcome& o) {
        return out << "status " << static_cast<int>(o.status) << ", " << http::message_of(o.error) << '\n' << o.account;
    }
};

inline std::string account_of(const http::head& h) {
    std::string s;
    const auto text = [&s](std::string_view label, std::string_view value) {
        s.append(label).append("=").append(value).append("\n");
    };
    const auto number = [&](std::string_view label, std::uint64_t value) { text(label, std::to_string(value)); };
    number("size", h.size);
    number("verb", static_cast<unsigned>(h.method));
    text("method", h.method_text());
    text("target", h.target());
    text("path", h.path());
    text("query", h.query());
    text("host", h.host());
    number("form", static_cast<unsigned>(h.form));
    number("minor", h.version_minor);
    number("body", static_cast<unsigned>(h.body));
    number("length", h.content_length);
    number("flags", h.secure_target * 16U + h.keep_alive * 8U + h.expect_continue * 4U + h.has_upgrade * 2U +
                        unsigned{h.has_query});
    number("percent", h.has_percent);
    number("present", h.present);
    number("repeated", h.repeated);
    for (const http::field_line& line : h.fields) {
        s.append(h.name(line)).append(": [").append(h.value(line)).append("] ");
        number("id", static_cast<unsigned>(line.id));
    }
    for (std::uint8_t f = 1; f < http::field_count; ++f)
        if (const auto value = h.find(static_cast<http::field>(f)))
            text(http::to_string(static_cast<http::field>(f)), *value);
    return s;
}

// A parser with a head, its storage, and limits.
struct subject {
    http::limits bounds;
    std::vector<http::field_line> lines = std::vector<http::field_line>(bounds.head_fields);
    http::head head;
    http::head_parser parser;

    subject() { head.use_storage(lines); }
    explicit subject(const http::limits& l) : bounds(l), lines(l.head_fields) { head.use_storage(lines); }

    http::parse_status feed(const char* data, std::size_t size) { return parser.parse(data, size, head, bounds); }
    outcome result(http::parse_status status) const {
        return {status, parser.error(), status == http::parse_status::complete ? account_of(head) : std::string()};
    }
};

// Parses `text` with calls that see `sizes` bytes in turn (the last one all of it); every call gets a fresh copy whose
// padding is filled with bytes that would be welcome in a head.
inline outcome parse_in(subject& s, std::string_view text, const std::vector<std::size_t>& sizes) {
    s.parser.reset();
    http::parse_status status = http::parse_status::need_more;
    std::vector<std::unique_ptr<char[]>> copies;
    for (std::size_t size : sizes) {
        copies.push_back(std::make_unique<char[]>(size + http::parse_padding));
        char* copy = copies.back().get();
        std::memcpy(copy, text.data(), size);
        for (std::size_t i = 0; i < http::parse_padding; ++i) copy[size + i] = "\r\n\r\na: b\r\n"[(i + size) % 10];
        status = s.feed(copy, size);
        if (status != http::parse_status::need_more) break;
    }
    return s.result(status);
}

inline outcome parse(std::string_view text, const http::limits& bounds = {}) {
    subject s(bounds);
    return parse_in(s, text, {text.size()});
}

inline outcome parse_bytewise(std::string_view text, const http::limits& bounds = {}) {
    subject s(bounds);
    std::vector<std::size_t> sizes(text.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i + 1;
    return parse_in(s, text, sizes);
}

// The levels this machine runs.
inline std::vector<http::scan_level> levels() {
    std::vector<http::scan_level> all;
    for (auto level : {http::scan_level::scalar, http::scan_level::sse2, http::scan_level::ssse3,
                       http::scan_level::avx2, http::scan_level::avx512, http::scan_level::neon})
        if (http::supported(level)) all.push_back(level);
    return all;
}

// Restores the level in use when a test that changes it ends.
struct level_guard {
    http::scan_level before = http::current_scan_level();
    ~level_guard() { http::use(before); }
};

inline std::string repeat(std::string_view text, std::size_t n) {
    std::string s;
    for (std::size_t i = 0; i < n; ++i) s.append(text);
    return s;
}

} // namespace parser_test
