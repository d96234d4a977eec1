// What goes in and what comes out, at every split of what goes in.
#include "machine_site.hpp"

namespace {

using namespace machine_test;

enum class ending { open, lingers, closes };

struct script {
    const char* name;
    std::string sent;
    std::string answered;
    ending end = ending::open;
    std::uint64_t body_bytes = 1 << 20;
};

void check_end(const site_driver& d, const script& s) {
    ASSERT_EQ(d.wire, s.answered) << s.name;
    ASSERT_EQ(d.closed, s.end == ending::closes) << s.name;
    ASSERT_EQ(d.shut, s.end == ending::lingers) << s.name;
    ASSERT_EQ(d.m.idle(), s.end == ending::open) << s.name;
}

// Suspended handlers finish as soon as nothing else happens.
void receive(site_driver& d, std::string_view bytes) {
    d.receive(bytes);
    while (d.waiting) d.finish();
}


std::vector<script> scripts() {
    const std::string large = pattern(20'000);
    std::vector<script> all{
        {"one request", get("/hello"), hello},
        {"ten pipelined", repeated(get("/hello"), 10), repeated(hello, 10)},
        {"1.0", get("/hello", "", "1.0"), ok("hello world", "close"), ending::closes},
        {"1.0 keeps alive", repeated(get("/hello", "Connection: keep-alive\r\n", "1.0"), 2),
         repeated(ok("hello world", "keep-alive"), 2)},
        {"close is asked for", get("/hello") + get("/hello", "Connection: close\r\n"),
         hello + ok("hello world", "close"), ending::closes},
        {"close is decided", get("/close"), ok("", "close"), ending::lingers},
        {"HEAD", "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"),
         answer(200, "hello world", "", true) + hello},
        {"HEAD of a large body", "HEAD /large?20000 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"),
         answer(200, large, "", true) + hello},
        {"no content", get("/204") + get("/304") + get("/hello"),
         answer(204, "", "", true) + answer(304, "", "", true) + hello},
        {"handler's error", get("/500") + get("/hello"), answer(500, "not sent for every status") + hello},
        {"empty lines", "\r\n" + get("/hello") + "\r\n\r\n" + get("/hello"), hello + hello},
        {"what a handler sees", get("/report", "X-One: 1\r\n"), ok(reported("GET", "/report", "X-One=1\n", ""))},
        {"what an owner sees", get("/owned/report", "X-One: 1\r\n") + get("/hello"),
         ok(reported("GET", "/owned/report", "X-One=1\n", "")) + hello},
        {"what a suspended handler sees", get("/later/report", "X-One: 1\r\n") + get("/later/report") + get("/hello"),
         ok(reported("GET", "/later/report", "X-One=1\n", "")) + ok(reported("GET", "/later/report", "", "")) + hello},
        {"plain, and late", get("/defer/hello") + post("/defer/hello", "body") + get("/hello"),
         ok("deferred") + ok("deferred") + hello},
        {"a stream", get("/hello") + get("/stream"), hello + refused(500), ending::lingers},
        {"a late stream", get("/hello") + get("/later/stream"), hello + refused(500), ending::lingers},
        {"HEAD of a stream", "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"),
         "HTTP/1.1 200 OK\r\n" + date_lines() + "Transfer-Encoding: chunked\r\n\r\n" + hello},
        {"garbage", "\x16\x03\x01\x02", refused(400), ending::lingers},
        {"error behind an answer", get("/hello") + "GET / HTTP/1.1\r\n\r\n", hello + refused(400), ending::lingers},
        {"error of a HEAD", "HEAD / HTTP/1.1\r\n\r\n", refused(400, true), ending::lingers},
        {"unknown expectation", get("/hello", "Expect: more\r\n"), refused(417), ending::lingers},
        {"unknown coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", refused(501),
         ending::lingers},
    };
    for (const std::string path : {"/report", "/owned/report", "/later/report"}) {
        const auto seen = [&](std::string_view fields, std::string_view body) {
            return ok(reported("POST", path, fields, body));
        };
        const std::string coding = "Transfer-Encoding=chunked\n";
        all.push_back(
            {"body", post(path, "some body") + get("/hello"), seen("Content-Length=9\n", "some body") + hello});
        all.push_back({"empty body", post(path, "") + get("/hello"), seen("Content-Length=0\n", "") + hello});
        all.push_back({"chunks", post_chunks(path, "some body in pieces", 4) + get("/hello"),
                       seen(coding, "some body in pieces") + hello});
        all.push_back({"no chunks", post_chunks(path, "", 4) + post(path, "x"),
                       seen(coding, "") + seen("Content-Length=1\n", "x")});
        all.push_back({"many bodies",
                       post(path, "a") + post_chunks(path, "bc", 1) + post(path, "def") + post_chunks(path, "ghij", 3),
                       seen("Content-Length=1\n", "a") + seen(coding, "bc") + seen("Content-Length=3\n", "def") +
                           seen(coding, "ghij")});
        all.push_back({"at the limit",
                       post(path, "0123456789") + post_chunks(path, "0123456789", 6) + post(path, "012345678") +
                           post_chunks(path, "012345678", 6),
                       seen("Content-Length=10\n", "0123456789") + seen(coding, "0123456789") +
                           seen("Content-Length=9\n", "012345678") + seen(coding, "012345678"),
                       ending::open, 10});
        all.push_back(
            {"above the limit", get("/hello") + post(path, "0123456789a"), hello + refused(413), ending::lingers, 10});
        all.push_back({"chunks above the limit", get("/hello") + post_chunks(path, "0123456789a", 6),
                       hello + refused(413), ending::lingers, 10});
        all.push_back(
            {"bad chunks",
             get("/hello") + "POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx0",
             hello + refused(400), ending::lingers});
    }
    // The answer is known before the body, which is small enough to be read over.
    const std::string no = answer(404, "not sent for every status");
    all.push_back({"answered", get("/no") + get("/hello"), no + hello});
    all.push_back({"answered, body dropped",
                   post("/no", pattern(300)) + get("/hello") + post("/no", "") + get("/hello"),
                   no + hello + no + hello});
    all.push_back({"answered, chunks dropped", post_chunks("/no", pattern(300), 100) + get("/hello"), no + hello});
    return all;
}

class machine_scripts : public testing::Test {};

TEST_F(machine_scripts, at_once) {
    for (const script& s : scripts()) {
        site_driver d;
        d.body_bytes = s.body_bytes;
        receive(d, s.sent);
        ASSERT_NO_FATAL_FAILURE(check_end(d, s));
    }
}

// Empty lines begin no request: a drain may close the connection that sent them.
TEST(machine, empty_lines_stand_between_requests) {
    site_driver d;
    receive(d, get("/hello") + "\r\n");
    EXPECT_FALSE(d.m.idle());
    EXPECT_TRUE(d.m.between_requests());
    receive(d, "G");
    EXPECT_FALSE(d.m.between_requests());
}

TEST_F(machine_scripts, at_every_split) {
    for (const script& s : scripts()) {
        for (std::size_t split = 1; split < s.sent.size(); ++split) {
            site_driver d;
            d.body_bytes = s.body_bytes;
            receive(d, std::string_view(s.sent).substr(0, split));
            receive(d, std::string_view(s.sent).substr(split));
            ASSERT_NO_FATAL_FAILURE(check_end(d, s)) << split;
        }
    }
}

TEST_F(machine_scripts, byte_by_byte) {
    for (const script& s : scripts()) {
        site_driver d;
        d.body_bytes = s.body_bytes;
        for (const char& c : s.sent) receive(d, {&c, 1});
        ASSERT_NO_FATAL_FAILURE(check_end(d, s));
    }
}

} // namespace
