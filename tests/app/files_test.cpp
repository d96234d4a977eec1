// Files of a folder over real sockets: what router::files() makes of the parts in server/files.
#include "site.hpp"

#include "../files/temporary_folder.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace fastserve::test {
namespace {

using files_test::temporary_folder;

constexpr std::int64_t long_ago = 1'600'000'000;

std::string file_content(std::size_t size) {
    std::string s(size, ' ');
    for (std::size_t i = 0; i < size; ++i) s[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
    return s;
}

struct served : site {
    explicit served(const files_options& o = {}) {
        put("page.html", "<p>page");
        put("css/site.css", "body{}");
        put("large.bin", file_content(1'000'000));
        put("empty.txt", "");
        put("sub/index.html", "index");
        put("plain/a.txt", "a");
        put(".secret", "secret");
        put(".well-known/security.txt", "contact");
        app.files("/assets", folder.path(), o);
        start();
    }
    void put(const std::string& name, std::string_view content) {
        folder.file(name, content);
        folder.changed(name, long_ago);
    }
    answer ask(const std::string& target, const std::string& fields = "", const std::string& method = "GET") {
        client c = connect();
        c.send(method + " " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
        return c.read(method == "HEAD");
    }
    temporary_folder folder;
};

TEST(Files, AreServedWithTypeTagAndDate) {
    served s;
    const answer page = s.ask("/assets/page.html");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.body, "<p>page");
    EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(page.field("Last-Modified"), "Sun, 13 Sep 2020 12:26:40 GMT");
    EXPECT_EQ(page.field("Accept-Ranges"), "bytes");
    EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
    const std::string tag = page.field("ETag");
    EXPECT_TRUE(tag.starts_with('"'));

    for (int again = 0; again < 2; ++again) // from the disk, and from memory
        EXPECT_EQ(s.ask("/assets/css/site.css").body, "body{}");
    EXPECT_EQ(s.ask("/assets/empty.txt").field("Content-Length"), "0");
    const answer head = s.ask("/assets/large.bin", "", "HEAD");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.field("Content-Length"), "1000000");
    EXPECT_EQ(s.ask("/assets/page.html", "If-None-Match: " + tag + "\r\n").status, 304);
    EXPECT_EQ(s.ask("/assets/page.html", "If-Match: \"other\"\r\n").status, 412);
    EXPECT_EQ(s.ask("/assets/page.html", "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n").status, 304);
    EXPECT_EQ(s.ask("/assets/page.html", "", "POST").status, 405);
}

TEST(Files, OfAnySizeComeWholeOrInRanges) {
    served s;
    const std::string content = file_content(1'000'000);
    EXPECT_TRUE(s.ask("/assets/large.bin").body == content);
    const answer middle = s.ask("/assets/large.bin", "Range: bytes=300000-699999\r\n");
    EXPECT_EQ(middle.status, 206);
    EXPECT_EQ(middle.field("Content-Range"), "bytes 300000-699999/1000000");
    EXPECT_TRUE(middle.body == content.substr(300'000, 400'000));
    const answer end = s.ask("/assets/page.html", "Range: bytes=-4\r\n");
    EXPECT_EQ(end.status, 206);
    EXPECT_EQ(end.body, "page");
    EXPECT_EQ(s.ask("/assets/page.html", "Range: bytes=7-\r\n").status, 416);
    for (const char* name : {"large.bin", "page.html"}) { // streamed, and from memory
        const answer both = s.ask(std::string("/assets/") + name, "Range: bytes=0-0,2-3\r\n");
        EXPECT_EQ(both.status, name == std::string_view("large.bin") ? 206 : 200) << "parts longer than the whole";
        if (both.status == 206) {
            EXPECT_TRUE(both.field("Content-Type").starts_with("multipart/byteranges; boundary="));
            EXPECT_NE(both.body.find("\r\n\r\n" + content.substr(2, 2) + "\r\n"), std::string::npos);
        }
    }
}

TEST(Files, OfADirectory) {
    served s({.listing = true});
    EXPECT_EQ(s.ask("/assets/sub/").body, "index");
    EXPECT_EQ(s.ask("/assets/sub?x=1").status, 308);
    EXPECT_EQ(s.ask("/assets/sub?x=1").field("Location"), "/assets/sub/?x=1");
    EXPECT_EQ(s.ask("/assets").field("Location"), "/assets/");
    const answer page = s.ask("/assets/plain/?sort=size");
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
    EXPECT_FALSE(page.field("Content-Security-Policy").empty());
    EXPECT_NE(page.body.find("a.txt"), std::string::npos);
    EXPECT_EQ(s.ask("/assets/").body.find(".secret"), std::string::npos);
    served closed;
    EXPECT_EQ(closed.ask("/assets/plain/").status, 403);
}

TEST(Files, LeadNowhereElse) {
    served s;
    s.folder.link("out", "/etc/passwd");
    s.folder.fifo("fifo");
    for (const char* target : {"/assets/none", "/assets/.secret", "/assets/../assets/page.html",
                               "/assets/..%2fassets/page.html", "/assets/%2e%2e/page.html", "/assets/css%2fsite.css",
                               "/assets/css\\site.css", "/assets//page.html", "/assets/page.html/", "/assets/out",
                               "/assets/fifo", "/assetspage.html"}) {
        const int status = s.ask(target).status;
        EXPECT_TRUE(status == 404 || status == 400) << target << " " << status;
    }
    EXPECT_EQ(s.ask("/assets/page.html%00").status, 400);
    EXPECT_EQ(s.ask("/assets/.well-known/security.txt").body, "contact");
    EXPECT_EQ(s.ask("/%61ssets/p%61ge.html").body, "<p>page");
}

TEST(Files, MayHaveAFallbackRulesAndOtherForms) {
    served s({.fallback = "page.html",
              .cache_control = {{"*.css", "max-age=60"}, {"*", "no-cache"}},
              .types = {{"css", "text/x-own"}}});
    s.put("css/site.css.br", "coded");
    EXPECT_EQ(s.ask("/assets/app/route").body, "<p>page");
    EXPECT_EQ(s.ask("/assets/app/route").field("Cache-Control"), "no-cache");
    const answer coded = s.ask("/assets/css/site.css", "Accept-Encoding: gzip, br\r\n");
    EXPECT_EQ(coded.body, "coded");
    EXPECT_EQ(coded.field("Content-Encoding"), "br");
    EXPECT_EQ(coded.field("Content-Type"), "text/x-own");
    EXPECT_EQ(coded.field("Vary"), "Accept-Encoding");
    const answer plain = s.ask("/assets/css/site.css");
    EXPECT_EQ(plain.body, "body{}");
    EXPECT_EQ(plain.field("Cache-Control"), "max-age=60");
    EXPECT_NE(plain.field("ETag"), coded.field("ETag"));
}

// What was announced cannot be sent any more: the connection ends, and the server does not.
TEST(Files, ThatShrinkWhileTheyAreSentAreCutShort) {
    served s;
    s.put("huge.bin", file_content(50'000'000));
    client c(s.port, 4096);
    c.send("GET /assets/huge.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_running + s.app.snapshot().requests != 0; }));
    std::filesystem::resize_file(s.folder.at("huge.bin"), 1'000'000);
    const answer cut = c.read();
    EXPECT_NE(cut.body.size(), 50'000'000u);
    EXPECT_EQ(s.ask("/assets/page.html").status, 200);
}

TEST(Files, OfWhatIsNoFolderAreAnErrorAtRegistration) {
    server app;
    EXPECT_THROW(app.files("/x", "/no/such/folder"), std::system_error);
    const temporary_folder folder;
    EXPECT_THROW(app.files("/x", folder.path(), {.index = {"a/b"}}), std::invalid_argument);
    app.files("/x/", folder.path());
    EXPECT_THROW(app.files("/x", folder.path()), std::invalid_argument);
    EXPECT_THROW(app.files("x", folder.path()), std::invalid_argument);
}

} // namespace
} // namespace fastserve::test
