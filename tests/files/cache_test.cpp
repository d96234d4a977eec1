#include <fastserve/files/cache.hpp>

#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cache_test {
namespace {

using namespace fastserve::files;
using files_test::temporary_folder;
namespace http = fastserve::http;

folder opened_folder(const temporary_folder& at, folder_options options = {}) {
    folder f;
    EXPECT_EQ(f.open(at.path().c_str(), std::move(options)), std::error_code());
    return f;
}

coding_order accepting(std::string_view field) {
    http::coding_preferences p;
    p.add(field);
    return coding_order(p);
}

// The bytes in memory; "-" when they are not.
std::string bytes_of(const cached& c) {
    if (!c.bytes) return "-";
    EXPECT_EQ(c.at.what, found::file);
    EXPECT_FALSE(c.at.fd);
    EXPECT_EQ(c.at.content.state.size, c.bytes->size());
    return *c.bytes;
}

TEST(Cache, KeepsSmallFiles) {
    const temporary_folder t;
    t.file("a.txt", "hello");
    t.file("index.html", "home");
    const folder f = opened_folder(t);
    cache c;
    EXPECT_EQ(bytes_of(c.find(f, "a.txt", {}, 0)), "hello");
    EXPECT_EQ(c.misses(), 1U);
    const cached again = c.find(f, "a.txt", {}, 999);
    EXPECT_EQ(bytes_of(again), "hello");
    EXPECT_EQ(again.at.content.type, "text/plain; charset=utf-8");
    EXPECT_EQ(again.at.content.state, f.find("a.txt").content.state);
    EXPECT_EQ(c.hits(), 1U);
    EXPECT_EQ(bytes_of(c.find(f, "", {}, 0)), "home");
    EXPECT_EQ(bytes_of(c.find(f, "", {}, 0)), "home");
    EXPECT_EQ(c.hits(), 2U);
    EXPECT_EQ(c.entries(), 2U);
    // Names are kept once, however they are written.
    EXPECT_EQ(bytes_of(c.find(f, "%61%2Etxt", {}, 0)), "hello");
    EXPECT_EQ(c.hits(), 3U);
    EXPECT_EQ(c.entries(), 2U);
    // And a folder is not another one.
    const folder other = opened_folder(t);
    EXPECT_EQ(bytes_of(c.find(other, "a.txt", {}, 0)), "hello");
    EXPECT_EQ(c.entries(), 3U);
    c.clear();
    EXPECT_EQ(c.bytes(), 0U);
    EXPECT_EQ(c.entries(), 0U);
    EXPECT_EQ(*again.bytes, "hello");
}

TEST(Cache, LooksOnceASecond) {
    const temporary_folder t;
    t.file("a", "old");
    const folder f = opened_folder(t);
    cache c;
    const cached old = c.find(f, "a", {}, 5'000);
    EXPECT_EQ(bytes_of(old), "old");
    t.file("new", "new");
    t.changed("new", 1'000);
    std::filesystem::rename(t.at("new"), t.at("a"));
    EXPECT_EQ(bytes_of(c.find(f, "a", {}, 5'999)), "old");
    EXPECT_EQ(bytes_of(c.find(f, "a", {}, 6'000)), "new");
    EXPECT_EQ(c.entries(), 1U);
    EXPECT_EQ(bytes_of(c.find(f, "a", {}, 6'500)), "new");
    // The look itself counts as one.
    EXPECT_EQ(bytes_of(c.find(f, "a", {}, 7'000)), "new");
    EXPECT_EQ(c.misses(), 2U);
    std::filesystem::remove(t.at("a"));
    EXPECT_EQ(bytes_of(c.find(f, "a", {}, 7'999)), "new");
    const cached gone = c.find(f, "a", {}, 8'000);
    EXPECT_EQ(gone.at.error, errc::not_found);
    EXPECT_EQ(c.entries(), 0U);
    EXPECT_EQ(c.bytes(), 0U);
    EXPECT_EQ(*old.bytes, "old");
}

TEST(Cache, WhatIsNotKept) {
    const temporary_folder t;
    t.file("large", std::string(101, 'x'));
    t.file("fits", std::string(100, 'x'));
    t.file("folder/a", "");
    const folder f = opened_folder(t);
    cache c(cache_options{.largest_file = 100});
    const cached large = c.find(f, "large", {}, 0);
    EXPECT_EQ(large.at.what, found::file);
    EXPECT_TRUE(large.at.fd);
    EXPECT_FALSE(large.bytes);
    EXPECT_EQ(c.find(f, "folder", {}, 0).at.what, found::redirect);
    EXPECT_EQ(c.find(f, "nothing", {}, 0).at.error, errc::not_found);
    EXPECT_EQ(c.find(f, "../a", {}, 0).at.error, errc::no_such_name);
    EXPECT_EQ(c.find(f, "%", {}, 0).at.error, errc::bad_encoding);
    EXPECT_EQ(c.entries(), 0U);
    EXPECT_EQ(bytes_of(c.find(f, "fits", {}, 0)), std::string(100, 'x'));
    EXPECT_EQ(bytes_of(c.find(f, "folder/a", {}, 0)), "");
    EXPECT_EQ(c.entries(), 2U);
    cache none(cache_options{.bytes = 0});
    EXPECT_TRUE(none.find(f, "fits", {}, 0).at.fd);
    EXPECT_EQ(none.entries(), 0U);
}

TEST(Cache, TheLeastRecentlyUsedMakeRoom) {
    const temporary_folder t;
    for (const char* name : {"a", "b", "c", "d"}) t.file(name, std::string(1'000, name[0]));
    const folder f = opened_folder(t);
    cache one;
    (void)one.find(f, "a", {}, 0);
    const std::size_t cost = one.bytes();
    EXPECT_GT(cost, 1'000U);
    cache c(cache_options{.bytes = 3 * cost});
    for (const char* name : {"a", "b", "c", "a", "d"}) EXPECT_EQ(bytes_of(c.find(f, name, {}, 0))[0], name[0]);
    EXPECT_EQ(c.entries(), 3U);
    EXPECT_EQ(c.bytes(), 3 * cost);
    const auto is_kept = [&](const char* name) {
        const std::uint64_t before = c.hits();
        (void)c.find(f, name, {}, 0);
        return c.hits() != before;
    };
    EXPECT_TRUE(is_kept("a"));
    EXPECT_TRUE(is_kept("c"));
    EXPECT_TRUE(is_kept("d"));
    EXPECT_FALSE(is_kept("b")); // and now it is, in the place of "a"
    EXPECT_FALSE(is_kept("a"));
    EXPECT_EQ(c.bytes(), 3 * cost);
}

TEST(Cache, FormsOfAFile) {
    const temporary_folder t;
    t.file("a.txt", "plain");
    t.file("a.txt.br", "br");
    t.file("a.txt.gz", "gz");
    t.file("a.png", "png");
    folder_options options;
    options.precompressed = [](std::string_view type) noexcept { return type.starts_with("text/"); };
    const folder f = opened_folder(t, options);
    cache c;
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(bytes_of(c.find(f, "a.txt", accepting("gzip, br"), 0)), "br");
        EXPECT_EQ(bytes_of(c.find(f, "a.txt", accepting("gzip"), 0)), "gz");
        EXPECT_EQ(bytes_of(c.find(f, "a.txt", {}, 0)), "plain");
        EXPECT_EQ(c.find(f, "a.txt", accepting("gzip"), 0).at.content.coding, http::content_coding::gzip);
        // What has one form is kept once.
        EXPECT_EQ(bytes_of(c.find(f, "a.png", accepting("gzip, br"), 0)), "png");
        EXPECT_EQ(bytes_of(c.find(f, "a.png", {}, 0)), "png");
    }
    EXPECT_EQ(c.entries(), 4U);
    EXPECT_EQ(c.misses(), 4U);
    // A form that is added is found at the next look, and one that is taken away is missed then.
    t.file("a.txt.zst", "zst");
    EXPECT_EQ(bytes_of(c.find(f, "a.txt", accepting("zstd, gzip"), 0)), "zst");
    std::filesystem::remove(t.at("a.txt.br"));
    EXPECT_EQ(bytes_of(c.find(f, "a.txt", accepting("gzip, br"), 999)), "br");
    EXPECT_EQ(bytes_of(c.find(f, "a.txt", accepting("gzip, br"), 1'000)), "gz");
}

// One file under two names is in one state, and yet is two forms.
TEST(Cache, AFormOfTheSameState) {
    const temporary_folder t;
    t.file("a.txt", "a");
    folder_options options;
    options.precompressed = [](std::string_view) noexcept { return true; };
    const folder f = opened_folder(t, options);
    cache c;
    EXPECT_EQ(c.find(f, "a.txt", accepting("gzip"), 0).at.content.coding, http::content_coding::identity);
    std::filesystem::create_hard_link(t.at("a.txt"), t.at("a.txt.gz"));
    EXPECT_EQ(c.find(f, "a.txt", accepting("gzip"), 1'000).at.content.coding, http::content_coding::gzip);
}

} // namespace
} // namespace cache_test
