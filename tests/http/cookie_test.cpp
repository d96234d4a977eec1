#include <fastserve/http/cookie.hpp>

#include <fastserve/http/head_parser.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cookie_cases {
namespace {

using namespace fastserve::http;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

// "name=value" of each pair, parted by '|'.
std::string read(std::string_view field_value) {
    std::string all;
    cookie_reader cookies(field_value);
    for (cookie_pair p; cookies.next(p);) {
        if (!all.empty()) all += '|';
        all.append(p.name).append("=").append(p.value);
    }
    return all;
}

TEST(Cookie, IsReadAsBrowsersWriteIt) {
    struct {
        std::string_view field, pairs;
    } const rows[] = {
        {"", ""},
        {"a=1", "a=1"},
        {"a=1; b=2", "a=1|b=2"},
        {"a=1;b=2", "a=1|b=2"},
        {" a=1 ;\t b=2\t; ", "a=1|b=2"},
        {"a=1; a=2; A=3", "a=1|a=2|A=3"},
        {"a=", "a="},
        {"a=b=c==", "a=b=c=="},
        {"a= 1", "a= 1"},
        {"a =1", "a =1"},
        {";;; ;a=1;;", "a=1"},
        {"a", ""},
        {"=", ""},
        {"=1", ""},
        {" =1; b=2", "b=2"},
        {"secret; a=1; =x; b", "a=1"},
        {"a=\"x y\"", "a=\"x y\""},
        {"a=\"x;b=y\"", "a=\"x|b=y\""},
        {"a=\"x; b=2; c=y\"", "a=\"x|b=2|c=y\""},
        {"a=1, b=2", "a=1, b=2"},
        {"$Version=1; a=1; $Path=/", "$Version=1|a=1|$Path=/"},
        {"a=caf\xC3\xA9", "a=caf\xC3\xA9"},
        {"na me=1; (x)=2", "na me=1|(x)=2"},
        {"a=\t1", "a=\t1"},
        {"a=1\0; b=2"sv, "a=1\0|b=2"sv},
    };
    for (const auto& row : rows) EXPECT_EQ(read(row.field), row.pairs) << row.field;
}

TEST(Cookie, IsFoundByItsName) {
    constexpr std::string_view field = "a=1; b=; a=2; ab=3; c; =4; d=\"5\"; e f=6";
    EXPECT_EQ(find_cookie(field, "a"), "1");
    EXPECT_EQ(find_cookie(field, "b"), "");
    EXPECT_EQ(find_cookie(field, "ab"), "3");
    EXPECT_EQ(find_cookie(field, "d"), "\"5\"");
    EXPECT_EQ(find_cookie(field, "e f"), "6");
    for (const char* none : {"A", "c", "", "f", "a=1", " a", "a=1; b"})
        EXPECT_EQ(find_cookie(field, none), std::nullopt);
}

TEST(Cookie, IsFoundInTheFirstLineThatHasIt) {
    const std::string text =
        "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nX: b=0\r\ncookie:b=2; a=3\r\nCOOKIE: c=4\r\n\r\n" +
        std::string(parse_padding, ' ');
    std::vector<field_line> lines(16);
    head h;
    h.use_storage(lines);
    head_parser parser;
    ASSERT_EQ(parser.parse(text.data(), text.size() - parse_padding, h, limits{}), parse_status::complete);
    EXPECT_EQ(find_cookie(h, "a"), "1");
    EXPECT_EQ(find_cookie(h, "b"), "2");
    EXPECT_EQ(find_cookie(h, "c"), "4");
    EXPECT_EQ(find_cookie(h, "d"), std::nullopt);
}

TEST(Cookie, LosesItsQuotesOnlyInPairs) {
    for (const auto& [sent, value] : {std::pair{"\"a\"", "a"},
                                      {"\"\"", ""},
                                      {"\"", "\""},
                                      {"\"a", "\"a"},
                                      {"a\"", "a\""},
                                      {"", ""},
                                      {"a", "a"},
                                      {"\"a\"b\"", "a\"b"}})
        EXPECT_EQ(unquoted_cookie(sent), value) << sent;
}

// The value of the field, or what is wrong.
std::string write(const set_cookie& c) {
    char out[longest_set_cookie];
    std::fill(std::begin(out), std::end(out), '~');
    const written_cookie written = write_set_cookie(c, out);
    if (written.error == cookie_errc::ok) return {out, written.size};
    EXPECT_EQ(written.size, 0U);
    EXPECT_TRUE(std::all_of(std::begin(out), std::end(out), [](char byte) { return byte == '~'; }));
    return std::string("error: ").append(message_of(written.error));
}

std::string refused(cookie_errc e) {
    return std::string("error: ").append(message_of(e));
}

TEST(SetCookie, IsWrittenWithItsAttributes) {
    EXPECT_EQ(write({.name = "a", .value = "1"}), "a=1");
    EXPECT_EQ(write({.name = "a"}), "a=");
    EXPECT_EQ(write({.name = "a", .value = "\"x\""}), "a=\"x\"");
    EXPECT_EQ(write({.name = "!#$%&'*+-.^_`|~", .value = "!#$%&'()*+-./:<=>?@[]^_`{|}~"}),
              "!#$%&'*+-.^_`|~=!#$%&'()*+-./:<=>?@[]^_`{|}~");
    EXPECT_EQ(write({.name = "a", .value = "1", .max_age = 3600s}), "a=1; Max-Age=3600");
    EXPECT_EQ(write({.name = "a", .max_age = 1h, .expires = 0}), "a=; Max-Age=3600");
    EXPECT_EQ(write({.name = "a", .max_age = std::chrono::seconds::max()}), "a=; Max-Age=9223372036854775807");
    EXPECT_EQ(write({.name = "a", .expires = 784'111'777}), "a=; Expires=Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(write({.name = "a", .expires = std::numeric_limits<std::int64_t>::max()}),
              "a=; Expires=Fri, 31 Dec 9999 23:59:59 GMT");
    for (const set_cookie& gone : {set_cookie{.name = "a", .max_age = 0s},
                                   {.name = "a", .max_age = -1s},
                                   {.name = "a", .expires = 0},
                                   {.name = "a", .max_age = 0s, .expires = 784'111'777},
                                   {.name = "a", .max_age = std::chrono::seconds::min()},
                                   {.name = "a", .expires = std::numeric_limits<std::int64_t>::min()}})
        EXPECT_EQ(write(gone), "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(write({.name = "a", .domain = "example.com"}), "a=; Domain=example.com");
    EXPECT_EQ(write({.name = "a", .domain = ".x-1.Example_a"}), "a=; Domain=.x-1.Example_a");
    EXPECT_EQ(write({.name = "a", .path = "/a%20b/?,=\"x\""}), "a=; Path=/a%20b/?,=\"x\"");
    EXPECT_EQ(write({.name = "a", .same_site = same_site::strict}), "a=; SameSite=Strict");
    EXPECT_EQ(write({.name = "a", .same_site = same_site::lax}), "a=; SameSite=Lax");
    EXPECT_EQ(write({.name = "a", .secure = true, .same_site = same_site::none}), "a=; Secure; SameSite=None");
    EXPECT_EQ(write({.name = "__Host-id",
                     .value = "x",
                     .max_age = 60s,
                     .path = "/",
                     .secure = true,
                     .http_only = true,
                     .same_site = same_site::lax,
                     .partitioned = true}),
              "__Host-id=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax; Partitioned");
    EXPECT_EQ(write({.name = "__Secure-id", .domain = "a.b", .secure = true}), "__Secure-id=; Domain=a.b; Secure");
    EXPECT_EQ(write({.name = "__Host", .path = "/x"}), "__Host=; Path=/x") << "not the prefix";
}

TEST(SetCookie, IsRefusedWhenItCouldInject) {
    const auto name = [](std::string_view v) { return write({.name = v}); };
    for (const std::string_view bad : {""sv, " "sv, "a b"sv, "a="sv, "a;b"sv, "a\r\nX: y"sv, "a\0"sv, "\"a\""sv,
                                       "a,b"sv, "caf\xC3\xA9"sv, "a\x7f"sv, "a/b"sv})
        EXPECT_EQ(name(bad), refused(cookie_errc::bad_name)) << bad;
    const auto value = [](std::string_view v) { return write({.name = "a", .value = v}); };
    for (const std::string_view bad :
         {"a b"sv, "a;b"sv, "a; HttpOnly"sv, "a\r\nX: y"sv, "a\0"sv, "\t"sv, "a,b"sv, "a\\b"sv, "\""sv, "a\"b"sv,
          "\"a"sv, "a\""sv, "\"a b\""sv, "\"a;b\""sv, "\"\"\""sv, "caf\xC3\xA9"sv, "\x7f"sv, " a"sv, "a "sv})
        EXPECT_EQ(value(bad), refused(cookie_errc::bad_value)) << bad;
    const auto domain = [](std::string_view v) { return write({.name = "a", .domain = v}); };
    for (const std::string_view bad : {"."sv, ".."sv, "..a"sv, "a..b"sv, "a."sv, "a;b"sv, "a b"sv, "a\n"sv, "a\0"sv,
                                       "a/b"sv, "a:80"sv, "[::1]"sv, "a,b"sv, "\xC3\xA9.fr"sv, "*"sv})
        EXPECT_EQ(domain(bad), refused(cookie_errc::bad_domain)) << bad;
    const auto path = [](std::string_view v) { return write({.name = "a", .path = v}); };
    for (const std::string_view bad : {"a"sv, "a/"sv, " /"sv, "/;"sv, "/; Secure"sv, "/\r\nX: y"sv, "/\0"sv, "/a b"sv,
                                       "/ "sv, "/\xC3\xA9"sv, "/\x7f"sv, "*"sv})
        EXPECT_EQ(path(bad), refused(cookie_errc::bad_path)) << bad;
}

TEST(SetCookie, IsRefusedWhenBrowsersWouldDropIt) {
    const std::string refusal = refused(cookie_errc::bad_prefix);
    for (const char* name : {"__Host-", "__Host-a", "__host-a", "__HOST-a"}) {
        EXPECT_EQ(write({.name = name, .path = "/"}), refusal);
        EXPECT_EQ(write({.name = name, .secure = true}), refusal);
        EXPECT_EQ(write({.name = name, .path = "/x", .secure = true}), refusal);
        EXPECT_EQ(write({.name = name, .domain = "a.b", .path = "/", .secure = true}), refusal);
    }
    for (const char* name : {"__Secure-", "__Secure-a", "__secure-a"}) EXPECT_EQ(write({.name = name}), refusal);
    EXPECT_EQ(write({.name = "a", .same_site = same_site::none}), refused(cookie_errc::needs_secure));
    EXPECT_EQ(write({.name = "a", .partitioned = true}), refused(cookie_errc::needs_secure));
}

TEST(SetCookie, IsAsLongAsBrowsersTake) {
    const std::string longest(longest_cookie_pair - 1, 'v'), longer = longest + 'v';
    EXPECT_EQ(write({.name = "a", .value = longest}), "a=" + longest);
    EXPECT_EQ(write({.name = "a", .value = longer}), refused(cookie_errc::pair_too_long));
    EXPECT_EQ(write({.name = longer}), longer + '=');
    EXPECT_EQ(write({.name = longer + 'v'}), refused(cookie_errc::pair_too_long));
    const std::string path = '/' + std::string(longest_cookie_attribute - 1, 'p');
    const std::string domain(longest_cookie_attribute, 'd');
    EXPECT_EQ(write({.name = "a", .path = path}), "a=; Path=" + path);
    EXPECT_EQ(write({.name = "a", .path = path + 'p'}), refused(cookie_errc::attribute_too_long));
    EXPECT_EQ(write({.name = "a", .domain = domain}), "a=; Domain=" + domain);
    EXPECT_EQ(write({.name = "a", .domain = domain + 'd'}), refused(cookie_errc::attribute_too_long));
    const std::string all = write({.name = "a",
                                   .value = longest,
                                   .expires = 0,
                                   .domain = domain,
                                   .path = path,
                                   .secure = true,
                                   .http_only = true,
                                   .same_site = same_site::strict,
                                   .partitioned = true});
    EXPECT_TRUE(all.ends_with("; Partitioned"));
    EXPECT_LE(all.size(), longest_set_cookie);
}

// Whatever bytes go in: what comes out is one line, has as many attributes as were asked for, and is read back.
TEST(SetCookie, WritesWhatIsReadBack) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    constexpr std::string_view alphabet = "ab/.-=;\",\\ \r\n\t\0_%\x7f\xff__Host-"sv;
    const auto some = [&](std::size_t most) {
        std::string text(random() % (most + 1), '\0');
        for (char& c : text) c = alphabet[random() % alphabet.size()];
        return text;
    };
    int written = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = some(2), value = some(3), domain = some(1), path = some(2);
        const std::string out = write({.name = name, .value = value, .domain = domain, .path = path});
        if (out.starts_with("error: ")) continue;
        ++written;
        EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](char c) { return c >= ' ' && c <= '~'; }));
        EXPECT_EQ(std::count(out.begin(), out.end(), ';'), !domain.empty() + !path.empty());
        EXPECT_EQ(find_cookie(out, name), value) << out;
    }
    EXPECT_GT(written, 200);
}

TEST(CookieError, EachHasALineOfItsOwn) {
    std::set<std::string_view> lines;
    for (std::uint8_t i = 0; i < cookie_errc_count; ++i) {
        const auto e = static_cast<cookie_errc>(i);
        EXPECT_TRUE(lines.insert(message_of(e)).second) << message_of(e);
        EXPECT_EQ(std::error_code(e).message(), message_of(e));
        EXPECT_EQ(static_cast<bool>(std::error_code(e)), e != cookie_errc::ok);
    }
    EXPECT_FALSE(lines.contains("unknown error"));
    EXPECT_EQ(message_of(static_cast<cookie_errc>(cookie_errc_count)), "unknown error");
    EXPECT_STREQ(cookie_category().name(), "fastserve.cookie");
}

} // namespace
} // namespace cookie_cases
