// Handlers that ask for a piece of their body and do not wait until it comes.
#include "machine_site.hpp"

#include <chrono>
#include <utility>

namespace {

using namespace machine_test;
using std::chrono::milliseconds;

// A handler may give up waiting, and ask again, write, or finish. What comes meanwhile is not received.
TEST(machine_given_up, what_comes_stays) {
    const std::string head = "POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    site_driver again;
    again.receive(head);
    again.want_body();
    again.give_up();
    EXPECT_FALSE(again.m.reading());
    again.receive("abcde");
    EXPECT_EQ(again.pending, "abcde");
    EXPECT_TRUE(again.pieces.empty());
    again.want_body();
    EXPECT_EQ(again.pieces, std::vector<std::string>{"abcde"});
    again.give_up(); // too late
    again.want_body();
    EXPECT_EQ(again.pieces.back(), "");

    site_driver finishes;
    finishes.receive(head);
    finishes.want_body();
    finishes.give_up();
    finishes.finish();
    EXPECT_EQ(finishes.wire, ok(""));
    finishes.receive("abcde" + get("/hello"));
    EXPECT_EQ(finishes.wire, ok("") + hello);

    site_driver writes;
    writes.receive(head);
    writes.want_body();
    writes.give_up();
    writes.write("");
    EXPECT_EQ(writes.written, 1U);
    writes.want_body();
    writes.receive("abcde");
    EXPECT_EQ(writes.pieces, std::vector<std::string>{"abcde"});
}

// Wherever the bytes are cut, and however often it gives up, it misses nothing, and is told to go on once.
TEST(machine_given_up, between_any_two_bytes) {
    const std::string body = pattern(50);
    const std::string expect = "Expect: 100-continue\r\n";
    for (const std::string& first : {post("/piece", body, expect), post_chunks("/piece", body, 20, expect)}) {
        site_driver d;
        std::string all;
        for (const char& c : first + get("/hello")) {
            d.receive({&c, 1});
            for (int i = 0; i != 2 && d.waiting && (d.pieces.empty() || !d.pieces.back().empty()); ++i) {
                d.want_body();
                if (d.m.reading()) d.give_up();
            }
        }
        for (const std::string& piece : d.pieces) all += piece;
        EXPECT_EQ(all, body);
        EXPECT_TRUE(d.pieces.back().empty());
        d.finish();
        EXPECT_EQ(d.wire, std::string(continue_text) + ok("") + hello);
    }
}

// A half-close that comes when nobody asks is no end of the request yet: what was sent before may be its body.
TEST(machine_given_up, peer_ends_afterwards) {
    for (const bool whole : {false, true}) {
        site_driver d;
        d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
        d.want_body();
        d.give_up();
        d.receive(whole ? "abcde" : "ab");
        d.finish_peer();
        ASSERT_TRUE(d.waiting);
        EXPECT_TRUE(d.waiting->peer_finished);
        d.want_body();
        EXPECT_EQ(d.pieces.back(), whole ? "abcde" : "ab");
        d.want_body();
        if (whole) {
            EXPECT_EQ(d.pieces.back(), "");
            d.finish();
            EXPECT_EQ(d.wire, ok(""));
        } else {
            ASSERT_EQ(d.detached.size(), 1U);
            EXPECT_EQ(d.detached[0]->body_error, errc::incomplete_body);
        }
        EXPECT_TRUE(d.closed);
    }
}

TEST(machine_given_up, handlers_deadline) {
    site_driver d;
    d.bounds.body_grace = milliseconds(100);
    d.handler_timeout = milliseconds(300);
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    const std::uint64_t begun = d.now_ms;
    d.want_body();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), begun + 100);
    d.advance_to(begun + 50);
    d.give_up();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), begun + 300);
    EXPECT_TRUE(d.advance_to(begun + 300));
    EXPECT_EQ(d.wire, refused(503));
}

// What a handler does between two questions is not the peer's time, but how long it was asked in vain is.
TEST(machine_given_up, slow_body) {
    for (const int what : {0, 1, 2}) {
        site_driver d;
        d.bounds.body_grace = milliseconds(5'000);
        d.bounds.body_rate = 1'000;
        d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
        d.want_body();
        d.advance_to(d.now_ms + 1'000);
        d.give_up();
        EXPECT_EQ(d.m.deadline_ms(d.bounds), 0U);
        if (what == 1) d.write("");
        if (what == 2) d.interim(103);
        EXPECT_FALSE(d.advance_to(d.now_ms + 60'000));
        d.want_body();
        EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 4'000);
    }
}

// Nothing is read of a body while something is unsent, be it asked for in one go or again and again: a peer that takes
// its answers slowly has its time for the body from when it has them.
TEST(machine_given_up, not_read_is_not_late) {
    for (const bool gives_up : {false, true}) {
        site_driver d;
        d.bounds.body_grace = milliseconds(5'000);
        d.bounds.body_rate = 1'000;
        d.bounds.write_stall = milliseconds(30'000);
        d.writes_itself = false;
        std::size_t room = 5;
        d.send_most = [&] { return std::exchange(room, 0); };
        d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
        for (int i = 0; i != 10; ++i) {
            if (gives_up || i == 0) d.want_body();
            ASSERT_TRUE(d.blocked);
            ASSERT_FALSE(d.advance_to(d.now_ms + 2'000)) << i;
            if (gives_up) d.give_up();
        }
        room = 1'000;
        d.writable();
        ASSERT_FALSE(d.blocked);
        if (gives_up) d.want_body();
        EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 5'000);
        EXPECT_TRUE(d.advance_to(d.now_ms + 5'000));
    }
}

} // namespace
