#include "multipart_head.hpp"

#include <fastserve/http/safe_filename.hpp>

#include "field_chars.hpp"

#include <cstring>

namespace fastserve::http {
namespace {

struct parameter {
    std::string_view name;
    std::string_view value; // without the quotes, escapes as they came
    bool quoted;
};

// Reads *( OWS ";" OWS [ name "=" ( quoted-string / text ) ] ), RFC 9110 5.6.6; text is up to a blank, ';' or '"'.
class parameter_reader {
public:
    explicit parameter_reader(std::string_view text) noexcept : rest_(trim(text)) {}

    // False when there is none left, or when it is malformed: then bad().
    bool next(parameter& out) noexcept {
        if (rest_.empty()) return false;
        if (rest_[0] != ';') return fail();
        while (!rest_.empty() && (rest_[0] == ';' || is_blank(rest_[0]))) rest_.remove_prefix(1);
        if (rest_.empty()) return false;
        const std::size_t equals = rest_.find('=');
        out.name = rest_.substr(0, equals);
        if (equals == rest_.npos || !is_token(out.name)) return fail();
        rest_.remove_prefix(equals + 1);
        out.quoted = rest_.starts_with('"');
        if (!(out.quoted ? take_quoted(out.value) : take_text(out.value))) return fail();
        while (!rest_.empty() && is_blank(rest_[0])) rest_.remove_prefix(1);
        return true;
    }

    bool bad() const noexcept { return bad_; }

private:
    bool fail() noexcept {
        bad_ = true;
        return false;
    }

    bool take_text(std::string_view& value) noexcept {
        value = rest_.substr(0, rest_.find_first_of("; \t\""));
        rest_.remove_prefix(value.size());
        return !value.empty();
    }

    // A backslash escapes a quote and itself alone: others stand in the names of files, written by clients that know no
    // escapes.
    bool take_quoted(std::string_view& value) noexcept {
        for (std::size_t at = 1; at < rest_.size(); ++at) {
            if (rest_[at] == '\\' && at + 1 < rest_.size() && (rest_[at + 1] == '"' || rest_[at + 1] == '\\')) {
                ++at;
            } else if (rest_[at] == '"') {
                value = rest_.substr(1, at - 1);
                rest_.remove_prefix(at + 1);
                return true;
            }
        }
        return false;
    }

    std::string_view rest_;
    bool bad_ = false;
};

// The first token of a value, and the rest.
std::string_view take_word(std::string_view& text) noexcept {
    const std::string_view word = text.substr(0, text.find_first_of("; \t"));
    text.remove_prefix(word.size());
    return word;
}

constexpr bool is_boundary_char(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
}

constexpr bool is_boundary(std::string_view text) noexcept {
    if (text.empty() || text.size() > longest_boundary || text.back() == ' ') return false;
    for (const char c : text)
        if (!is_boundary_char(c)) return false;
    return true;
}

// The byte that the first three of `text` stand for, as the HTML standard has forms written, or 0.
constexpr char decode_percent(std::string_view text) noexcept {
    if (text.size() < 3 || text[0] != '%') return 0;
    if (text[1] == '2' && text[2] == '2') return '"';
    if (text[1] == '0' && lower(text[2]) == 'd') return '\r';
    if (text[1] == '0' && lower(text[2]) == 'a') return '\n';
    return 0;
}

// Writes what a value means to `out`, at most `limit` bytes; false if there is more.
bool decode(const parameter& p, std::uint64_t limit, char* out, std::string_view& decoded) noexcept {
    std::size_t size = 0;
    for (std::size_t at = 0; at < p.value.size(); ++at) {
        if (size == limit) return false;
        char c = p.value[at];
        if (p.quoted && c == '\\' && at + 1 < p.value.size() && (p.value[at + 1] == '"' || p.value[at + 1] == '\\')) {
            c = p.value[++at];
        } else if (const char d = p.quoted ? decode_percent(p.value.substr(at)) : '\0'; d != '\0') {
            c = d;
            at += 2;
        }
        out[size++] = c;
    }
    decoded = {out, size};
    return true;
}

multipart_errc read_disposition(std::string_view value, const multipart_limits& l, char* memory,
                                part_head& out) noexcept {
    if (!equal_ignoring_case(take_word(value), "form-data")) return multipart_errc::bad_disposition;
    parameter name{}, file{};
    parameter_reader reader(value);
    for (parameter p{}; reader.next(p);) {
        if (!p.quoted && !is_token(p.value)) return multipart_errc::bad_disposition;
        parameter* const known = equal_ignoring_case(p.name, "name")       ? &name
                                 : equal_ignoring_case(p.name, "filename") ? &file
                                                                           : nullptr;
        if (!known) continue;
        if (!known->name.empty()) return multipart_errc::bad_disposition; // which one would others take?
        *known = p;
    }
    if (reader.bad()) return multipart_errc::bad_disposition;
    if (name.name.empty()) return multipart_errc::missing_name;
    if (!decode(name, l.name_bytes, memory, out.name)) return multipart_errc::name_too_long;
    if (file.name.empty()) return multipart_errc::ok;
    memory += out.name.size();
    std::string_view decoded;
    if (!decode(file, l.filename_bytes, memory, decoded)) return multipart_errc::filename_too_long;
    out.filename = decoded;
    memory += decoded.size();
    out.safe_filename = {memory, write_safe_filename(decoded, memory)};
    return multipart_errc::ok;
}

struct field_line_view {
    std::string_view name, value;
};

// The first of well-formed lines, which is then removed from them.
field_line_view take_line(std::string_view& lines) noexcept {
    const std::size_t colon = lines.find(':'), end = lines.find('\r', colon);
    const field_line_view line{lines.substr(0, colon), trim(lines.substr(colon + 1, end - colon - 1))};
    lines.remove_prefix(end + 2);
    return line;
}

} // namespace

multipart_errc find_boundary(std::string_view content_type, std::string_view& boundary) noexcept {
    std::string_view rest = trim(content_type);
    if (!equal_ignoring_case(take_word(rest), "multipart/form-data")) return multipart_errc::not_form_data;
    parameter found{};
    parameter_reader reader(rest);
    for (parameter p{}; reader.next(p);) {
        if (equal_ignoring_case(p.name, "boundary")) {
            if (!found.name.empty()) return multipart_errc::bad_boundary;
            found = p;
        } else if (!p.quoted && !is_token(p.value)) {
            return multipart_errc::bad_content_type;
        }
    }
    if (reader.bad()) return multipart_errc::bad_content_type;
    if (found.name.empty()) return multipart_errc::missing_boundary;
    // No escape has to be read: what needs one is no character of a boundary.
    if (!is_boundary(found.value)) return multipart_errc::bad_boundary;
    boundary = found.value;
    return multipart_errc::ok;
}

std::optional<std::string_view> part_head::field(std::string_view field_name) const noexcept {
    for (std::string_view rest = lines; !rest.empty();)
        if (const field_line_view line = take_line(rest); equal_ignoring_case(line.name, field_name)) return line.value;
    return std::nullopt;
}

multipart_errc read_part_head(std::string_view lines, const multipart_limits& l, char* memory,
                              part_head& out) noexcept {
    out = {};
    out.lines = lines;
    std::optional<std::string_view> disposition, type;
    while (!lines.empty()) {
        const field_line_view line = take_line(lines);
        std::optional<std::string_view>* const known = equal_ignoring_case(line.name, "content-disposition")
                                                           ? &disposition
                                                       : equal_ignoring_case(line.name, "content-type") ? &type
                                                                                                        : nullptr;
        if (!known) continue;
        if (*known) return multipart_errc::duplicate_field;
        *known = line.value;
    }
    if (!disposition) return multipart_errc::missing_disposition;
    out.content_type = type.value_or("text/plain");
    return read_disposition(*disposition, l, memory, out);
}

} // namespace fastserve::http
