// What a build has, errors, media types, entity tags.
#include "coding_site.hpp"

#include <fastserve/coding/media.hpp>

#include <set>

namespace {

using namespace coding_test;

TEST(coding_names, codings) {
    EXPECT_TRUE(available(identity));
    EXPECT_EQ(available(gzip), available(deflate)); // one library
    EXPECT_FALSE(codings().empty());
    EXPECT_EQ(to_string(fastserve::coding::gzip), "gzip");
}

TEST(coding_names, errors) {
    std::set<std::string> words;
    for (std::uint8_t i = 0; i != errc_count; ++i) {
        const std::error_code code = static_cast<errc>(i);
        words.insert(code.message());
        EXPECT_EQ(static_cast<bool>(code), i != 0);
        EXPECT_EQ(status_of(static_cast<errc>(i)) >= 400, i != 0);
    }
    EXPECT_EQ(words.size(), errc_count);
    EXPECT_FALSE(words.contains("unknown error"));
    EXPECT_EQ(std::error_code(errc::corrupt).category().name(), std::string_view("fastserve.coding"));
    EXPECT_EQ(status_of(errc::too_large), 413);
    EXPECT_EQ(status_of(errc::ratio_too_high), 413);
    EXPECT_EQ(status_of(errc::unsupported), 415);
    EXPECT_EQ(status_of(errc::trailing_garbage), 400);
    EXPECT_EQ(status_of(errc::no_memory), 503);
}

TEST(coding_names, media_types) {
    for (const auto* yes : {"text/html",
                            "text/html; charset=utf-8",
                            "TEXT/Plain",
                            "text/event-stream",
                            "text/css ;charset=utf-8",
                            "application/json",
                            "Application/JSON;charset=utf-8",
                            "application/problem+json",
                            "application/ld+json; x=y",
                            "application/javascript",
                            "application/xml",
                            "application/rss+xml",
                            "image/svg+xml",
                            "application/wasm",
                            "application/x-ndjson",
                            "application/yaml",
                            "application/vnd.oai.openapi+yaml",
                            "font/ttf",
                            "image/bmp",
                            "image/x-icon",
                            "application/vnd.ms-fontobject",
                            "application/x-www-form-urlencoded"})
        EXPECT_TRUE(worth_coding(yes)) << yes;
    for (const auto* no : {"",
                           "text",
                           "text/",
                           ";",
                           "image/png",
                           "image/jpeg",
                           "image/webp",
                           "image/avif",
                           "video/mp4",
                           "audio/mpeg",
                           "application/zip",
                           "application/gzip",
                           "application/zstd",
                           "application/pdf",
                           "application/octet-stream",
                           "font/woff2",
                           "application/jsonx",
                           "application/jso",
                           "+json",
                           "multipart/form-data; boundary=text/",
                           "application/x; a=application/json",
                           "application/a-type-with-a-name-longer-than-any-that-is-listed"})
        EXPECT_FALSE(worth_coding(no)) << no;
}

TEST(coding_names, entity_tags) {
    EXPECT_EQ(weakened("\"abc\""), "W/\"abc\"");
    EXPECT_EQ(weakened("\"\""), "W/\"\"");
    EXPECT_EQ(weakened("W/\"abc\""), "W/\"abc\"");
    for (const auto* none : {"", "\"", "abc", "\"abc", "*"}) EXPECT_EQ(weakened(none), none);
}

} // namespace
