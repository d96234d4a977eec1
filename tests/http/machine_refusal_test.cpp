// What the machine refuses by itself, in the words of the layer above.
#include "machine_site.hpp"

namespace {

using namespace machine_test;
using namespace std::chrono_literals;

// The path, unless the request is still its handler's.
struct wording final : refusal_writer {
    bool word_refusal(const exchange& of, exchange& page, int status) noexcept override {
        ++asked;
        EXPECT_EQ(page.response.kind(), body_kind::none);
        EXPECT_TRUE(page.response.fields().empty());
        if (!willing) return false;
        page.response.status(status);
        page.response.body(std::string(&of == &page ? of.head.path() : "not at hand") + std::string(more, '+'));
        page.trailers.add("X-Left", "over");
        return true;
    }

    bool willing = true;
    std::size_t more = 0;
    int asked = 0;
};

struct machine_refusal : testing::Test {
    machine_refusal() {
        d.lent().refusals = &words;
        d.body_bytes = 4;
        d.handler_timeout = 1'000ms;
    }

    wording words;
    site_driver d;
};

TEST_F(machine_refusal, of_a_body) {
    const std::string said = answer(413, "/hello", "close");
    for (const std::string& request : {post("/hello", "12345"), post_chunks("/hello", "12345", 2),
                                       post("/hello", "12345", "Expect: 100-continue\r\n")}) {
        for (const bool each : {false, true}) {
            d.reopen();
            each ? d.receive_each(get("/hello") + request) : d.receive(get("/hello") + request);
            EXPECT_EQ(d.wire, hello + said);
            EXPECT_TRUE(d.shut);
        }
    }
    d.reopen();
    d.receive("HEAD /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(d.wire, answer(413, "/hello", "close", true));
}

TEST_F(machine_refusal, of_a_slow_body) {
    d.body_bytes = 1'000;
    d.receive(post("/hello", std::string(1'000, 'b')).substr(0, 100));
    EXPECT_TRUE(d.advance_to(d.now_ms + 60'000));
    EXPECT_EQ(d.wire, answer(408, "/hello", "close"));
}

TEST_F(machine_refusal, of_a_late_handler) {
    for (const char* target : {"/later/hello", "/defer/hello", "/piece"}) {
        d.reopen();
        d.receive(get(target));
        ASSERT_TRUE(d.waiting);
        d.waiting->response.set("X-Its", "own");
        EXPECT_TRUE(d.advance_to(d.now_ms + 1'000));
        EXPECT_EQ(d.wire, answer(503, "not at hand", "close"));
        ASSERT_EQ(d.detached.size(), 1U);
        EXPECT_EQ(d.detached[0]->response.get("X-Its"), "own") << "its response is its own";
        d.release_detached();
        EXPECT_EQ(d.lent().spare->response.kind(), body_kind::none) << "that of the page is reset";
        EXPECT_TRUE(d.lent().spare->trailers.empty());
    }
}

TEST_F(machine_refusal, of_a_body_that_is_being_read) {
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n");
    d.want_body();
    d.want_body();
    EXPECT_EQ(d.pieces, std::vector<std::string>{"ab"});
    d.receive("3\r\ncde\r\n");
    EXPECT_EQ(d.wire, answer(413, "not at hand", "close"));
}

TEST_F(machine_refusal, is_the_reason_where_there_are_no_words) {
    const std::string large = post("/hello", "12345");
    words.willing = false;
    d.receive(large);
    EXPECT_EQ(d.wire, refused(413));
    words.willing = true;
    words.more = 70'000;
    d.reopen();
    d.receive(large);
    EXPECT_EQ(d.wire, refused(413)) << "it does not fit";
    d.reopen();
    d.receive(get("/later/hello"));
    EXPECT_TRUE(d.advance_to(d.now_ms + 1'000));
    EXPECT_EQ(d.wire, refused(503));
    EXPECT_EQ(words.asked, 3);
    d.release_detached();
}

TEST_F(machine_refusal, is_the_reason_without_a_route_and_for_an_answer) {
    d.receive("nonsense\r\n\r\n");
    EXPECT_EQ(d.wire, refused(400));
    d.reopen();
    d.receive("GET /");
    EXPECT_TRUE(d.advance_to(d.now_ms + 60'000));
    EXPECT_EQ(d.wire, refused(408));
    d.reopen();
    d.refuse(503);
    EXPECT_EQ(d.wire, refused(503));
    d.reopen();
    d.receive(get("/wide?70000"));
    EXPECT_EQ(d.wire, refused(500)) << "the handler's answer does not fit";
    d.reopen();
    d.receive(get("/stream"));
    EXPECT_EQ(d.wire, refused(500));
    EXPECT_EQ(words.asked, 0);
}

} // namespace
