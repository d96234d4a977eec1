#include <fastserve/files/folder.hpp>
#include <fastserve/files/listing.hpp>

#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace listing_test {
namespace {

using namespace fastserve::files;
using files_test::temporary_folder;
using key = listing_order::key;

std::string page_of(const temporary_folder& t, listing_order order = {}, const listing_options& options = {},
                    bool top = true, std::string_view url_path = "/files/") {
    const descriptor directory(::open(t.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::string page = "before";
    EXPECT_EQ(write_listing(directory.get(), url_path, top, order, options, page), errc::ok);
    EXPECT_TRUE(page.starts_with("before<!DOCTYPE html>"));
    EXPECT_TRUE(page.ends_with("</html>\n"));
    return page.substr(6);
}

std::string between(std::string_view text, std::string_view begin, std::string_view end) {
    const std::size_t at = text.find(begin);
    if (at == std::string_view::npos) return "?";
    text.remove_prefix(at + begin.size());
    return std::string(text.substr(0, text.find(end)));
}

// Where the links in the rows of a page lead to, in order.
std::string links_of(std::string_view page) {
    std::string links;
    for (std::size_t at; (at = page.find("<tr><td><a href=\"")) != std::string_view::npos;) {
        page.remove_prefix(at);
        links += between(page, "href=\"", "\"") + ' ';
        page.remove_prefix(1);
    }
    return links;
}

TEST(Listing, FoldersFirstAndSortedByEachColumn) {
    const temporary_folder t;
    t.file("b.txt", "12");
    t.file("A.txt", "123");
    t.file("c.txt", "1");
    t.folder("zoo");
    t.folder("Yard");
    t.changed("b.txt", 3'000);
    t.changed("A.txt", 2'000);
    t.changed("c.txt", 1'000);
    t.changed("zoo", 1'000);
    t.changed("Yard", 2'000);
    const auto links = [&](key by, bool descending) { return links_of(page_of(t, {by, descending})); };
    EXPECT_EQ(links(key::name, false), "./Yard/ ./zoo/ ./A.txt ./b.txt ./c.txt ");
    EXPECT_EQ(links(key::name, true), "./zoo/ ./Yard/ ./c.txt ./b.txt ./A.txt ");
    EXPECT_EQ(links(key::size, false), "./Yard/ ./zoo/ ./c.txt ./b.txt ./A.txt ");
    EXPECT_EQ(links(key::size, true), "./Yard/ ./zoo/ ./A.txt ./b.txt ./c.txt ");
    EXPECT_EQ(links(key::time, false), "./zoo/ ./Yard/ ./c.txt ./A.txt ./b.txt ");
    EXPECT_EQ(links(key::time, true), "./Yard/ ./zoo/ ./b.txt ./A.txt ./c.txt ");
    // A link at the head of the present column turns the order round, any other begins anew.
    const std::string page = page_of(t, {key::size, false});
    EXPECT_NE(page.find("aria-sort=\"ascending\"><a href=\"?sort=size&amp;order=desc\">"), std::string::npos);
    EXPECT_NE(page.find("<th scope=\"col\"><a href=\"?sort=time&amp;order=asc\">"), std::string::npos);
    EXPECT_NE(page_of(t, {key::time, true}).find("aria-sort=\"descending\"><a href=\"?sort=time&amp;order=asc\">"),
              std::string::npos);
}

TEST(Listing, NamesAreHarmless) {
    const temporary_folder t;
    t.file("<script>alert(1)<", "");
    t.file("\"onload='x'&amp;", "");
    t.file("a:b?c#d%41 e", "");
    t.file("caf\xC3\xA9", "");
    t.file("bad\xFFutf\xE2\x82", "");
    t.file("new\nline\x7f\xC2\x85", "");
    const std::string page = page_of(t);
    EXPECT_EQ(page.find("<script"), std::string::npos);
    EXPECT_NE(page.find("<a href=\"./%3Cscript%3Ealert%281%29%3C\"><bdi>&lt;script&gt;alert(1)&lt;</bdi></a>"),
              std::string::npos);
    EXPECT_NE(page.find("<a href=\"./%22onload%3D%27x%27%26amp%3B\"><bdi>&quot;onload=&#39;x&#39;&amp;amp;</bdi></a>"),
              std::string::npos);
    EXPECT_NE(page.find("<a href=\"./a%3Ab%3Fc%23d%2541%20e\"><bdi>a:b?c#d%41 e</bdi></a>"), std::string::npos);
    EXPECT_NE(page.find("<a href=\"./caf%C3%A9\"><bdi>caf\xC3\xA9</bdi></a>"), std::string::npos);
    const std::string unknown = "\xEF\xBF\xBD";
    EXPECT_NE(page.find("bad%FFutf%E2%82\"><bdi>bad" + unknown + "utf" + unknown + unknown + "</bdi>"),
              std::string::npos);
    EXPECT_NE(page.find("new%0Aline%7F%C2%85\"><bdi>new" + unknown + "line" + unknown + unknown + "</bdi>"),
              std::string::npos);
    // And so is the path, which is the client's.
    const std::string asked = page_of(t, {}, {}, true, "/a%20b/%3Cscript%3E/");
    EXPECT_EQ(asked.find("<script"), std::string::npos);
    EXPECT_NE(asked.find("<title>/a b/&lt;script&gt;/</title>"), std::string::npos);
    EXPECT_NE(page_of(t, {}, {}, true, "/a%zz<").find("<title>/a%zz&lt;</title>"), std::string::npos);
}

// Every link of the page leads to a file of the folder.
TEST(Listing, LinksAreFound) {
    const temporary_folder t;
    for (const char* name : {"a b", "%41", "a:b", "\xFF", "caf\xC3\xA9", "\"<>&'?#[]@!$()*+,;=~^`{|}", "-", "a."})
        t.file(name, name);
    folder f;
    ASSERT_EQ(f.open(t.path().c_str()), std::error_code());
    std::string_view page;
    const std::string links = links_of(page_of(t));
    page = links;
    int count = 0;
    for (; !page.empty(); ++count) {
        ASSERT_TRUE(page.starts_with("./"));
        const std::string_view link = page.substr(2, page.find(' ') - 2);
        EXPECT_EQ(f.find(link).what, found::file) << link;
        page.remove_prefix(link.size() + 3);
    }
    EXPECT_EQ(count, 8);
}

TEST(Listing, ShowsWhatIsServed) {
    const temporary_folder elsewhere;
    elsewhere.file("secret", "");
    const temporary_folder t;
    t.file("a", "");
    t.file(".hidden", "");
    t.file("back\\slash", "");
    t.fifo("fifo");
    t.folder("sub");
    t.link("to_a", "a");
    t.link("to_sub", "sub");
    t.link("to_fifo", "fifo");
    t.link("dead", "nothing");
    t.link("out", "../" + elsewhere.path().filename().string() + "/secret");
    t.link("absolute", elsewhere.at("secret"));
    EXPECT_EQ(links_of(page_of(t)), "./sub/ ./to_sub/ ./a ./to_a ");
    listing_options options;
    options.links = resolution::walk;
    EXPECT_EQ(links_of(page_of(t, {}, options)), "./sub/ ./a ");
    options.links = resolution::no_links;
    EXPECT_EQ(links_of(page_of(t, {}, options)), "./sub/ ./a ");
    options.names.hidden = true;
    EXPECT_EQ(links_of(page_of(t, {}, options)), "./sub/ ./.hidden ./a ");
}

TEST(Listing, SizesAndTimes) {
    const temporary_folder t;
    const auto cell = [&](std::uint64_t size, std::int64_t time) {
        t.file("a", "");
        EXPECT_EQ(::truncate(t.at("a").c_str(), static_cast<off_t>(size)), 0);
        t.changed("a", time);
        const std::string page = page_of(t);
        return between(page, "bytes\">", "</td>") + ' ' + between(page, "<time datetime=\"", "</time>");
    };
    EXPECT_EQ(cell(0, 0), "0 B 1970-01-01T00:00Z\">1970-01-01 00:00");
    EXPECT_EQ(cell(1'023, 784'111'777), "1023 B 1994-11-06T08:49Z\">1994-11-06 08:49");
    EXPECT_EQ(cell(1'024, 951'782'399), "1.0 KiB 2000-02-28T23:59Z\">2000-02-28 23:59");
    EXPECT_EQ(cell(10'239, 951'868'799), "9.9 KiB 2000-02-29T23:59Z\">2000-02-29 23:59");
    EXPECT_EQ(cell(10'240, -1), "10 KiB 1969-12-31T23:59Z\">1969-12-31 23:59");
    EXPECT_EQ(cell(1'047'552, 0).substr(0, 8), "1023 KiB");
    EXPECT_EQ(cell(1'048'576, 0).substr(0, 7), "1.0 MiB");
    EXPECT_EQ(cell(1'610'612'736, 0).substr(0, 7), "1.5 GiB");
    t.file("a", "1");
    EXPECT_NE(page_of(t).find("<td title=\"1 byte\">1 B</td>"), std::string::npos);
}

TEST(Listing, LargeAndEmptyOnes) {
    const temporary_folder t;
    EXPECT_NE(page_of(t).find("<p>Nothing is here.</p>"), std::string::npos);
    EXPECT_EQ(links_of(page_of(t)), "");
    EXPECT_EQ(links_of(page_of(t, {}, {}, false)), "../ ");
    for (int i = 0; i < 10; ++i) t.file(std::to_string(i), "");
    listing_options options;
    options.most_entries = 10;
    EXPECT_EQ(page_of(t, {}, options).find("<p>"), std::string::npos);
    options.most_entries = 9;
    const std::string page = page_of(t, {}, options);
    EXPECT_NE(page.find("<p>There is more here: only 9 are shown.</p>"), std::string::npos);
    EXPECT_EQ(links_of(page).size(), 9 * 4U);
}

// It asks for nothing from elsewhere, and runs nothing.
TEST(Listing, ThePageIsItself) {
    const temporary_folder t;
    t.file("a", "");
    const std::string page = page_of(t);
    for (const char* no : {"http:", "https:", "//", "url(", "@import", "<script", "<link", "<img", "onclick"})
        EXPECT_EQ(page.find(no), std::string::npos) << no;
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(page.find("<meta charset=\"utf-8\">"), std::string::npos);
}

TEST(Listing, OrdersAreRead) {
    EXPECT_EQ(parse_listing_order(""), (listing_order{key::name, false}));
    EXPECT_EQ(parse_listing_order("sort=size"), (listing_order{key::size, false}));
    EXPECT_EQ(parse_listing_order("sort=time&order=desc"), (listing_order{key::time, true}));
    EXPECT_EQ(parse_listing_order("order=desc&sort=name&x"), (listing_order{key::name, true}));
    EXPECT_EQ(parse_listing_order("&&sort=tim&order=DESC&"), (listing_order{key::name, false}));
    EXPECT_EQ(parse_listing_order("order=desc&order=asc"), (listing_order{key::name, false}));
}

TEST(Listing, WhatIsNoDirectory) {
    const temporary_folder t;
    t.file("a", "");
    const descriptor file(::open(t.at("a").c_str(), O_RDONLY | O_CLOEXEC));
    std::string page = "before";
    EXPECT_EQ(write_listing(file.get(), "/", true, {}, {}, page), errc::not_found);
    EXPECT_EQ(write_listing(-1, "/", true, {}, {}, page), errc::failed);
    EXPECT_EQ(page, "before");
}

} // namespace
} // namespace listing_test
