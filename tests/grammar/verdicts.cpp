// What our parser and our decoder say about texts from standard input, for the grammar's test to compare.
//
// In: a byte 'h' (head) or 'c' (chunked body), four bytes of size, little end first, the text; again and again.
// Out: four bytes of size, then "error", "incomplete", or "complete" and what was read, a line a thing.
#include <fastserve/http/chunked.hpp>
#include <fastserve/http/head_parser.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace fastserve::http;

constexpr std::uint64_t most_body = 1 << 20;

class lines {
public:
    lines& operator<<(std::string_view text) {
        text_.append(text).append("\n");
        return *this;
    }
    lines& operator<<(std::uint64_t number) { return *this << std::string_view(std::to_string(number)); }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

std::string_view name_of(target_form form) {
    constexpr std::string_view names[] = {"origin", "absolute", "authority", "asterisk"};
    return names[static_cast<unsigned>(form)];
}
std::string_view name_of(framing body) {
    constexpr std::string_view names[] = {"none", "length", "chunked"};
    return names[static_cast<unsigned>(body)];
}

std::string judge_head(std::string text) {
    static const limits bounds;
    static std::vector<field_line> storage(bounds.head_fields);
    const std::size_t size = text.size();
    text.append(parse_padding, '\n');
    head h;
    h.use_storage(storage);
    head_parser parser;
    const parse_status status = parser.parse(text.data(), size, h, bounds);
    if (status == parse_status::need_more) return "incomplete";
    if (status == parse_status::error) return "error";
    lines out;
    out << "complete" << h.size << h.method_text() << h.target() << h.path() << h.query() << h.host() << name_of(h.form)
        << h.version_minor << name_of(h.body) << h.content_length;
    out << h.has_query << h.secure_target << h.keep_alive << h.expect_continue << h.has_upgrade;
    for (const field_line& line : h.fields) out << h.name(line) << h.value(line);
    return out.text();
}

std::string judge_body(std::string text) {
    static const limits bounds;
    chunked_decoder decoder(bounds, most_body);
    const auto r = decoder.decode(text.data(), text.size());
    if (r.status == decode_status::need_more) return "incomplete";
    if (r.status == decode_status::error) return "error";
    lines out;
    out << "complete" << r.consumed << std::string_view(text).substr(0, r.produced) << r.trailers;
    return out.text();
}

bool read(void* to, std::size_t size) {
    return std::fread(to, 1, size, stdin) == size;
}

void write(std::string_view text) {
    unsigned char size[4];
    for (unsigned i = 0; i < 4; ++i) size[i] = static_cast<unsigned char>(text.size() >> (8 * i));
    std::fwrite(size, 1, 4, stdout);
    std::fwrite(text.data(), 1, text.size(), stdout);
}

} // namespace

int main() {
    unsigned char front[5];
    while (read(front, sizeof front)) {
        std::size_t size = 0;
        for (unsigned i = 0; i < 4; ++i) size |= std::size_t{front[1 + i]} << (8 * i);
        std::string text(size, ' ');
        if (!read(text.data(), size)) return 1;
        write(front[0] == 'h' ? judge_head(std::move(text)) : judge_body(std::move(text)));
    }
    return 0;
}
