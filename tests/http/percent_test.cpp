#include <fastserve/http/percent.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace fastserve::http {
namespace {

std::optional<std::string> decode(std::string_view in) {
    std::string out(in.size(), '!');
    const auto size = percent_decode(in, out.data());
    if (!size) return std::nullopt;
    out.resize(*size);
    return out;
}

std::optional<std::string> normal(std::string_view in) {
    std::string scratch(in.size(), '!');
    const auto out = normal_path(in, scratch.data());
    if (!out) return std::nullopt;
    return std::string(*out);
}

constexpr std::array<std::string_view, 11> malformed = {"%",    "a%",    "%4",   "a%4", "%g0",  "%0g",
                                                        "%%41", "%4%31", "% 41", "%00", "a%00b"};

TEST(percent_decode, decodes_triples_and_nothing_else) {
    EXPECT_EQ(decode(""), "");
    EXPECT_EQ(decode("plain"), "plain");
    EXPECT_EQ(decode("a%20b"), "a b");
    EXPECT_EQ(decode("%61%62%63"), "abc");
    EXPECT_EQ(decode("a+b"), "a+b");
    EXPECT_EQ(decode("%2b%2B"), "++");
    EXPECT_EQ(decode("%2F%2f"), "//");
    EXPECT_EQ(decode("%E2%82%AC%ff"), "\xE2\x82\xAC\xFF");
    EXPECT_EQ(decode("%2541"), "%41") << "decoded once only";
}

TEST(percent_decode, knows_every_octet) {
    constexpr std::string_view upper = "0123456789ABCDEF", lower = "0123456789abcdef";
    for (int octet = 1; octet < 256; ++octet) {
        const auto high = static_cast<std::size_t>(octet / 16), low = static_cast<std::size_t>(octet % 16);
        const std::string want(1, static_cast<char>(octet));
        EXPECT_EQ(decode(std::string{'%', upper[high], upper[low]}), want);
        EXPECT_EQ(decode(std::string{'%', lower[high], lower[low]}), want);
    }
}

TEST(percent_decode, refuses_what_is_malformed_and_nul) {
    for (const std::string_view in : malformed) EXPECT_EQ(decode(in), std::nullopt) << in;
}

TEST(percent_decode, works_in_place) {
    std::string s = "/x%2Fy%20z";
    const auto size = percent_decode(s, s.data());
    ASSERT_TRUE(size);
    s.resize(*size);
    EXPECT_EQ(s, "/x/y z");
}

TEST(normal_path, leaves_an_unencoded_path_where_it_is) {
    const std::string_view path = "/a/b+c";
    EXPECT_EQ(normal_path(path, nullptr)->data(), path.data());
}

TEST(normal_path, unifies_what_is_equivalent_and_keeps_what_is_not) {
    EXPECT_EQ(normal("/%61bc"), "/abc");
    EXPECT_EQ(normal("/%7Euser/%2D%2e%5f"), "/~user/-._");
    EXPECT_EQ(normal("/a%2fb"), "/a%2Fb") << "an encoded slash splits nothing";
    EXPECT_EQ(normal("/%c3%a9"), "/%C3%A9");
    EXPECT_EQ(normal("/%3a:%40@"), "/%3A:%40@") << "a reserved octet and its triple differ (RFC 3986 2.2)";
    EXPECT_EQ(normal("/%2541"), "/%2541");
    EXPECT_EQ(normal("/%2e%2e/x"), "/../x") << "dot segments are not resolved";
}

TEST(normal_path, refuses_what_percent_decode_refuses) {
    for (const std::string_view in : malformed) EXPECT_EQ(normal(in), std::nullopt) << in;
}

TEST(normal_path, is_its_own_normal_form_and_means_the_same) {
    for (int octet = 1; octet < 256; ++octet) {
        const std::string_view digits = "0123456789abcdef";
        const std::string in = {'/', '%', digits[static_cast<std::size_t>(octet / 16)],
                                digits[static_cast<std::size_t>(octet % 16)]};
        const auto once = normal(in);
        ASSERT_TRUE(once);
        EXPECT_EQ(normal(*once), once);
        EXPECT_EQ(decode(*once), decode(in));
    }
}

} // namespace
} // namespace fastserve::http
