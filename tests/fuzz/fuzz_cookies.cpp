// Cookies: what is read is what a plain cut at every ';' gives, and what is written has the attributes that were asked
// for and no others.
//
// Input: a byte of options, then lines: name, value, domain and path of a cookie to write, and behind them the value of
// a Cookie field.
#include "fuzz.hpp"

#include <fastserve/http/cookie.hpp>

#include <optional>
#include <string>
#include <utility>

namespace {

using namespace fastserve::http;

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::vector<std::string> split(std::string text) {
    std::vector<std::string> out;
    for (text += ';'; !text.empty();) {
        const std::size_t end = text.find(';');
        out.push_back(trimmed(text.substr(0, end)));
        text.erase(0, end + 1);
    }
    return out;
}

void check_reading(std::string_view text) {
    fuzz::exact_copy copy(text, 0, " ");
    const std::string_view field(copy.data(), text.size());
    cookie_reader cookies(field);
    cookie_pair p;
    std::vector<std::pair<std::string, std::string>> seen;
    for (const std::string& pair : split(std::string(text))) {
        const std::size_t equals = pair.find('=');
        if (equals == 0 || equals == pair.npos) continue;
        fuzz::require(cookies.next(p), "there is a pair");
        fuzz::require(p.name == pair.substr(0, equals) && p.value == pair.substr(equals + 1), "it is this one");
        const auto same = [&](const auto& s) { return s.first == p.name; };
        if (const auto first = std::find_if(seen.begin(), seen.end(), same); first == seen.end())
            seen.emplace_back(p.name, p.value);
    }
    fuzz::require(!cookies.next(p), "there are no more");
    for (const auto& [name, value] : seen) fuzz::require(find_cookie(field, name) == value, "the first of a name");
}

void check_writing(const set_cookie& c) {
    char out[longest_set_cookie];
    const written_cookie written = write_set_cookie(c, out);
    if (written.error != cookie_errc::ok) {
        fuzz::require(written.size == 0 && message_of(written.error) != "unknown error", "an error has a line");
        return;
    }
    const std::string text(out, written.size);
    for (const char byte : text) fuzz::require(byte >= ' ' && byte <= '~', "one line of visible text");
    std::vector<std::string> expected = {std::string(c.name) + '=' + std::string(c.value)};
    const std::vector<std::string> parts = split(text);
    if (c.max_age || c.expires) expected.push_back(parts.size() > 1 ? parts[1] : "");
    if (!c.domain.empty()) expected.push_back("Domain=" + std::string(c.domain));
    if (!c.path.empty()) expected.push_back("Path=" + std::string(c.path));
    if (c.secure) expected.emplace_back("Secure");
    if (c.http_only) expected.emplace_back("HttpOnly");
    if (c.same_site != same_site::unset)
        expected.emplace_back(c.same_site == same_site::strict ? "SameSite=Strict"
                              : c.same_site == same_site::lax  ? "SameSite=Lax"
                                                               : "SameSite=None");
    if (c.partitioned) expected.emplace_back("Partitioned");
    fuzz::require(parts == expected, "these attributes and no others");
    if (c.max_age || c.expires)
        fuzz::require(parts[1].starts_with("Max-Age=") || (parts[1].starts_with("Expires=") && parts[1].size() == 37),
                      "a lifetime");
    fuzz::require(find_cookie(text, c.name) == c.value, "it is read back");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const unsigned options = in.byte();
    set_cookie c{.name = in.until('\n'), .value = in.until('\n')};
    c.domain = in.until('\n');
    c.path = in.until('\n');
    c.secure = options & 1;
    c.http_only = options & 2;
    c.partitioned = options & 4;
    c.same_site = static_cast<same_site>(options >> 3 & 3);
    if (options & 32) c.max_age = std::chrono::seconds(options & 128 ? -1 : 3600);
    if (options & 64) c.expires = options & 128 ? -1 : 784'111'777;
    check_writing(c);
    check_reading(in.rest());
    return 0;
}
