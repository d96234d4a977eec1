// Handlers that finish later, and peers that do not wait for them.
#include "machine_site.hpp"

namespace {

using namespace machine_test;


TEST(machine_suspended, finished_answers_do_not_wait) {
    site_driver d;
    d.receive(get("/hello") + get("/hello") + get("/later/hello") + get("/hello"));
    EXPECT_EQ(d.wire, hello + hello);
    EXPECT_EQ(d.sends, 1U);
    EXPECT_EQ(d.served, 3U);
    EXPECT_TRUE(d.m.suspended());
    EXPECT_FALSE(d.m.idle());
    d.finish();
    EXPECT_EQ(d.wire, hello + hello + hello + hello);
    EXPECT_EQ(d.sends, 2U) << "what was behind goes out with it";
    EXPECT_TRUE(d.m.idle());
}

TEST(machine_suspended, nothing_is_read_meanwhile) {
    site_driver d;
    d.receive(get("/later/hello") + get("/hello").substr(0, 9));
    d.receive(get("/hello").substr(9) + get("/later/hello"));
    EXPECT_EQ(d.pending.size(), (get("/hello").substr(9) + get("/later/hello")).size());
    d.finish();
    EXPECT_EQ(d.wire, hello + hello);
    d.finish();
    EXPECT_EQ(d.wire, hello + hello + hello);
}

TEST(machine_suspended, a_long_pipeline_of_them) {
    site_driver d;
    std::string sent, expected;
    for (int i = 0; i != 300; ++i) {
        const std::string n = std::to_string(i) + "\r\n";
        sent += get("/later/report", "X-N: " + n) + post("/later/report", n) + post_chunks("/later/report", n, 1);
        expected += ok(reported("GET", "/later/report", "X-N=" + n.substr(0, n.size() - 2) + "\n", "")) +
                    ok(reported("POST", "/later/report", "Content-Length=" + std::to_string(n.size()) + "\n", n)) +
                    ok(reported("POST", "/later/report", "Transfer-Encoding=chunked\n", n));
    }
    d.receive(sent);
    for (int i = 0; i != 900; ++i) {
        d.finish();
        ASSERT_LE(d.buffers.stats().in_use, 4U); // head, body, its trailer, what is behind
    }
    EXPECT_EQ(d.wire, expected);
    EXPECT_TRUE(d.m.idle());
}

TEST(machine_suspended, finishes_while_output_is_unsent) {
    site_driver d;
    d.writes_itself = false;
    std::size_t k = 10;
    d.send_most = [&] { return std::exchange(k, 0); };
    d.receive(get("/hello") + get("/later/report") + get("/hello") + get("/later/large?20000") + get("/hello"));
    EXPECT_TRUE(d.blocked);
    d.finish();
    EXPECT_EQ(d.wire, hello.substr(0, 10));
    EXPECT_EQ(d.served, 2U) << "nothing is taken up while output is unsent";
    const auto flow = [&] {
        while (d.blocked) {
            k = unlimited; // for one send
            d.writable();
        }
    };
    flow();
    const std::string so_far = hello + ok(reported("GET", "/later/report", "", "")) + hello;
    EXPECT_EQ(d.wire, so_far);
    d.finish();
    EXPECT_TRUE(d.blocked);
    k = unlimited;
    d.writable();
    EXPECT_EQ(d.wire, so_far + ok(pattern(20'000))) << "what is behind comes when it is sent";
    flow();
    EXPECT_EQ(d.wire, so_far + ok(pattern(20'000)) + hello);
    EXPECT_TRUE(d.m.idle());
}

TEST(machine_suspended, the_peer_may_shut_down_its_side) {
    for (const bool blocked : {false, true}) {
        site_driver d;
        d.writes_itself = false;
        std::size_t k = blocked ? 3 : unlimited;
        d.send_most = [&] { return blocked ? std::exchange(k, 0) : k; };
        d.receive(get("/hello") + get("/later/hello") + get("/hello").substr(0, 20));
        d.receive(get("/hello").substr(20) + get("/later/report"));
        EXPECT_FALSE(d.waiting->peer_finished);
        d.finish_peer();
        EXPECT_TRUE(d.waiting->peer_finished) << "the handler may know";
        d.finish();
        while (d.blocked) {
            k = unlimited;
            d.writable();
        }
        EXPECT_EQ(d.wire, hello + hello + hello) << "what it had sent before is served";
        ASSERT_TRUE(d.waiting);
        EXPECT_TRUE(d.waiting->peer_finished);
        d.finish();
        while (d.blocked) {
            k = unlimited;
            d.writable();
        }
        EXPECT_EQ(d.wire, hello + hello + hello + ok(reported("GET", "/later/report", "", "")));
        EXPECT_TRUE(d.closed);
    }
}

TEST(machine_suspended, outlives_its_connection) {
    site_driver d;
    d.receive(post("/later/report", "some ") + get("/hello"));
    d.finish();
    d.receive(post_chunks("/later/report", "some body", 3).substr(0, 80));
    d.receive(post_chunks("/later/report", "some body", 3).substr(80));
    d.close();
    ASSERT_EQ(d.detached.size(), 1U);
    EXPECT_EQ(report(*d.detached[0]), reported("POST", "/later/report", "Transfer-Encoding=chunked\n", "some body"));
    d.detached[0]->response.body("too late");
    EXPECT_GT(d.buffers.stats().in_use, 0U);
    d.release_detached();
    EXPECT_EQ(d.buffers.stats().in_use, 0U);
}

TEST(machine_suspended, exchange_of_a_connection_that_breaks_in_other_phases) {
    for (const std::string& sent :
         {get("/hello").substr(0, 9), post("/report", "12345").substr(0, 54), get("/large?90000")}) {
        site_driver d;
        d.writes_itself = false;
        std::size_t k = 1;
        d.send_most = [&] { return std::exchange(k, 0); };
        d.receive(sent);
        EXPECT_NE(d.m.current(), nullptr);
        EXPECT_FALSE(d.m.suspended());
        d.close();
        EXPECT_TRUE(d.detached.empty());
        EXPECT_EQ(d.buffers.stats().in_use, 0U);
    }
}

TEST(machine_suspended, deadline_answers_in_its_place) {
    for (const std::string method : {"GET", "HEAD"}) {
        site_driver d;
        d.handler_timeout = std::chrono::milliseconds(300);
        const std::string request = method + " /later/report HTTP/1.1\r\nHost: a\r\n\r\n";
        d.receive(get("/hello") + request + get("/hello"));
        EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 300);
        EXPECT_FALSE(d.advance_to(d.now_ms + 299));
        EXPECT_TRUE(d.advance_to(d.now_ms + 1));
        EXPECT_EQ(d.wire, hello + refused(503, method == "HEAD"));
        EXPECT_TRUE(d.shut);
        EXPECT_FALSE(d.closed);
        ASSERT_EQ(d.detached.size(), 1U);
        EXPECT_EQ(d.detached[0]->head.target(), "/later/report");
    }
}

// An owner that leaves the exchange in the machine and lets the handler finish.
TEST(machine_suspended, answers_after_the_deadline_are_dropped) {
    site_driver d;
    d.takes_exchanges = false;
    d.handler_timeout = std::chrono::milliseconds(300);
    d.receive(get("/later/hello"));
    EXPECT_TRUE(d.advance_to(d.now_ms + 300));
    EXPECT_TRUE(d.m.suspended());
    d.finish();
    EXPECT_FALSE(d.m.suspended());
    EXPECT_EQ(d.wire, refused(503));
    d.finish_peer();
    EXPECT_TRUE(d.closed);
}

} // namespace
