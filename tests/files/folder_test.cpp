#include <fastserve/files/folder.hpp>

#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace folder_test {
namespace {

using namespace fastserve::files;
using files_test::no_root, files_test::temporary_folder;
namespace http = fastserve::http;

constexpr resolution ways[] = {resolution::within, resolution::no_links, resolution::walk};

folder opened_folder(const temporary_folder& at, folder_options options = {}) {
    folder f;
    EXPECT_EQ(f.open(at.path().c_str(), std::move(options)), std::error_code());
    return f;
}

std::string content_of(const finding& f) {
    std::string text(static_cast<std::size_t>(f.content.state.size) + 1, '\0');
    const read_result read = read_at(f.fd.get(), 0, text);
    EXPECT_EQ(read.error, errc::ok);
    text.resize(read.size);
    return text;
}

// The content, or what happened instead, with the status.
std::string ask(const folder& f, std::string_view path, const coding_order& accepts = {}) {
    const finding found_there = f.find(path, accepts);
    switch (found_there.what) {
    case found::file: return content_of(found_there);
    case found::directory: return "<directory>";
    case found::redirect: return "<redirect>";
    case found::nothing:
        return std::to_string(status_of(found_there.error)) + ": " + std::string(message_of(found_there.error));
    }
    return {};
}

bool is_refused(const folder& f, std::string_view path, errc why) {
    const finding there = f.find(path);
    return there.what == found::nothing && there.error == why && !there.fd;
}

coding_order accepting(std::string_view field) {
    http::coding_preferences p;
    p.add(field);
    return coding_order(p);
}

TEST(Folder, ServesFilesAndIndexes) {
    const temporary_folder t;
    t.file("index.html", "<p>home");
    t.file("a.txt", "hello");
    t.file("a b/\xC3\xA9.txt", "accents");
    t.file("docs/index.html", "<p>docs");
    t.file("docs/deep/er/a.css", "p{}");
    t.file("none/a", "");
    for (const resolution way : ways) {
        const folder f = opened_folder(t, {.links = way});
        EXPECT_EQ(ask(f, ""), "<p>home");
        EXPECT_EQ(ask(f, "index.html"), "<p>home");
        EXPECT_EQ(ask(f, "a.txt"), "hello");
        EXPECT_EQ(ask(f, "a%20b/%c3%a9.txt"), "accents");
        EXPECT_EQ(ask(f, "docs/"), "<p>docs");
        EXPECT_EQ(ask(f, "docs/deep/er/a.css"), "p{}");
        EXPECT_EQ(ask(f, "none/a"), "");
        EXPECT_EQ(ask(f, "docs"), "<redirect>");
        EXPECT_EQ(ask(f, "docs/deep"), "<redirect>");
        for (const char* nowhere : {"b", "b/", "a.txt/", "a.txt/b", "docs/b", "docs/deep/b/c", "A.TXT", "index.html/"})
            EXPECT_TRUE(is_refused(f, nowhere, errc::not_found)) << nowhere;
        EXPECT_TRUE(is_refused(f, "none/", errc::not_listed));
        EXPECT_TRUE(is_refused(f, "../a.txt", errc::no_such_name));
        EXPECT_TRUE(is_refused(f, "docs/..%2fa.txt", errc::no_such_name));
        EXPECT_TRUE(is_refused(f, "%00", errc::bad_encoding));
        EXPECT_TRUE(is_refused(f, std::string(longest_name, 'x'), errc::not_found));
        EXPECT_TRUE(is_refused(f, std::string(longest_name, 'x') + "/a", errc::not_found));
    }
}

TEST(Folder, SaysWhatItFound) {
    const temporary_folder t;
    t.file("sub/a.HTML", "12345");
    t.changed("sub/a.HTML", 784'111'777, 5);
    folder_options options;
    options.types = {{"Foo", "text/x-foo"}, {"txt", "text/x-mine"}};
    options.caching = {{"sub/*.html", "max-age=1"}, {"sub/*", "no-cache"}};
    t.file("a.fOO", "");
    t.file("a.txt", "");
    const folder f = opened_folder(t, options);
    const finding there = f.find("sub/a.HTML");
    ASSERT_EQ(there.what, found::file);
    EXPECT_EQ(there.error, errc::ok);
    struct ::stat status;
    ASSERT_EQ(::stat(t.at("sub/a.HTML").c_str(), &status), 0);
    EXPECT_EQ(
        there.content.state,
        (file_state{
            .size = 5, .modified = 784'111'777, .modified_ns = 5, .inode = status.st_ino, .device = status.st_dev}));
    EXPECT_EQ(there.content.type, "text/html; charset=utf-8");
    EXPECT_EQ(there.content.cache_control, "no-cache"); // the pattern knows case
    EXPECT_EQ(there.content.coding, http::content_coding::identity);
    EXPECT_FALSE(there.content.varies);
    EXPECT_EQ(f.find("a.fOO").content.type, "text/x-foo");
    EXPECT_EQ(f.find("a.txt").content.type, "text/x-mine");
    EXPECT_EQ(f.find("a.txt").content.cache_control, "");
    // Nobody who is executed gets it.
    EXPECT_NE(::fcntl(there.fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Folder, Indexes) {
    const temporary_folder t;
    t.file("both/index.html", "html");
    t.file("both/index.htm", "htm");
    t.file("second/index.htm", "htm");
    t.folder("odd/index.html");
    t.file("odd/index.htm", "htm");
    t.folder("empty");
    folder f = opened_folder(t, {.index = {"index.html", "index.htm"}});
    EXPECT_EQ(ask(f, "both/"), "html");
    EXPECT_EQ(ask(f, "second/"), "htm");
    EXPECT_EQ(ask(f, "odd/"), "htm");
    EXPECT_TRUE(is_refused(f, "empty/", errc::not_listed));
    EXPECT_TRUE(is_refused(f, "", errc::not_listed));
    f = opened_folder(t, {.index = {}});
    EXPECT_TRUE(is_refused(f, "both/", errc::not_listed));
    EXPECT_EQ(ask(f, "both"), "<redirect>");
}

TEST(Folder, DirectoriesToBeListed) {
    const temporary_folder t;
    t.file("with/index.html", "html");
    t.file("without/a", "");
    for (const resolution way : ways) {
        const folder f = opened_folder(t, {.listing = true, .links = way});
        EXPECT_EQ(ask(f, "with/"), "html");
        EXPECT_EQ(ask(f, ""), "<directory>");
        const finding there = f.find("without/");
        ASSERT_EQ(there.what, found::directory);
        EXPECT_TRUE(descriptor(::openat(there.fd.get(), "a", O_PATH | O_CLOEXEC)));
        EXPECT_TRUE(is_refused(f, "nowhere/", errc::not_found));
    }
}

TEST(Folder, HiddenFiles) {
    const temporary_folder t;
    t.file(".env", "secret");
    t.file(".git/config", "secret");
    t.file(".well-known/security.txt", "contact");
    t.file(".well-known/.secret", "secret");
    folder f = opened_folder(t);
    EXPECT_TRUE(is_refused(f, ".env", errc::hidden));
    EXPECT_TRUE(is_refused(f, ".git/config", errc::hidden));
    EXPECT_TRUE(is_refused(f, ".well-known/.secret", errc::hidden));
    EXPECT_EQ(ask(f, ".well-known/security.txt"), "contact");
    f = opened_folder(t, {.names = {.hidden = true}});
    EXPECT_EQ(ask(f, ".env"), "secret");
}

TEST(Folder, LinksStayWithin) {
    const temporary_folder outside_it;
    outside_it.file("secret", "secret");
    const temporary_folder t;
    t.file("real/a.txt", "a");
    t.link("to_file", "real/a.txt");
    t.link("to_folder", "real");
    t.link("real/up", "../real/a.txt");
    t.link("chain", "to_file");
    t.link("dead", "nothing");
    t.link("loop", "loop");
    t.link("out", "../" + outside_it.path().filename().string() + "/secret");
    t.link("out_folder", "../" + outside_it.path().filename().string());
    t.link("absolute", outside_it.at("secret"));
    t.link("absolute_within", t.at("real/a.txt"));
    t.link("proc", "/proc/self/root");

    const folder within = opened_folder(t);
    ASSERT_EQ(within.links(), resolution::within) << "this kernel has no openat2()";
    EXPECT_EQ(ask(within, "to_file"), "a");
    EXPECT_EQ(ask(within, "to_folder/a.txt"), "a");
    EXPECT_EQ(ask(within, "to_folder"), "<redirect>");
    EXPECT_EQ(ask(within, "real/up"), "a");
    EXPECT_EQ(ask(within, "chain"), "a");
    EXPECT_TRUE(is_refused(within, "dead", errc::not_found));
    EXPECT_EQ(within.find("loop").what, found::nothing);
    for (const char* path : {"out", "out_folder/secret", "out_folder/", "out_folder", "absolute", "absolute_within",
                             "proc/etc/passwd", "proc"})
        EXPECT_TRUE(is_refused(within, path, errc::outside)) << path;

    for (const resolution way : {resolution::no_links, resolution::walk}) {
        const folder none = opened_folder(t, {.links = way});
        EXPECT_EQ(none.links(), way);
        EXPECT_EQ(ask(none, "real/a.txt"), "a");
        EXPECT_TRUE(is_refused(none, "to_file", errc::outside));
        for (const char* path :
             {"to_file", "to_folder/a.txt", "to_folder/", "to_folder", "real/up", "chain", "dead", "loop", "out",
              "out_folder/secret", "absolute", "absolute_within", "proc/etc/passwd"}) {
            const finding there = none.find(path);
            EXPECT_EQ(there.what, found::nothing) << path;
            EXPECT_EQ(status_of(there.error), 404) << path;
        }
    }
}

TEST(Folder, OnlyRegularFiles) {
    const temporary_folder t;
    t.fifo("fifo");
    t.folder("fifo_index");
    t.fifo("fifo_index/index.html");
    t.link("linked", "fifo");
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    t.at("socket").copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    const descriptor opens(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(opens.get(), t.at("fifo").c_str(), IN_OPEN), 0);
    for (const resolution way : ways) {
        const folder f = opened_folder(t, {.links = way});
        EXPECT_TRUE(is_refused(f, "fifo", errc::not_a_file));
        EXPECT_TRUE(is_refused(f, "socket", errc::not_a_file));
        EXPECT_TRUE(is_refused(f, "fifo_index/", errc::not_listed));
        EXPECT_EQ(f.find("linked").what, found::nothing);
    }
    // None of that has opened it; opening it is noticed.
    char event[sizeof(inotify_event) + longest_name + 1];
    EXPECT_EQ(::read(opens.get(), event, sizeof event), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_TRUE(descriptor(::open(t.at("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
    EXPECT_GT(::read(opens.get(), event, sizeof event), 0);
    ::close(socket);
}

TEST(Folder, PermissionsAreKept) {
    const temporary_folder t;
    t.file("closed", "secret");
    t.file("closed_folder/a", "secret");
    t.file("unlisted/a", "open");
    t.file("index/index.html", "secret");
    ASSERT_EQ(::chmod(t.at("closed").c_str(), 0), 0);
    ASSERT_EQ(::chmod(t.at("closed_folder").c_str(), 0), 0);
    ASSERT_EQ(::chmod(t.at("unlisted").c_str(), 0711), 0);
    ASSERT_EQ(::chmod(t.at("index/index.html").c_str(), 0), 0);
    std::vector<folder> folders; // before it gets difficult to reach them
    for (const resolution way : ways) folders.push_back(opened_folder(t, {.listing = true, .links = way}));
    {
        const no_root nobody;
        for (const folder& f : folders) {
            EXPECT_TRUE(is_refused(f, "closed", errc::denied));
            EXPECT_TRUE(is_refused(f, "closed_folder/a", errc::denied));
            EXPECT_TRUE(is_refused(f, "closed_folder/", errc::denied));
            EXPECT_TRUE(is_refused(f, "index/", errc::denied));
            EXPECT_EQ(ask(f, "unlisted/a"), "open");
        }
    }
    ASSERT_EQ(::chmod(t.at("closed_folder").c_str(), 0755), 0); // so that it can be removed
}

TEST(Folder, PrecompressedSiblings) {
    const temporary_folder t;
    for (const char* name : {"a.txt", "a.txt.br", "a.txt.zst", "a.txt.gz", "b.txt", "b.txt.gz", "c.png", "c.png.gz",
                             "index.html", "index.html.br", "old.txt", "old.txt.br", "old.txt.gz", "odd.txt"})
        t.file(name, name);
    for (const char* name : {"a.txt", "b.txt", "c.png", "index.html"}) t.changed(name, 1'000, 999'999'999);
    // The fraction of the second was not copied.
    t.changed("a.txt.br", 1'000, 0);
    t.changed("old.txt", 1'001, 0);
    t.changed("old.txt.br", 1'000, 999'999'999);
    t.changed("old.txt.gz", 1'001, 0);
    t.folder("odd.txt.br");
    t.fifo("odd.txt.zst");
    t.link("odd.txt.gz", "/etc/passwd");

    folder_options options;
    options.precompressed = [](std::string_view type) noexcept { return type.starts_with("text/"); };
    for (const resolution way : ways) {
        options.links = way;
        const folder f = opened_folder(t, options);
        const coding_order all = accepting("gzip, br, zstd");
        EXPECT_EQ(ask(f, "a.txt", all), "a.txt.br");
        EXPECT_EQ(ask(f, "a.txt", accepting("zstd, gzip")), "a.txt.zst");
        EXPECT_EQ(ask(f, "a.txt", accepting("gzip")), "a.txt.gz");
        EXPECT_EQ(ask(f, "a.txt", accepting("gzip, br;q=0.1")), "a.txt.gz");
        EXPECT_EQ(ask(f, "a.txt"), "a.txt");
        EXPECT_EQ(ask(f, "b.txt", all), "b.txt.gz");
        EXPECT_EQ(ask(f, "b.txt", accepting("br")), "b.txt");
        EXPECT_EQ(ask(f, "c.png", all), "c.png");
        EXPECT_EQ(ask(f, "", all), "index.html.br");
        EXPECT_EQ(ask(f, "old.txt", all), "old.txt.gz");
        EXPECT_EQ(ask(f, "odd.txt", all), "odd.txt");
        // What is asked for by its own name is what it is.
        EXPECT_EQ(f.find("a.txt.gz", all).content.type, "application/gzip");

        const finding coded = f.find("a.txt", all), plain = f.find("a.txt");
        EXPECT_EQ(coded.content.type, "text/plain; charset=utf-8");
        EXPECT_EQ(coded.content.coding, http::content_coding::br);
        EXPECT_EQ(coded.content.state.size, 8U);
        EXPECT_TRUE(coded.content.varies);
        EXPECT_EQ(plain.content.coding, http::content_coding::identity);
        EXPECT_EQ(plain.content.state.size, 5U);
        EXPECT_TRUE(plain.content.varies);
        EXPECT_FALSE(f.find("c.png", all).content.varies);
    }
    // Not unless somebody said for what.
    EXPECT_EQ(ask(opened_folder(t), "a.txt", accepting("br")), "a.txt");
}

TEST(Folder, OpeningIt) {
    const temporary_folder t;
    t.file("a", "a");
    folder f;
    EXPECT_FALSE(f);
    EXPECT_TRUE(is_refused(f, "a", errc::not_found));
    EXPECT_EQ(f.open(t.at("nowhere").c_str()), std::errc::no_such_file_or_directory);
    EXPECT_EQ(f.open(t.at("a").c_str()), std::errc::not_a_directory);
    for (const char* bad : {"", ".", "..", "a/b", "/"})
        EXPECT_EQ(f.open(t.path().c_str(), {.index = {bad}}), errc::bad_options) << bad;
    EXPECT_EQ(f.open(t.path().c_str(), {.types = {{"a", "x\r\ny"}}}), errc::bad_options);
    EXPECT_EQ(f.open(t.path().c_str(), {.types = {{"", "x"}}}), errc::bad_options);
    EXPECT_EQ(f.open(t.path().c_str(), {.caching = {{"*", ""}}}), errc::bad_options);
    EXPECT_FALSE(f);
    EXPECT_EQ(f.open(t.path().c_str()), std::error_code());
    EXPECT_TRUE(f);
    EXPECT_NE(f.open(t.at("nowhere").c_str()), std::error_code());
    EXPECT_EQ(ask(f, "a"), "a");
}

// Another folder under the same name is another folder.
TEST(Folder, IsHeldAndNotLookedUp) {
    const temporary_folder t;
    t.file("root/a", "old");
    folder f;
    ASSERT_EQ(f.open(t.at("root").c_str()), std::error_code());
    std::filesystem::rename(t.path() / "root", t.path() / "moved");
    t.file("root/a", "new");
    EXPECT_EQ(ask(f, "a"), "old");
    std::filesystem::remove_all(t.path() / "moved");
    EXPECT_TRUE(is_refused(f, "a", errc::not_found));
    EXPECT_EQ(f.find("").what, found::nothing);
}

TEST(Folder, ReadingWhatShrank) {
    const temporary_folder t;
    t.file("a", "0123456789");
    const folder f = opened_folder(t);
    const finding there = f.find("a");
    ASSERT_EQ(there.what, found::file);
    std::array<char, 4> some{};
    EXPECT_EQ(read_at(there.fd.get(), 3, some).size, 4U);
    EXPECT_EQ(std::string_view(some.data(), 4), "3456");
    EXPECT_EQ(read_at(there.fd.get(), 8, some).size, 2U);
    EXPECT_EQ(read_at(there.fd.get(), 10, some).size, 0U);
    ASSERT_EQ(::truncate(t.at("a").c_str(), 5), 0);
    const read_result shrunk = read_at(there.fd.get(), 3, some);
    EXPECT_EQ(shrunk.size, 2U);
    EXPECT_EQ(shrunk.error, errc::ok);
    EXPECT_EQ(read_at(-1, 0, some).error, errc::failed);
}

TEST(Descriptor, BelongsToOne) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
    const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
    descriptor a(pipe_ends[0]), b(pipe_ends[1]);
    descriptor c(std::move(a));
    EXPECT_FALSE(a);
    EXPECT_EQ(c.get(), pipe_ends[0]);
    c = std::move(b);
    EXPECT_FALSE(is_open(pipe_ends[0]));
    EXPECT_TRUE(is_open(pipe_ends[1]));
    errno = ENOENT;
    c.reset();
    descriptor(999'999).reset(); // which is none of ours, and so an error
    EXPECT_EQ(errno, ENOENT);
    EXPECT_FALSE(is_open(pipe_ends[1]));
    EXPECT_EQ(descriptor(7).release(), 7);
}

} // namespace
} // namespace folder_test
