// Errors, orders of codings, rules for Cache-Control.
#include <fastserve/files/cache_rules.hpp>
#include <fastserve/files/coding_order.hpp>
#include <fastserve/files/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace names_test {
namespace {

using namespace fastserve::files;
namespace http = fastserve::http;

TEST(FilesError, HasWordsAndAStatus) {
    std::set<std::string> words;
    for (std::uint8_t i = 0; i != errc_count; ++i) {
        const std::error_code code = static_cast<errc>(i);
        words.insert(code.message());
        EXPECT_EQ(static_cast<bool>(code), i != 0);
        EXPECT_EQ(status_of(static_cast<errc>(i)) >= 400, i != 0);
    }
    EXPECT_EQ(words.size(), errc_count);
    EXPECT_FALSE(words.contains("unknown error"));
    EXPECT_EQ(std::error_code(errc::hidden).category().name(), std::string_view("fastserve.files"));
    EXPECT_EQ(status_of(errc::bad_encoding), 400);
    EXPECT_EQ(status_of(errc::not_found), 404);
    EXPECT_EQ(status_of(errc::hidden), 404);
    EXPECT_EQ(status_of(errc::outside), 404);
    EXPECT_EQ(status_of(errc::denied), 403);
    EXPECT_EQ(status_of(errc::busy), 503);
    EXPECT_EQ(status_of(errc::failed), 500);
}

coding_order order_of(std::string_view accept_encoding) {
    http::coding_preferences p;
    p.add(accept_encoding);
    return coding_order(p);
}

std::string text_of(const coding_order& order) {
    std::string text;
    for (const http::content_coding c : order.codings()) text += suffix_of(c);
    return text;
}

TEST(CodingOrder, IsTheClientsAndThenOurs) {
    EXPECT_EQ(text_of(coding_order()), "");
    EXPECT_EQ(text_of(coding_order(http::coding_preferences())), "");
    EXPECT_EQ(text_of(order_of("gzip, deflate, br, zstd")), ".br.zst.gz");
    EXPECT_EQ(text_of(order_of("gzip")), ".gz");
    EXPECT_EQ(text_of(order_of("deflate")), "");
    EXPECT_EQ(text_of(order_of("*")), ".br.zst.gz"); // it likes all of them, and the original, equally
    EXPECT_EQ(text_of(order_of("gzip;q=1, br;q=0.5, zstd;q=0.7")), ".gz.zst.br");
    EXPECT_EQ(text_of(order_of("gzip;q=0, br")), ".br");
    EXPECT_EQ(text_of(order_of("br;q=0.5, identity;q=0.8, gzip")), ".gz");
    EXPECT_EQ(text_of(order_of("identity, gzip;q=0.9")), "");
    EXPECT_EQ(text_of(order_of("identity;q=0, gzip;q=0.001")), ".gz");
    EXPECT_EQ(text_of(order_of("*;q=0")), "");
}

TEST(CodingOrder, IsNumbered) {
    std::set<unsigned> numbers;
    std::set<std::string> texts;
    for (const std::string_view br : {"0", "0.2", "0.4", "0.6"})
        for (const std::string_view zstd : {"0", "0.1", "0.3", "0.5"})
            for (const std::string_view gzip : {"0", "0.15", "0.35", "0.55"}) {
                std::string field("br;q=");
                field.append(br).append(",zstd;q=").append(zstd).append(",gzip;q=").append(gzip);
                const coding_order order = order_of(field);
                numbers.insert(order.number());
                texts.insert(text_of(order));
                EXPECT_EQ(numbers.size(), texts.size()) << field;
            }
    EXPECT_EQ(texts.size(), 16U);
    EXPECT_EQ(order_of("br, gzip"), order_of("gzip;q=0.3, br;q=0.4"));
    EXPECT_NE(order_of("br, gzip"), order_of("br"));
}

TEST(CacheRules, Patterns) {
    for (const auto& [pattern, path] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"", ""},
             {"*", ""},
             {"*", "a/b"},
             {"**", "a"},
             {"a", "a"},
             {"*.html", "index.html"},
             {"*.html", "a/b.html"},
             {"*.html", ".html.html"},
             {"assets/*", "assets/a/b"},
             {"assets/*", "assets/"},
             {"*-*.js", "a/app-3f9c.js"},
             {"a*b*c", "a--b-b--c"},
             {"a*ab", "aaab"},
         })
        EXPECT_TRUE(fits(pattern, path)) << pattern << ' ' << path;
    for (const auto& [pattern, path] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"", "a"},
             {"a", ""},
             {"a", "A"},
             {"a", "ab"},
             {"b", "ab"},
             {"*.html", "a.html.gz"},
             {"*.html", "html"},
             {"assets/*", "assets"},
             {"assets/*", "x/assets/a"},
             {"a*b*c", "a-c-b"},
             {"*a*", "bcd"},
             {"?", "a"},
         })
        EXPECT_FALSE(fits(pattern, path)) << pattern << ' ' << path;
    // No more than the product of both lengths.
    std::string stars, letters(2'000, 'a');
    for (int i = 0; i < 1'000; ++i) stars += "a*";
    EXPECT_FALSE(fits(stars + 'b', letters));
    EXPECT_TRUE(fits(stars, letters));
}

TEST(CacheRules, TheFirstThatFits) {
    const std::vector<cache_rule> rules{{"*.html", "no-cache"}, {"assets/*", "max-age=31536000, immutable"}};
    EXPECT_EQ(cache_control_of(rules, "index.html"), "no-cache");
    EXPECT_EQ(cache_control_of(rules, "assets/index.html"), "no-cache");
    EXPECT_EQ(cache_control_of(rules, "assets/a.js"), "max-age=31536000, immutable");
    EXPECT_EQ(cache_control_of(rules, "a.js"), "");
    EXPECT_EQ(cache_control_of({}, "a.js"), "");
}

} // namespace
} // namespace names_test
