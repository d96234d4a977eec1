#include "reply.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fastserve::test {

namespace {

constexpr std::string_view line_end = "\r\n";

bool same(std::string_view a, std::string_view b) noexcept {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Takes a line and its end; nothing if it is not whole.
std::optional<std::string_view> take_line(std::string_view& from) noexcept {
    const std::size_t size = from.find(line_end);
    if (size == std::string_view::npos) return std::nullopt;
    const std::string_view line = from.substr(0, size);
    from.remove_prefix(size + line_end.size());
    return line;
}

template <class N>
bool to_number(std::string_view s, N& n, int base = 10) noexcept {
    const auto [end, e] = std::from_chars(s.data(), s.data() + s.size(), n, base);
    return e == std::errc() && end != s.data();
}

// Lines up to an empty one.
bool take_fields(std::string_view& from, std::vector<std::pair<std::string, std::string>>& fields) {
    fields.clear();
    for (;;) {
        const auto line = take_line(from);
        if (!line) return false;
        if (line->empty()) return true;
        const std::size_t colon = std::min(line->find(':'), line->size());
        std::string_view value = line->substr(std::min(colon + 1, line->size()));
        while (value.starts_with(' ')) value.remove_prefix(1);
        fields.emplace_back(line->substr(0, colon), value);
    }
}

// Status line and fields.
bool take_head(std::string_view& from, reply& r) {
    const auto status = take_line(from);
    if (!status || status->size() < 12 || !to_number(status->substr(9, 3), r.status)) return false;
    return take_fields(from, r.fields);
}

bool take_chunks(std::string_view& from, reply& r) {
    for (;;) {
        const auto line = take_line(from);
        std::size_t size = 0;
        if (!line || !to_number(*line, size, 16)) return false;
        if (size == 0) break;
        if (from.size() < size + line_end.size()) return false;
        r.body.append(from, 0, size);
        from.remove_prefix(size + line_end.size());
    }
    return take_fields(from, r.trailers);
}

bool take_answer(std::string_view& from, bool to_head, bool ended, reply& r) {
    for (;;) {
        if (!take_head(from, r)) return false;
        if (r.status >= 200 || r.status == 101) break;
        r.interim.push_back(r.status);
    }
    if (to_head || r.status == 101 || r.status == 204 || r.status == 304) return true;
    if (same(r.field("Transfer-Encoding"), "chunked")) return take_chunks(from, r);
    if (const std::string_view length = r.field("Content-Length"); !length.empty()) {
        std::size_t size = 0;
        if (!to_number(length, size) || from.size() < size) return false;
        r.body = from.substr(0, size);
        from.remove_prefix(size);
        return true;
    }
    r.body = from;
    from = {};
    return ended;
}

} // namespace

std::string_view reply::field(std::string_view name) const noexcept {
    for (const auto& [n, value] : fields)
        if (same(n, name)) return value;
    return {};
}

std::size_t parse(std::string_view bytes, bool to_head, bool ended, reply& r) {
    std::string_view left = bytes;
    if (take_answer(left, to_head, ended, r)) return bytes.size() - left.size();
    r = {};
    return 0;
}

} // namespace fastserve::test
