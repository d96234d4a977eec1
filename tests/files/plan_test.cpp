#include <fastserve/files/plan.hpp>

#include <fastserve/http/head.hpp>
#include <fastserve/http/head_parser.hpp>
#include <fastserve/http/response.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plan_test {
namespace {

using namespace fastserve::files;
namespace http = fastserve::http;

constexpr std::int64_t changed = 784'111'777; // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t today = 1'780'000'000;
constexpr std::string_view text_type = "text/plain; charset=utf-8";

constexpr representation a_file(std::uint64_t size) {
    representation r;
    r.state = {.size = size, .modified = changed, .modified_ns = 5, .inode = 12, .device = 3};
    r.type = text_type;
    return r;
}

std::string etag_of(const representation& r) {
    char out[longest_etag];
    return {out, write_etag(r, out)};
}

// A request with a plan for it, and what the plan makes of a response.
struct answered {
    std::string text;
    std::vector<http::field_line> lines = std::vector<http::field_line>(32);
    http::head head;
    http::response response;

    plan ask(std::string_view method, std::string_view fields, const representation& of, std::int64_t now = today,
             std::uint64_t seed = 1) {
        text = std::string(method) + " / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
        const std::size_t size = text.size();
        text.append(http::parse_padding, ' ');
        head.use_storage(lines);
        http::head_parser parser;
        EXPECT_EQ(parser.parse(text.data(), size, head, http::limits{}), http::parse_status::complete) << text;
        plan p(head, of, now, seed);
        response.reset();
        p.write_to(response);
        EXPECT_EQ(response.status(), p.status());
        return p;
    }
    std::string fields() const { return std::string(response.fields().wire()); }
};

std::string range_field(std::string_view value) {
    return "Range: " + std::string(value) + "\r\n";
}

// What is sent for a file of these bytes.
std::string content_of(const plan& p, std::string_view file) {
    std::string content;
    for (std::size_t i = 0; i < p.pieces(); ++i) {
        content += p[i].text;
        content += file.substr(static_cast<std::size_t>(p[i].range.first), static_cast<std::size_t>(p[i].range.size));
    }
    return content;
}

TEST(Etag, TellsStatesApart) {
    std::set<std::string> tags;
    std::size_t count = 0;
    const auto add = [&](const representation& r) {
        const std::string tag = etag_of(r);
        EXPECT_LE(tag.size(), longest_etag);
        EXPECT_TRUE(tag.starts_with('"') && tag.ends_with('"'));
        EXPECT_EQ(tag.find_first_not_of("0123456789abcdefgiprstz-", 1), tag.size() - 1) << tag;
        tags.insert(tag);
        EXPECT_EQ(tags.size(), ++count) << tag;
    };
    add(a_file(500));
    EXPECT_EQ(etag_of(a_file(500)), etag_of(a_file(500)));
    EXPECT_TRUE(etag_of(a_file(500)).starts_with("\"1f4-"));
    add(a_file(0));
    add(a_file(501));
    add(a_file(~std::uint64_t{0}));
    for (std::uint64_t i = 1; i != 200; ++i) {
        representation r = a_file(500);
        r.state.inode += i;
        add(r);
        r = a_file(500);
        r.state.device += i;
        add(r);
        r = a_file(500);
        r.state.modified += static_cast<std::int64_t>(i);
        add(r);
        r = a_file(500);
        r.state.modified_ns += static_cast<std::uint32_t>(i);
        add(r);
    }
    for (const auto coding : {http::content_coding::gzip, http::content_coding::br, http::content_coding::zstd}) {
        representation r = a_file(500);
        r.coding = coding;
        add(r);
        EXPECT_TRUE(etag_of(r).ends_with("-" + std::string(http::to_string(coding)) + "\""));
    }
    // The rest of it is of no consequence.
    representation r = a_file(500);
    r.type = "x/y";
    r.cache_control = "no-cache";
    r.varies = true;
    EXPECT_EQ(etag_of(r), etag_of(a_file(500)));
}

TEST(Plan, TheWholeFile) {
    answered a;
    const representation file = a_file(500);
    const plan p = a.ask("GET", "", file);
    EXPECT_EQ(p.status(), 200);
    EXPECT_EQ(p.length(), 500U);
    ASSERT_EQ(p.pieces(), 1U);
    EXPECT_EQ(p[0].text, "");
    EXPECT_EQ(p[0].range, (http::byte_range{0, 500}));
    EXPECT_EQ(a.fields(), "ETag: " + etag_of(file) +
                              "\r\n"
                              "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                              "Accept-Ranges: bytes\r\n"
                              "Content-Type: text/plain; charset=utf-8\r\n");
    EXPECT_EQ(a.response.content_length(), 500U);
    EXPECT_EQ(p.etag(), etag_of(file));
}

TEST(Plan, HeadSaysWhatGetWouldSend) {
    answered a;
    const plan p = a.ask("HEAD", "Range: bytes=0-1\r\n", a_file(500));
    EXPECT_EQ(p.status(), 200);
    EXPECT_EQ(p.length(), 500U);
    EXPECT_EQ(p.pieces(), 0U);
    EXPECT_EQ(a.response.content_length(), 500U);
    EXPECT_FALSE(a.response.has("Content-Range"));
}

TEST(Plan, EmptyFiles) {
    answered a;
    const plan p = a.ask("GET", "", a_file(0));
    EXPECT_EQ(p.status(), 200);
    EXPECT_EQ(p.length(), 0U);
    EXPECT_EQ(p.pieces(), 0U);
    EXPECT_EQ(a.ask("GET", "Range: bytes=0-\r\n", a_file(0)).status(), 416);
    EXPECT_EQ(a.ask("GET", "Range: bytes=-1\r\n", a_file(0)).status(), 200);
}

TEST(Plan, WhatIsKnownOfItIsSaid) {
    representation file = a_file(500);
    file.coding = http::content_coding::br;
    file.cache_control = "no-cache";
    file.varies = true;
    answered a;
    a.ask("GET", "", file);
    EXPECT_EQ(a.response.get("Content-Encoding"), "br");
    EXPECT_EQ(a.response.get("Cache-Control"), "no-cache");
    EXPECT_EQ(a.response.get("Vary"), "Accept-Encoding");
    EXPECT_EQ(a.response.get("Content-Type"), text_type);
    // What another one says of Vary stays.
    http::response other;
    other.add("Vary", "Origin");
    other.set("Cache-Control", "no-store");
    plan(a.head, file, today).write_to(other);
    EXPECT_EQ(other.fields().wire().substr(0, 14), "Vary: Origin\r\n");
    EXPECT_NE(other.fields().wire().find("Vary: Accept-Encoding\r\n"), std::string_view::npos);
    EXPECT_EQ(other.get("Cache-Control"), "no-cache");
}

TEST(Plan, NotModified) {
    representation file = a_file(500);
    file.cache_control = "no-cache";
    file.varies = true;
    const std::string tag = etag_of(file);
    answered a;
    for (const std::string& fields :
         {"If-None-Match: " + tag + "\r\n", "If-None-Match: \"x\", W/" + tag + "\r\n",
          std::string("If-None-Match: *\r\n"), std::string("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
          "If-None-Match: " + tag + "\r\nRange: bytes=0-1\r\n"})
        for (const char* method : {"GET", "HEAD"}) {
            const plan p = a.ask(method, fields, file);
            EXPECT_EQ(p.status(), 304) << fields;
            EXPECT_EQ(p.length(), 0U);
            EXPECT_EQ(p.pieces(), 0U);
            EXPECT_EQ(a.fields(), "ETag: " + tag +
                                      "\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                      "Cache-Control: no-cache\r\nVary: Accept-Encoding\r\n");
            EXPECT_FALSE(a.response.content_length());
        }
    EXPECT_EQ(a.ask("GET", "If-None-Match: \"x\"\r\n", file).status(), 200);
    EXPECT_EQ(a.ask("GET", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", file).status(), 200);
    // The tag of the original does not stand for the coded form.
    representation coded = file;
    coded.coding = http::content_coding::gzip;
    EXPECT_EQ(a.ask("GET", "If-None-Match: " + tag + "\r\n", coded).status(), 200);
}

TEST(Plan, PreconditionsThatFail) {
    const representation file = a_file(500);
    answered a;
    for (const char* fields : {"If-Match: \"x\"\r\n", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n"}) {
        const plan p = a.ask("GET", fields, file);
        EXPECT_EQ(p.status(), 412);
        EXPECT_EQ(p.length(), 0U);
        EXPECT_EQ(p.pieces(), 0U);
        EXPECT_EQ(a.fields(), "");
    }
    EXPECT_EQ(a.ask("GET", "If-Match: " + etag_of(file) + "\r\n", file).status(), 200);
}

// A date is as good as a tag once its second is over, and never before.
TEST(Plan, DatesOfThePresentAreNotSent) {
    representation file = a_file(500);
    answered a;
    const auto with_date = [&](std::int64_t modified, std::int64_t now) {
        file.state.modified = modified;
        a.ask("GET", "", file, now);
        return a.response.has("Last-Modified");
    };
    EXPECT_TRUE(with_date(today - 1, today));
    EXPECT_FALSE(with_date(today, today));
    EXPECT_FALSE(with_date(today + 1'000, today));
    EXPECT_TRUE(with_date(1, today));
    EXPECT_FALSE(with_date(0, today));
    EXPECT_FALSE(with_date(-1, today));
    file.state.modified = changed;
    const std::string since = "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    EXPECT_EQ(a.ask("GET", since, file, changed).status(), 200);
    EXPECT_EQ(a.ask("GET", since, file, changed + 1).status(), 304);
}

TEST(Plan, OneRange) {
    answered a;
    const plan p = a.ask("GET", range_field("bytes=100-199"), a_file(500));
    EXPECT_EQ(p.status(), 206);
    EXPECT_EQ(p.length(), 100U);
    ASSERT_EQ(p.pieces(), 1U);
    EXPECT_EQ(p[0].text, "");
    EXPECT_EQ(p[0].range, (http::byte_range{100, 100}));
    EXPECT_EQ(a.response.get("Content-Range"), "bytes 100-199/500");
    EXPECT_EQ(a.response.get("Content-Type"), text_type);
    EXPECT_EQ(a.response.content_length(), 100U);
    EXPECT_TRUE(a.response.has("ETag"));

    // Of a coded form it is a part of that one's bytes.
    representation coded = a_file(500);
    coded.coding = http::content_coding::zstd;
    EXPECT_EQ(a.ask("GET", range_field("bytes=-1"), coded).status(), 206);
    EXPECT_EQ(a.response.get("Content-Encoding"), "zstd");
    EXPECT_EQ(a.response.get("Content-Range"), "bytes 499-499/500");
}

TEST(Plan, RangesBeyondTheEnd) {
    answered a;
    const plan p = a.ask("GET", range_field("bytes=500-"), a_file(500));
    EXPECT_EQ(p.status(), 416);
    EXPECT_EQ(p.length(), 0U);
    EXPECT_EQ(p.pieces(), 0U);
    EXPECT_EQ(a.fields(), "Content-Range: bytes */500\r\nAccept-Ranges: bytes\r\n");
    EXPECT_FALSE(a.response.content_length());
    EXPECT_EQ(a.ask("GET", range_field("bytes=oops"), a_file(500)).status(), 200);
    EXPECT_EQ(a.ask("GET", range_field("lines=0-1"), a_file(500)).status(), 200);
}

TEST(Plan, IfRange) {
    const representation file = a_file(500);
    answered a;
    const auto status = [&](const std::string& condition, std::int64_t now = today) {
        return a.ask("GET", "Range: bytes=0-1\r\nIf-Range: " + condition + "\r\n", file, now).status();
    };
    EXPECT_EQ(status(etag_of(file)), 206);
    EXPECT_EQ(status("W/" + etag_of(file)), 200);
    EXPECT_EQ(status("\"x\""), 200);
    EXPECT_EQ(status("Sun, 06 Nov 1994 08:49:37 GMT"), 206);
    EXPECT_EQ(status("Sun, 06 Nov 1994 08:49:38 GMT"), 200);
    EXPECT_EQ(status("Sun, 06 Nov 1994 08:49:37 GMT", changed), 200);
}

TEST(Plan, SeveralRanges) {
    std::string file(2'000, '\0');
    for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<char>('a' + i % 26);
    answered a;
    const plan p = a.ask("GET", range_field("bytes=0-9, 1000-1004, -3"), a_file(file.size()));
    ASSERT_EQ(p.status(), 206);
    const std::string type(a.response.get("Content-Type").value_or(""));
    const std::string_view known = "multipart/byteranges; boundary=";
    ASSERT_TRUE(type.starts_with(known));
    const std::string boundary = type.substr(known.size());
    EXPECT_EQ(boundary.size(), 32U);
    EXPECT_FALSE(a.response.has("Content-Range"));
    const auto head = [&](const std::string& range) {
        return "--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes " + range +
               "/2000\r\n\r\n";
    };
    const std::string content = content_of(p, file);
    EXPECT_EQ(content, head("0-9") + file.substr(0, 10) + "\r\n" + head("1000-1004") + file.substr(1'000, 5) + "\r\n" +
                           head("1997-1999") + file.substr(1'997) + "\r\n--" + boundary + "--\r\n");
    EXPECT_EQ(content.size(), p.length());
    EXPECT_EQ(a.response.content_length(), content.size());

    // Another seed is another boundary; a copy of a plan has texts of its own.
    a.ask("GET", range_field("bytes=0-9, 1000-1004, -3"), a_file(file.size()), today, 2);
    EXPECT_NE(a.response.get("Content-Type"), type);
    const plan copy(p);
    EXPECT_EQ(content_of(copy, file), content);
    EXPECT_NE(copy[0].text.data(), p[0].text.data());

    // Parts need no type of their own when there is none.
    representation untyped = a_file(file.size());
    untyped.type = {};
    const plan bare = a.ask("GET", range_field("bytes=0-0,5-5"), untyped);
    EXPECT_EQ(bare.status(), 206);
    EXPECT_EQ(bare[0].text.find("Content-Type"), std::string_view::npos);
}

TEST(Plan, SeveralRangesThatAreSentWhole) {
    answered a;
    // The heads of the parts would be longer than what they spare.
    EXPECT_EQ(a.ask("GET", range_field("bytes=0-1,400-401"), a_file(200)).status(),
              206); // one of them: the other is not there
    const plan small = a.ask("GET", range_field("bytes=0-1,100-101"), a_file(200));
    EXPECT_EQ(small.status(), 200);
    EXPECT_EQ(small.length(), 200U);
    ASSERT_EQ(small.pieces(), 1U);
    EXPECT_EQ(small[0].text, "");
    EXPECT_EQ(small[0].range, (http::byte_range{0, 200}));
    EXPECT_EQ(a.response.get("Content-Type"), text_type);
    EXPECT_EQ(a.response.content_length(), 200U);

    representation coded = a_file(100'000);
    coded.coding = http::content_coding::gzip;
    EXPECT_EQ(a.ask("GET", range_field("bytes=0-1,100-101"), coded).status(), 200);
    EXPECT_EQ(a.ask("GET", range_field("bytes=0-1,2-3"), coded).status(), 206); // joined, they are one

    std::string many = "bytes=0-0";
    for (std::size_t i = 1; i < http::most_byte_ranges; ++i)
        many += ',' + std::to_string(10 * i) + '-' + std::to_string(10 * i);
    const plan most = a.ask("GET", range_field(many), a_file(100'000));
    EXPECT_EQ(most.status(), 206);
    EXPECT_EQ(most.pieces(), http::most_byte_ranges + 1);
    EXPECT_EQ(a.ask("GET", range_field(many + ",500-500"), a_file(100'000)).status(), 200);
}

// Whatever is asked for: the length is that of the content, and no longer than the file.
TEST(Plan, RandomRanges) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    answered a;
    int partial = 0;
    for (int run = 0; run < 2'000; ++run) {
        const std::string file(random() % 4'000, 'x');
        std::string value = "bytes=";
        for (std::uint64_t i = random() % 18; i != 0; --i) {
            const std::uint64_t first = random() % 4'000;
            value +=
                std::to_string(first) + '-' + (random() % 4 == 0 ? "" : std::to_string(first + random() % 200)) + ',';
        }
        const plan p = a.ask("GET", range_field(value), a_file(file.size()));
        EXPECT_EQ(content_of(p, file).size(), p.length()) << value;
        EXPECT_LE(p.length(), file.size()) << value;
        partial += p.status() == 206;
        EXPECT_TRUE(p.status() == 200 || p.status() == 206 || p.status() == 416);
    }
    EXPECT_GT(partial, 100);
}

} // namespace
} // namespace plan_test
