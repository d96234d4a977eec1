// Long pipelines, slow peers, large messages and handlers that take their time.
#include "machine_site.hpp"

namespace {

using namespace machine_test;



TEST(machine_pressure, a_long_pipeline_takes_turns) {
    site_driver d({.input_bytes = 64 * 1024, .output_bytes = 256 * 1024});
    d.receive(repeated(get("/hello"), 500));
    EXPECT_EQ(d.wire, repeated(hello, 500));
    EXPECT_EQ(d.laters, 3U); // after 128, 256 and 384
    EXPECT_EQ(d.sends, 4U) << "one output a turn";
    EXPECT_TRUE(d.m.idle());
    EXPECT_EQ(d.m.requests(), 500U);
}

TEST(machine_pressure, the_output_of_a_turn_is_bounded) {
    for (const std::size_t area : {std::size_t{64 * 1024}, std::size_t{4096}, std::size_t{1024}}) {
        site_driver d({.bounds = {.output_bytes = 8192}, .input_bytes = 64 * 1024, .output_bytes = area});
        std::size_t longest = 0, before = 0;
        d.send_most = [&] {
            longest = std::max(longest, d.wire.size() - before);
            before = d.wire.size();
            return unlimited;
        };
        d.receive(repeated(get("/hello"), 500));
        EXPECT_EQ(d.wire, repeated(hello, 500));
        EXPECT_LE(longest, std::min<std::size_t>(area, 8192 + hello.size()));
        EXPECT_GE(longest, std::min<std::size_t>(area / 4, 8192));
    }
}

TEST(machine_pressure, answers_that_do_not_fit) {
    site_driver d;
    // Alone it fits, not behind another; then one that never does.
    d.receive(get("/hello") + get("/wide?60000") + get("/hello") + get("/wide?70000") + get("/hello"));
    const std::string wide =
        "HTTP/1.1 200 OK\r\n" + date_lines() + "X-Wide: " + std::string(60'000, 'w') + "\r\nContent-Length: 0\r\n\r\n";
    EXPECT_EQ(d.wire, hello + wide + hello + refused(500));
    EXPECT_TRUE(d.shut);
    // A body always does: what is too large for the area goes out beside it.
    site_driver small({.output_bytes = 4096});
    small.receive(get("/large?10000") + get("/large?1000") + get("/hello"));
    EXPECT_EQ(small.wire, ok(pattern(10'000)) + ok(pattern(1'000)) + hello);
}

TEST(machine_pressure, large_answers_keep_their_place) {
    const std::string sent = get("/hello") + get("/large?40000") + get("/hello") + get("/shared?16385") +
                             get("/large?16384") + get("/shared?300000") + get("/owned/large?100000") + get("/hello") +
                             get("/later/shared?50000") + get("/hello");
    const std::string expected = hello + ok(pattern(40'000)) + hello + ok(pattern(16'385)) + ok(pattern(16'384)) +
                                 ok(pattern(300'000)) + ok(pattern(100'000)) + hello + ok(pattern(50'000)) + hello;
    for (const std::size_t k : {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{50'000}, unlimited}) {
        site_driver d;
        d.send_most = [&] { return k; };
        d.receive(sent);
        d.finish();
        ASSERT_EQ(d.wire, expected) << k;
        EXPECT_TRUE(d.m.idle());
        EXPECT_LE(d.most_unsent, 300'000 + 64 * 1024U);
    }
}

TEST(machine_pressure, nothing_is_read_or_served_while_output_is_unsent) {
    site_driver d({.output_bytes = 256 * 1024});
    d.writes_itself = false;
    d.bounds.turn_requests = 10;
    std::size_t k = 5;
    d.send_most = [&] { return std::exchange(k, 0); };
    d.receive(repeated(get("/hello"), 100));
    EXPECT_EQ(d.wire, hello.substr(0, 5));
    EXPECT_EQ(d.served, 10U);
    EXPECT_GT(d.m.deadline_ms(d.bounds), d.now_ms);
    d.receive(repeated(get("/hello"), 1000));
    EXPECT_EQ(d.served, 10U);
    EXPECT_EQ(d.pending.size(), 1000 * get("/hello").size()) << "read while blocked";
    while (d.blocked) {
        const std::size_t before = d.wire.size();
        k = 700;
        d.writable();
        ASSERT_GT(d.wire.size(), before);
        ASSERT_LE(d.wire.size(), before + 700);
        ASSERT_LE(d.most_unsent, 11 * hello.size());
    }
    EXPECT_EQ(d.wire, repeated(hello, 1100));
    EXPECT_TRUE(d.m.idle());
}

// ---- requests in pieces
// ----------------------------------------------------------------------------------------------

TEST(machine_pressure, large_heads_survive_every_move) {
    const std::string value = pattern(11'000);
    const std::string fields = "X-Long: " + value + "\r\nX-After: y\r\n";
    for (const std::string path : {"/report", "/owned/report", "/later/report"}) {
        const std::string large = get(path, fields);
        const std::string seen = ok(reported("GET", path, "X-Long=" + value + "\nX-After=y\n", ""));
        for (const std::size_t piece : {std::size_t{1}, std::size_t{61}, std::size_t{1500}, std::size_t{9000}}) {
            site_driver d;
            std::string expected;
            for (int round = 0; round != 3; ++round) {
                // A head that begins in the middle of a buffer of the connection, and grows out of it.
                const std::string all = "\r\n" + repeated(get("/hello"), 90) + large + get("/hello");
                expected += repeated(hello, 90) + seen + hello;
                std::string_view left = all;
                d.receive(left.substr(0, 1));
                left.remove_prefix(1);
                d.receive(left.substr(0, 3200));
                left.remove_prefix(3200);
                for (; !left.empty(); left.remove_prefix(std::min(left.size(), piece))) {
                    d.receive(left.substr(0, piece));
                    if (d.waiting) d.finish();
                }
                ASSERT_EQ(d.wire, expected) << piece;
                ASSERT_TRUE(d.m.idle());
            }
        }
    }
}

TEST(machine_pressure, a_head_moves_to_the_front_before_its_buffer_grows) {
    site_driver d;
    d.receive("\r");
    d.receive("\n" + repeated(get("/hello"), 100) + get("/hello").substr(0, 10));
    EXPECT_EQ(d.buffers.stats(0).in_use, 1U);
    EXPECT_EQ(d.m.input_area(d.lent()).size(), 4096U - 10);
    d.receive(get("/hello").substr(10));
    EXPECT_EQ(d.wire, repeated(hello, 101));
}

TEST(machine_pressure, heads_above_the_limit) {
    site_driver d;
    d.receive(get("/hello") + "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    for (int i = 0; i != 200 && !d.shut; ++i) d.receive(std::string(100, 'x'));
    EXPECT_EQ(d.wire, hello + refused(431));
    EXPECT_TRUE(d.shut);
}

TEST(machine_pressure, large_bodies) {
    const std::string body = pattern(300'000);
    const std::string sent = post("/report", body) + post_chunks("/owned/report", body, 7'777) + get("/hello") +
                             post("/later/report", body.substr(1)) + post_chunks("/report", body.substr(0, 5'000), 1) +
                             get("/hello");
    const std::string coding = "Transfer-Encoding=chunked\n";
    const std::string expected = ok(reported("POST", "/report", "Content-Length=300000\n", body)) +
                                 ok(reported("POST", "/owned/report", coding, body)) + hello +
                                 ok(reported("POST", "/later/report", "Content-Length=299999\n", body.substr(1))) +
                                 ok(reported("POST", "/report", coding, body.substr(0, 5'000))) + hello;
    for (const std::size_t most :
         {std::size_t{397}, std::size_t{1'000}, std::size_t{4'096}, std::size_t{70'001}, unlimited}) {
        site_driver d;
        d.receive_most = most;
        d.receive(sent);
        d.finish();
        ASSERT_EQ(d.wire, expected) << most;
        ASSERT_TRUE(d.m.idle());
    }
}

TEST(machine_pressure, memory_follows_bytes_and_not_promises) {
    site_driver d;
    d.receive("POST /report HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    d.receive(std::string(1000, 'x'));
    EXPECT_EQ(d.buffers.stats().in_use, 2U);
    EXPECT_EQ(d.buffers.stats(0).in_use, 2U) << "one for the head, one for the body";
    EXPECT_LE(
        d.m.input_area(*std::make_unique<turn>(turn{.limits = d.bounds, .buffers = *d.cache, .templates = d.templates}))
            .size(),
        4096U);
    d.receive(std::string(99'000, 'x'));
    EXPECT_EQ(d.buffers.stats(3).in_use + d.buffers.stats(2).in_use, 1U);
    d.close();
    EXPECT_EQ(d.buffers.stats().in_use, 0U);
}

TEST(machine_pressure, a_large_body_takes_no_more_than_it_needs) {
    site_driver d;
    d.body_bytes = 1 << 30;
    d.receive(post("/report", std::string(1'200'000, 'x')).substr(0, 1'100'000));
    EXPECT_LT(d.buffers.mapped_bytes(), 1'210'000U);
    site_driver chunked;
    chunked.receive(post_chunks("/report", pattern(300'000), 100'000).substr(0, 290'000));
    EXPECT_EQ(chunked.m.input_area(chunked.lent()).size(), 16 * 1024U) << "as much as may have to be kept";
}

// ---- 100-continue and early answers
// ----------------------------------------------------------------------------------

TEST(machine_expect, continues_when_the_body_is_not_there) {
    for (const bool chunked : {false, true}) {
        const std::string all = chunked ? post_chunks("/report", "some body", 4, "Expect: 100-continue\r\n")
                                        : post("/report", "some body", "Expect: 100-continue\r\n");
        const std::size_t head = all.find("\r\n\r\n") + 4;
        const std::string seen = ok(reported("POST", "/report",
                                             std::string("Expect=100-continue\n") +
                                                 (chunked ? "Transfer-Encoding=chunked\n" : "Content-Length=9\n"),
                                             "some body"));
        for (std::size_t split = 1; split != all.size(); ++split) {
            site_driver d;
            d.receive(get("/hello") + all.substr(0, split));
            d.receive(all.substr(split));
            EXPECT_EQ(d.wire, hello + (split == head ? std::string(continue_text) : "") + seen) << split;
        }
        site_driver d;
        d.receive_each(all + all);
        EXPECT_EQ(d.wire, std::string(continue_text) + seen + std::string(continue_text) + seen);
    }
}

TEST(machine_expect, is_refused_without_an_interim_answer) {
    site_driver d;
    d.body_bytes = 8;
    d.receive("POST /report HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    EXPECT_EQ(d.wire, refused(413));
    EXPECT_TRUE(d.shut);
    EXPECT_EQ(d.served, 0U);
}

TEST(machine_expect, is_answered_at_routing) {
    const std::string no = "not sent for every status";
    site_driver waits;
    waits.receive("POST /no HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    EXPECT_EQ(waits.wire, answer(404, no, "close"));
    EXPECT_TRUE(waits.shut);

    // The same if the body did not wait, however it arrives.
    const std::string all = post("/no", "some body", "Expect: 100-continue\r\n") + get("/hello");
    for (std::size_t split = 1; split != all.size(); ++split) {
        site_driver does_not;
        does_not.receive(all.substr(0, split));
        does_not.receive(all.substr(split));
        EXPECT_EQ(does_not.wire, answer(404, no, "close")) << split;
        EXPECT_TRUE(does_not.shut) << split;
    }
}

TEST(machine_expect, means_nothing_in_1_0) {
    site_driver d;
    d.receive("POST /hello HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ(d.wire, "");
    d.receive("ab");
    EXPECT_EQ(d.wire, ok("hello world", "close"));
}

TEST(machine_early, a_body_that_nobody_wants_is_read_up_to_a_bound) {
    const std::string no = "not sent for every status";
    const std::size_t bound = 256 * 1024;
    for (const std::size_t size : {bound - 1, bound}) {
        site_driver d;
        d.receive(post("/no", std::string(size, 'x')) + get("/hello"));
        d.receive(post_chunks("/no", std::string(size, 'x'), 10'000) + get("/hello"));
        EXPECT_EQ(d.wire, answer(404, no) + hello + answer(404, no) + hello);
    }
    site_driver by_length;
    by_length.receive(post("/no", std::string(bound + 1, 'x')) + get("/hello"));
    EXPECT_EQ(by_length.wire, answer(404, no, "close"));
    EXPECT_TRUE(by_length.shut);
    site_driver by_chunks;
    by_chunks.receive(post_chunks("/no", std::string(bound + 1, 'x'), 10'000) + get("/hello"));
    EXPECT_EQ(by_chunks.wire, answer(404, no));
    EXPECT_TRUE(by_chunks.shut);
    // The client wants the end, but is still sending: it must be able to read the answer.
    for (const std::string_view rest : {"Content-Length: 9\r\n\r\nsome", "Content-Length: 999999\r\n\r\n",
                                        "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"}) {
        site_driver closes;
        closes.receive("POST /no HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + std::string(rest));
        EXPECT_EQ(closes.wire, answer(404, no, "close"));
        EXPECT_TRUE(closes.shut);
        EXPECT_FALSE(closes.closed);
    }
    site_driver goes_on;
    goes_on.receive(get("/hello", "Connection: close\r\n") + get("/hello"));
    EXPECT_EQ(goes_on.wire, ok("hello world", "close"));
    EXPECT_TRUE(goes_on.shut);
}

} // namespace
