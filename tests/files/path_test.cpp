#include <fastserve/files/path.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace path_test {
namespace {

using namespace fastserve::files;

struct row {
    std::string_view encoded, text;
    bool directory;
};

TEST(LocalPath, Decodes) {
    constexpr row rows[] = {
        {"", "", true},
        {"a", "a", false},
        {"a/", "a", true},
        {"a/b.css", "a/b.css", false},
        {"a/b/", "a/b", true},
        {"a%20b/%C3%A9.txt", "a b/\xC3\xA9.txt", false},
        {"%61", "a", false},
        {"a+b", "a+b", false},
        {"%25%32%66", "%2f", false}, // decoded once
        {"a..", "a..", false},
        {"a../b", "a../b", false},
        {"a.", "a.", false},
        {"%3Ca%3E:*?|", "<a>:*?|", false},
        {"a\x01", "a\x01", false},
        {".well-known/acme", ".well-known/acme", false},
        {".well-known/", ".well-known", true},
        {"%2ewell-known", ".well-known", false},
    };
    for (const row& r : rows) {
        const local_path path(r.encoded);
        EXPECT_EQ(path.error(), errc::ok) << r.encoded;
        EXPECT_EQ(path.text(), r.text) << r.encoded;
        EXPECT_EQ(path.names_directory(), r.directory) << r.encoded;
        EXPECT_EQ(std::string_view(path.c_str()), r.text.empty() ? "." : r.text) << r.encoded;
    }
}

TEST(LocalPath, Refuses) {
    using namespace std::string_view_literals;
    for (const auto text : {"%"sv, "a%"sv, "a%4"sv, "a%4g"sv, "%00"sv, "a%00.html"sv, "a\0b"sv, "a/%zz/b"sv})
        EXPECT_EQ(local_path(text).error(), errc::bad_encoding) << text;
    for (const auto text :
         {"/"sv,     "/a"sv,    "//"sv,     "a//b"sv,   "a//"sv, "."sv,      "./a"sv,    "a/."sv,         "a/./"sv,
          ".."sv,    "../a"sv,  "a/.."sv,   "a/../b"sv, "%2e"sv, "%2e%2E"sv, ".%2e/a"sv, "a/%2e./b"sv,    "a%2fb"sv,
          "a%2Fb"sv, "..%2f"sv, "..%2fa"sv, "%2fetc"sv, "%2f"sv, "a\\b"sv,   "a%5cb"sv,  "..%5c..%5ca"sv, "..\\a"sv})
        EXPECT_EQ(local_path(text).error(), errc::no_such_name) << text;
    for (const auto text : {".a"sv, ".htaccess"sv, "a/.git/config"sv, "%2egit/config"sv, ".../a"sv, "..a"sv, ".a/"sv,
                            ".well-knowne"sv, "a/.well-known/b"sv, ".well-known/.git"sv, ".Well-Known/a"sv})
        EXPECT_EQ(local_path(text).error(), errc::hidden) << text;
    for (const auto text : {"a//b"sv, "a/b/../c"sv, "a/.b"sv, "a/%"sv}) {
        const local_path path(text);
        EXPECT_EQ(path.text(), "");
        EXPECT_EQ(std::string_view(path.c_str()), ".");
    }
}

TEST(LocalPath, HiddenNamesByRule) {
    const path_rules all{.hidden = true}, none{.hidden = false, .well_known = false};
    EXPECT_EQ(local_path("a/.git/config", all).text(), "a/.git/config");
    EXPECT_EQ(local_path("...", all).text(), "...");
    EXPECT_EQ(local_path("a/../b", all).error(), errc::no_such_name);
    EXPECT_EQ(local_path(".", all).error(), errc::no_such_name);
    EXPECT_EQ(local_path(".well-known/a", none).error(), errc::hidden);
}

TEST(LocalPath, LongestNamesAndPaths) {
    const std::string name(longest_name, 'x');
    EXPECT_EQ(local_path(name).text(), name);
    EXPECT_EQ(local_path(name + 'x').error(), errc::no_such_name);
    std::string encoded;
    for (std::size_t i = 0; i < longest_name; ++i) encoded += "%78";
    EXPECT_EQ(local_path(encoded).text(), name);
    EXPECT_EQ(local_path(encoded + "%78").error(), errc::no_such_name);

    std::string path;
    for (int i = 0; i < 7; ++i) path += name + '/';
    path += std::string(100, 'y') + '/' + std::string(155, 'z');
    ASSERT_EQ(path.size(), longest_path);
    EXPECT_EQ(local_path(path).text(), path);
    EXPECT_EQ(local_path(path + 'z').error(), errc::no_such_name);
    EXPECT_EQ(local_path(std::string(100'000, '/')).error(), errc::no_such_name);
    EXPECT_EQ(local_path(std::string(100'000, '%')).error(), errc::no_such_name);
    std::string deep;
    for (int i = 0; i < 1'000; ++i) deep += "a/";
    EXPECT_EQ(local_path(deep).text(), deep.substr(0, deep.size() - 1));
    for (int i = 0; i < 1'000; ++i) deep += "a/";
    EXPECT_EQ(local_path(deep).error(), errc::no_such_name);
}

TEST(LocalPath, NamesBesideAndBelow) {
    const std::string name(longest_name, 'x');
    local_path path("a/");
    path.add_name("index.html");
    EXPECT_EQ(path.text(), "a/index.html");
    path.add_suffix(".br");
    EXPECT_EQ(std::string_view(path.c_str()), "a/index.html.br");
    path.cut(1);
    EXPECT_EQ(std::string_view(path.c_str()), "a");

    local_path root("");
    root.add_name("index.html");
    EXPECT_EQ(std::string_view(root.c_str()), "index.html");

    std::string longest;
    while (longest.size() + longest_name + 1 <= longest_path) longest += name + '/';
    local_path full(longest.substr(0, longest_path));
    ASSERT_EQ(full.error(), errc::ok);
    full.add_name(name);
    full.add_suffix(".1234567");
    EXPECT_TRUE(std::string_view(full.c_str()).ends_with("/" + name + ".1234567"));
}

} // namespace
} // namespace path_test
