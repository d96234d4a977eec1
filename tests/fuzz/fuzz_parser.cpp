// The parser of heads: every scan level says what the scalar one says, however the bytes are cut and wherever they lie;
// and what it calls complete is well formed.
//
// Input: one byte with the number of cuts (low bits) and a choice of limits, two bytes a cut, the text.
#include "fuzz.hpp"

#include <fastserve/http/head_parser.hpp>

#include <string_view>
#include <vector>

namespace {

namespace http = fastserve::http;
using http::parse_status;

constexpr std::string_view welcome = "\r\n\r\na: b\r\n";
constexpr std::string_view unwelcome = std::string_view("\0\n#\xff ", 5);

std::vector<http::field_line> lines(4096);

struct subject {
    http::head head;
    http::head_parser parser;
    parse_status status = parse_status::need_more;

    explicit subject(const http::limits& bounds) {
        head.use_storage({lines.data(), static_cast<std::size_t>(bounds.head_fields)});
    }
};

// One number for all that a head says, and where: two parses agree if theirs are equal.
class digest {
public:
    explicit digest(const subject& s) {
        add(static_cast<unsigned>(s.status));
        add(static_cast<unsigned>(s.parser.error()));
        if (s.status != parse_status::complete) return;
        const http::head& h = s.head;
        for (const std::uint64_t n :
             {std::uint64_t{h.size}, static_cast<std::uint64_t>(h.method), std::uint64_t{h.version_minor},
              static_cast<std::uint64_t>(h.body), static_cast<std::uint64_t>(h.form), std::uint64_t{h.secure_target},
              std::uint64_t{h.keep_alive}, std::uint64_t{h.expect_continue}, std::uint64_t{h.has_upgrade},
              std::uint64_t{h.has_query}, std::uint64_t{h.has_percent}, h.content_length, h.present, h.repeated})
            add(n);
        for (const std::string_view part : {h.method_text(), h.target(), h.path(), h.query(), h.host()}) add(part);
        for (const http::field_line& line : h.fields) {
            add(h.name(line));
            add(h.value(line));
            add(static_cast<unsigned>(line.id));
        }
        for (std::uint8_t f = 1; f < http::field_count; ++f)
            if (const auto value = h.find(static_cast<http::field>(f))) add(*value);
    }
    friend bool operator==(const digest&, const digest&) = default;

private:
    void add(std::uint64_t n) { hash_ = (hash_ ^ n) * 0x9e3779b97f4a7c15U + (hash_ >> 29); }
    void add(std::string_view text) {
        add(text.size());
        for (const char c : text) add(static_cast<unsigned char>(c));
    }
    std::uint64_t hash_ = 0;
};

digest parse_whole(std::string_view text, const http::limits& bounds, std::string_view filler) {
    fuzz::exact_copy copy(text, http::parse_padding, filler);
    subject s(bounds);
    s.status = s.parser.parse(copy.data(), text.size(), s.head, bounds);
    return digest(s);
}

// Each piece sees fresh memory, as when a head moves between buffers. The copies stay: a finished head has views.
digest parse_pieces(std::string_view text, const std::vector<std::size_t>& cuts, const http::limits& bounds) {
    std::vector<fuzz::exact_copy> copies;
    subject s(bounds);
    for (std::size_t i = 0; i <= cuts.size() && s.status == parse_status::need_more; ++i) {
        const std::size_t size = i == cuts.size() ? text.size() : std::min(text.size(), cuts[i]);
        copies.emplace_back(text.substr(0, size), http::parse_padding, i % 2 ? welcome : unwelcome);
        s.status = s.parser.parse(copies.back().data(), size, s.head, bounds);
    }
    return digest(s);
}

digest parse_bytes(std::string_view text, const http::limits& bounds) {
    fuzz::exact_copy copy(text, http::parse_padding, welcome);
    subject s(bounds);
    std::size_t size = 0;
    while (s.status == parse_status::need_more && size < text.size())
        s.status = s.parser.parse(copy.data(), ++size, s.head, bounds);
    if (s.status == parse_status::complete) fuzz::require(s.head.size == size, "a head is complete with its last byte");
    return digest(s);
}

bool clean(std::string_view text) {
    return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void inspect(std::string_view text, const http::limits& bounds) {
    fuzz::exact_copy copy(text, http::parse_padding, welcome);
    subject s(bounds);
    s.status = s.parser.parse(copy.data(), text.size(), s.head, bounds);
    fuzz::require((s.status == parse_status::error) == (s.parser.error() != http::errc::ok), "an error has a name");
    fuzz::require(s.status != parse_status::error || http::status_of(s.parser.error()) >= 400, "and a status");
    if (s.status != parse_status::complete) return;

    const http::head& h = s.head;
    fuzz::require(h.size <= text.size() && h.size <= bounds.head_bytes, "a head is no longer than it may be");
    fuzz::require(text.substr(0, h.size).ends_with("\r\n\r\n"), "a head ends with an empty line");
    fuzz::require(h.fields.size() <= bounds.head_fields, "no more lines than allowed");
    fuzz::require(!h.method_text().empty() && h.method != http::verb::unknown, "there is a method");
    fuzz::require(!h.target().empty() && h.target().size() <= bounds.target_bytes && clean(h.target()), "and a target");
    for (const char c : h.target())
        fuzz::require(http::is_target_char(static_cast<unsigned char>(c)), "made of its bytes");
    fuzz::require(h.has_percent == (h.target().find('%') != std::string_view::npos), "encoding is noticed");
    fuzz::require(h.version_minor == 0 || !h.host().empty() || h.has(http::field::host), "1.1 has a host");
    for (const http::field_line& line : h.fields) {
        const std::string_view name = h.name(line), value = h.value(line);
        fuzz::require(!name.empty() && clean(name) && name.find_first_of(" \t:") == name.npos, "a name is a token");
        fuzz::require(clean(value), "a value is one line");
        fuzz::require(value.empty() || (value.front() != ' ' && value.front() != '\t' && value.back() != ' ' &&
                                        value.back() != '\t'),
                      "without white space around it");
        fuzz::require(line.id == http::find_field(name), "a known name is known");
    }
    const bool length = h.has(http::field::content_length), coding = h.has(http::field::transfer_encoding);
    fuzz::require(!(length && coding), "a body is framed once");
    fuzz::require((h.body == http::framing::length) == length && (h.body == http::framing::chunked) == coding,
                  "a body is framed as its fields say");
    fuzz::require(!coding || h.version_minor == 1, "1.0 knows no codings");
    fuzz::require(!h.expect_continue || (h.version_minor == 1 && h.body != http::framing::none), "and no expectations");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const unsigned options = in.byte();
    const auto cuts = fuzz::take_cuts(options, in);
    http::limits bounds;
    if (options & 8) bounds.head_bytes = 128;
    if (options & 16) bounds.head_fields = 3;
    if (options & 32) bounds.target_bytes = 20;
    const std::string_view text = in.rest();

    http::use(http::scan_level::scalar);
    inspect(text, bounds);
    const digest expected = parse_whole(text, bounds, welcome);
    using enum http::scan_level;
    for (const http::scan_level level : {scalar, sse2, ssse3, avx2, avx512, neon}) {
        if (!http::use(level)) continue;
        fuzz::require(parse_whole(text, bounds, unwelcome) == expected, "the levels agree");
        fuzz::require(parse_pieces(text, cuts, bounds) == expected, "pieces give what the whole gives");
    }
    if (text.size() < 4096) fuzz::require(parse_bytes(text, bounds) == expected, "so do bytes");
    return 0;
}
