// Verdicts and results of whole heads.
#include "parser_corpus.hpp"
#include "parser_support.hpp"

#include <gtest/gtest.h>

using namespace parser_test;
using http::errc;
using http::field;
using http::parse_status;

namespace {

// A head that stays alive with its bytes.
struct parsed {
    std::string text;
    subject s;
    parse_status status;
    explicit parsed(std::string_view t) : text(std::string(t) + std::string(http::parse_padding, '\0')) {
        status = s.feed(text.data(), t.size());
    }
    const http::head& operator*() const { return s.head; }
    const http::head* operator->() const { return &s.head; }
};

TEST(Parser, GivesEverySampleItsVerdict) {
    for (const sample& c : corpus()) {
        const outcome o = parse(c.text);
        EXPECT_EQ(o.error, c.error) << testing::PrintToString(c.text.substr(0, 200)) << "\n"
                                    << http::message_of(o.error) << ", not " << http::message_of(c.error);
        EXPECT_EQ(o.status, c.error == errc::ok ? parse_status::complete : parse_status::error)
            << c.text.substr(0, 200);
    }
}

TEST(Parser, NoticesWhatMayBeEncoded) {
    for (const auto& [target, expected] : {std::pair("/a%2Fb", true),
                                           {"/a?%20", true},
                                           {"/a?b", false},
                                           {"*", false},
                                           {"http://a%41/b", true},
                                           {"http://a/b%41", true},
                                           {"http://a/b", false}}) {
        const parsed p("OPTIONS " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_EQ(p.status, parse_status::complete) << target;
        EXPECT_EQ(p->has_percent, expected) << target;
    }
}

// A path that the head does not spell out can be looked at in whole blocks, too.
TEST(Parser, APathHasReadableBytesBehindIt) {
    for (const std::string_view method : {"GET", "OPTIONS"}) {
        const parsed p(std::string(method) + " http://a HTTP/1.1\r\nHost: a\r\n\r\n");
        ASSERT_EQ(p.status, parse_status::complete);
        ASSERT_EQ(p->path(), method == "GET" ? "/" : "*");
        std::string copy(p->path().data(), p->path().size() + http::parse_padding);
        EXPECT_EQ(copy.find_first_not_of('\0', 1), std::string::npos);
    }
}

TEST(Parser, TakesARequestApart) {
    const parsed p("\r\nPUT /a/b?x=1?y HTTP/1.1\r\nhOST:\texample.com:80 \r\nContent-Length: 12\r\nX-Own: v\r\n"
                   "Cookie: a=1\r\ncookie: b=2\r\nExpect: 100-continue\r\n\r\nbody");
    ASSERT_EQ(p.status, parse_status::complete);
    EXPECT_EQ(p->method, http::verb::put);
    EXPECT_EQ(p->method_text(), "PUT");
    EXPECT_EQ(p->target(), "/a/b?x=1?y");
    EXPECT_EQ(p->path(), "/a/b");
    EXPECT_EQ(p->query(), "x=1?y");
    EXPECT_TRUE(p->has_query);
    EXPECT_FALSE(p->has_percent);
    EXPECT_EQ(p->host(), "example.com:80");
    EXPECT_EQ(p->version_minor, 1);
    EXPECT_EQ(p->body, http::framing::length);
    EXPECT_EQ(p->content_length, 12U);
    EXPECT_TRUE(p->expect_continue);
    EXPECT_TRUE(p->keep_alive);
    EXPECT_EQ(p->size, p.text.find("body"));
    ASSERT_EQ(p->fields.size(), 6U);
    EXPECT_EQ(p->name(p->fields[0]), "hOST");
    EXPECT_EQ(p->value(p->fields[0]), "example.com:80");
    EXPECT_EQ(p->fields[0].id, field::host);
    EXPECT_EQ(p->fields[2].id, field::unknown);
    EXPECT_EQ(p->find(field::cookie), "a=1");
    EXPECT_EQ(p->find("COOKIE"), "a=1");
    EXPECT_EQ(p->find("x-OWN"), "v");
    EXPECT_EQ(p->find("x-other"), std::nullopt);
    EXPECT_EQ(p->find(field::origin), std::nullopt);
    EXPECT_EQ(p->find(field::unknown), std::nullopt);
    std::vector<std::string_view> cookies;
    p->each(field::cookie, [&](std::string_view v) { cookies.push_back(v); });
    EXPECT_EQ(cookies, (std::vector<std::string_view>{"a=1", "b=2"}));
}

TEST(Parser, KeepsItsViewsWhenTheBytesAreCopied) {
    const parsed p("GET http://h.example/p?q HTTP/1.1\r\nHost: other\r\nAccept: */*\r\n\r\n");
    ASSERT_EQ(p.status, parse_status::complete);
    const std::string before = account_of(*p);
    std::string copy = p.text;
    http::head moved = *p;
    moved.base = copy.data();
    EXPECT_EQ(account_of(moved), before);
    EXPECT_EQ(moved.host().data(), copy.data() + copy.find("h.example"));
    EXPECT_EQ(moved.find(field::accept)->data(), copy.data() + copy.find("*/*"));
}

TEST(Parser, LeavesWhatFollowsTheHead) {
    const std::string one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
    const parsed p(one + one + "junk\x01");
    ASSERT_EQ(p.status, parse_status::complete);
    EXPECT_EQ(p->size, one.size());
    EXPECT_EQ(p->fields.size(), 1U);
}

TEST(Parser, KnowsTheFormsOfTheTarget) {
    struct expectation {
        const char *line, *path, *query, *host;
        http::target_form form;
        bool secure;
    };
    using http::target_form;
    for (const expectation& e : {
             expectation{"GET /a", "/a", "", "localhost", target_form::origin, false},
             expectation{"GET //a?", "//a", "", "localhost", target_form::origin, false},
             expectation{"OPTIONS *", "*", "", "localhost", target_form::asterisk, false},
             expectation{"OPTIONS http://x", "*", "", "x", target_form::absolute, false},
             expectation{"OPTIONS http://x/", "/", "", "x", target_form::absolute, false},
             expectation{"OPTIONS http://x?a", "/", "a", "x", target_form::absolute, false},
             expectation{"GET http://x:80", "/", "", "x:80", target_form::absolute, false},
             expectation{"GET hTTps://[::1]/a/b?c", "/a/b", "c", "[::1]", target_form::absolute, true},
             expectation{"CONNECT y:443", "", "", "y:443", target_form::authority, false},
         }) {
        const parsed p(std::string(e.line) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        ASSERT_EQ(p.status, parse_status::complete) << e.line;
        EXPECT_EQ(p->path(), e.path) << e.line;
        EXPECT_EQ(p->query(), e.query) << e.line;
        EXPECT_EQ(p->host(), e.host) << e.line;
        EXPECT_EQ(p->form, e.form) << e.line;
        EXPECT_EQ(p->secure_target, e.secure) << e.line;
    }
}

TEST(Parser, DecidesWhatBecomesOfTheConnection) {
    struct expectation {
        const char *version, *fields;
        bool keep_alive, upgrade;
    };
    for (const expectation& e : {
             expectation{"1.1", "", true, false},
             expectation{"1.0", "", false, false},
             expectation{"1.0", "Connection: keep-alive\r\n", true, false},
             expectation{"1.0", "Connection: Keep-Alive, Upgrade\r\nUpgrade: x\r\n", true, false},
             expectation{"1.0", "Connection: keep-alive, close\r\n", false, false},
             expectation{"1.1", "Connection: CLOSE\r\n", false, false},
             expectation{"1.1", "Connection: ,, close ,\r\n", false, false},
             expectation{"1.1", "Connection: keep-alive\r\nX: y\r\nconnection: close\r\n", false, false},
             expectation{"1.1", "Connection: close\r\nConnection: keep-alive\r\n", false, false},
             expectation{"1.1", "Connection: closed, xclose, clos\r\n", true, false},
             expectation{"1.1", "Connection: close x\r\n", true, false},
             expectation{"1.1", "Connection: TE,,Keep-Alive\r\n", true, false},
             expectation{"1.1", "Connection: keep-alive, UPGRADE\r\nUpgrade: websocket\r\n", true, true},
             expectation{"1.1", "Connection: upgrade\r\n", true, false},
             expectation{"1.1", "Upgrade: websocket\r\n", true, false},
         }) {
        const parsed p("GET / HTTP/" + std::string(e.version) + "\r\nHost: a\r\n" + e.fields + "\r\n");
        ASSERT_EQ(p.status, parse_status::complete) << e.fields;
        EXPECT_EQ(p->keep_alive, e.keep_alive) << e.version << ' ' << e.fields;
        EXPECT_EQ(p->has_upgrade, e.upgrade) << e.version << ' ' << e.fields;
    }
}

TEST(Parser, WaitsForContinueOnlyWhereABodyFollows) {
    struct expectation {
        const char *version, *fields;
        bool waits;
    };
    for (const expectation& e : {
             expectation{"1.1", "Content-Length: 5\r\nExpect: 100-Continue\r\n", true},
             expectation{"1.1", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", true},
             expectation{"1.1", "Content-Length: 0\r\nExpect: 100-continue\r\n", false},
             expectation{"1.1", "Expect: 100-continue\r\n", false},
             expectation{"1.0", "Content-Length: 5\r\nExpect: 100-continue\r\n", false},
         }) {
        const parsed p("POST / HTTP/" + std::string(e.version) + "\r\nHost: a\r\n" + e.fields + "\r\n");
        ASSERT_EQ(p.status, parse_status::complete) << e.fields;
        EXPECT_EQ(p->expect_continue, e.waits) << e.version << ' ' << e.fields;
    }
}

TEST(Parser, ForgetsTheHeadBefore) {
    subject s;
    const auto feed = [&s](std::string_view text) {
        s.parser.reset();
        return parse_in(s, text, {text.size()});
    };
    const std::string plain = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const outcome fresh = feed(plain);
    feed("POST https://b/?c HTTP/1.0\r\nHost: a\r\nContent-Length: 7\r\nConnection: keep-alive\r\nCookie: 1\r\n"
         "Cookie: 2\r\nX: y\r\nX: z\r\n\r\n");
    EXPECT_EQ(feed(plain), fresh);
    feed("GET / HTTP/1.1\r\nHost: a\r\nCookie: 1\r\nBad Name: x\r\n\r\n");
    EXPECT_EQ(feed(plain), fresh);
}

TEST(Parser, StaysFailedUntilReset) {
    subject s;
    EXPECT_EQ(parse_in(s, "GET \r\n", {6}).error, errc::bad_request_line);
    const std::string good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(http::parse_padding, ' ');
    EXPECT_EQ(s.feed(good.data(), good.size() - http::parse_padding), parse_status::error);
    s.parser.reset();
    EXPECT_EQ(s.parser.error(), errc::ok);
    EXPECT_EQ(s.feed(good.data(), good.size() - http::parse_padding), parse_status::complete);
}

TEST(Parser, SaysWhetherAHeadHasBegun) {
    subject s;
    EXPECT_FALSE(s.parser.started());
    std::string text = "\r\n\r\nG" + std::string(http::parse_padding, '\0');
    EXPECT_EQ(s.feed(text.data(), 3), parse_status::need_more);
    EXPECT_FALSE(s.parser.started());
    EXPECT_EQ(s.feed(text.data(), 5), parse_status::need_more);
    EXPECT_TRUE(s.parser.started());
}

} // namespace
