#include <fastserve/files/media_types.hpp>

#include <fastserve/coding/media.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace media_types_test {
namespace {

using namespace fastserve::files;

TEST(MediaTypes, ExtensionsAreFound) {
    static_assert(extension_of("a.html") == "html");
    static_assert(extension_of("a/b.c/d") == "");
    constexpr std::pair<std::string_view, std::string_view> rows[] = {
        {"", ""},           {"a", ""},        {"a.", ""},           {".", ""},
        {"..", ""},         {".profile", ""}, {"dir/.profile", ""}, {".profile.txt", "txt"},
        {"a.tar.gz", "gz"}, {"dir.d/a", ""},  {"dir.d/a.JS", "JS"}, {"a/", ""},
    };
    for (const auto& [path, extension] : rows) EXPECT_EQ(extension_of(path), extension) << path;
}

TEST(MediaTypes, OfNames) {
    constexpr std::pair<std::string_view, std::string_view> rows[] = {
        {"index.html", "text/html; charset=utf-8"},
        {"INDEX.HTM", "text/html; charset=utf-8"},
        {"a/b.Css", "text/css; charset=utf-8"},
        {"a.js", "text/javascript; charset=utf-8"},
        {"a.mjs", "text/javascript; charset=utf-8"},
        {"a.json", "application/json"},
        {"a.js.map", "application/json"},
        {"a.svg", "image/svg+xml"},
        {"a.wasm", "application/wasm"},
        {"a.woff2", "font/woff2"},
        {"site.webmanifest", "application/manifest+json"},
        {"a.3g2", "video/3gpp2"},      // the first of the table
        {"a.zst", "application/zstd"}, // the last
        {"a.tar.gz", "application/gzip"},
        {"README", "application/octet-stream"},
        {".html", "application/octet-stream"},
        {"a.", "application/octet-stream"},
        {"a.htmlx", "application/octet-stream"},
        {"a.ht", "application/octet-stream"},
        {"a.0", "application/octet-stream"},
        {"a.zzz", "application/octet-stream"},
        {"a.webmanifestx", "application/octet-stream"},
        {"a.\xC3\xA9", "application/octet-stream"},
    };
    for (const auto& [name, type] : rows) EXPECT_EQ(media_type_of(name), type) << name;
    EXPECT_EQ(find_media_type(""), "");
    EXPECT_EQ(find_media_type(".html"), "");
    EXPECT_EQ(find_media_type(std::string_view("html\0", 5)), "");
    EXPECT_EQ(find_media_type(std::string(10'000, 'a')), "");
}

// The two tables know each other's spelling.
TEST(MediaTypes, OnesWorthCoding) {
    for (const char* name : {"a.html", "a.css", "a.js", "a.json", "a.svg", "a.xml", "a.wasm", "a.txt", "a.md", "a.ttf",
                             "a.otf", "a.ico", "a.webmanifest", "a.geojson", "a.yaml", "a.toml", "a.csv", "a.bmp"})
        EXPECT_TRUE(fastserve::coding::worth_coding(media_type_of(name))) << name;
    for (const char* name : {"a.png", "a.jpg", "a.webp", "a.woff2", "a.mp4", "a.zip", "a.gz", "a.pdf", "a"})
        EXPECT_FALSE(fastserve::coding::worth_coding(media_type_of(name))) << name;
}

} // namespace
} // namespace media_types_test
