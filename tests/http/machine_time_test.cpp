// Deadlines, draining, the bounds of a connection, and its ends.
#include "machine_site.hpp"

namespace {

using namespace machine_test;
using namespace std::chrono_literals;


class machine_time : public testing::Test {
protected:
    machine_time() : d({.bounds = bounds()}) {}

    static limits bounds() {
        limits l;
        l.head_timeout = 1'000ms;
        l.body_grace = 2'000ms;
        l.body_rate = 100;
        l.write_stall = 3'000ms;
        l.idle_timeout = 7'000ms;
        return l;
    }

    void pass(std::uint64_t ms) { EXPECT_FALSE(d.advance_to(d.now_ms + ms)); }
    // Nothing happens until `ms` from now, then the deadline does.
    void passes_in(std::uint64_t ms) {
        ASSERT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + ms);
        ASSERT_FALSE(d.advance_to(d.now_ms + ms - 1));
        ASSERT_TRUE(d.advance_to(d.now_ms + 1));
    }
    void lingers_and_ends(std::string_view wire) {
        EXPECT_EQ(d.wire, wire);
        EXPECT_TRUE(d.shut);
        EXPECT_FALSE(d.closed);
        passes_in(5'000);
        EXPECT_TRUE(d.closed);
        EXPECT_EQ(d.wire, wire);
    }

    site_driver d;
};

TEST_F(machine_time, a_fresh_connection) {
    passes_in(7'000);
    EXPECT_TRUE(d.closed);
    EXPECT_FALSE(d.shut);
    EXPECT_EQ(d.wire, "");
}

TEST_F(machine_time, an_idle_connection) {
    pass(6'000);
    d.receive(get("/hello"));
    pass(6'999);
    d.receive(get("/hello"));
    passes_in(7'000);
    EXPECT_EQ(d.wire, hello + hello);
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, a_head_has_its_time_from_its_first_byte) {
    pass(6'000);
    d.receive("G");
    pass(500);
    d.receive("ET / ");
    passes_in(500);
    lingers_and_ends(refused(408));
}

TEST_F(machine_time, a_head_behind_an_answer) {
    d.receive(get("/hello") + get("/hello").substr(0, 10));
    pass(999);
    d.receive(get("/hello").substr(10) + "G");
    passes_in(1'000);
    lingers_and_ends(hello + hello + refused(408));
}

TEST_F(machine_time, empty_lines_are_not_a_head) {
    d.receive(get("/hello") + "\r\n");
    pass(6'999);
    d.receive(get("/hello").substr(0, 10));
    pass(999);
    d.receive(get("/hello").substr(10) + "\r");
    passes_in(7'000);
    EXPECT_EQ(d.wire, hello + hello);
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, a_body_has_its_grace_and_then_its_rate) {
    for (const bool chunked : {false, true}) {
        site_driver fresh({.bounds = bounds()});
        const std::string all =
            chunked ? post_chunks("/report", std::string(1'000, 'x'), 1'000) : post("/report", std::string(1'000, 'x'));
        const std::size_t body = all.find("\r\n\r\n") + 4;
        const std::uint64_t start = fresh.now_ms;
        fresh.receive(all.substr(0, body + 100));
        const std::uint64_t counted = chunked ? 95 : 100; // the line with the size is no body where it came with it
        EXPECT_EQ(fresh.m.deadline_ms(fresh.bounds), start + 2'000 + counted * 10);
        EXPECT_FALSE(fresh.advance_to(start + 2'500));
        fresh.receive(all.substr(body + 100, 200));
        EXPECT_EQ(fresh.m.deadline_ms(fresh.bounds), start + 2'000 + (counted + 200) * 10);
        EXPECT_FALSE(fresh.advance_to(start + 2'000 + (counted + 200) * 10 - 1));
        EXPECT_TRUE(fresh.advance_to(start + 2'000 + (counted + 200) * 10));
        EXPECT_EQ(fresh.wire, refused(408));
        EXPECT_TRUE(fresh.shut);
    }
    d.bounds.body_rate = 0;
    d.receive(post("/report", "12345").substr(0, 54));
    EXPECT_EQ(d.m.deadline_ms(d.bounds), 0U) << "no limit";
}

TEST_F(machine_time, a_dropped_body_too) {
    for (const bool chunked : {false, true}) {
        site_driver fresh({.bounds = bounds()});
        const std::string all =
            chunked ? post_chunks("/no", std::string(1'000, 'x'), 1'000) : post("/no", std::string(1'000, 'x'));
        const std::size_t body = all.find("\r\n\r\n") + 4;
        const std::uint64_t start = fresh.now_ms;
        fresh.receive(all.substr(0, body));
        const std::string no = answer(404, "not sent for every status");
        EXPECT_EQ(fresh.wire, no);
        EXPECT_EQ(fresh.m.deadline_ms(fresh.bounds), start + 2'000);
        EXPECT_FALSE(fresh.advance_to(start + 1'500));
        fresh.receive(all.substr(body, 200));
        EXPECT_EQ(fresh.m.deadline_ms(fresh.bounds), start + 4'000);
        EXPECT_FALSE(fresh.advance_to(start + 3'999));
        fresh.receive(all.substr(body + 200) + get("/hello"));
        EXPECT_EQ(fresh.wire, no + hello);
        EXPECT_EQ(fresh.m.deadline_ms(fresh.bounds), start + 3'999 + 7'000);
        fresh.receive(all.substr(0, body));
        EXPECT_TRUE(fresh.advance_to(start + 3'999 + 2'000));
        EXPECT_TRUE(fresh.closed);
    }
}

TEST_F(machine_time, a_peer_that_does_not_read) {
    for (const std::string_view target : {"/hello", "/large?40000"}) {
        site_driver stalls({.bounds = bounds()});
        stalls.writes_itself = false;
        std::size_t k = 10;
        stalls.send_most = [&] { return std::exchange(k, 0); };
        const std::uint64_t start = stalls.now_ms;
        stalls.receive(get(target) + get("/hello") + get("/hello").substr(0, 5));
        EXPECT_EQ(stalls.m.deadline_ms(stalls.bounds), start + 3'000);
        EXPECT_FALSE(stalls.advance_to(start + 2'999));
        k = 1;
        stalls.writable();
        EXPECT_EQ(stalls.m.deadline_ms(stalls.bounds), start + 2'999 + 3'000);
        EXPECT_FALSE(stalls.advance_to(start + 2'999 + 2'000));
        stalls.writable(); // and takes nothing
        EXPECT_EQ(stalls.m.deadline_ms(stalls.bounds), start + 2'999 + 3'000);
        EXPECT_FALSE(stalls.advance_to(start + 2'999 + 2'999));
        EXPECT_TRUE(stalls.advance_to(start + 2'999 + 3'000));
        EXPECT_TRUE(stalls.closed);
        EXPECT_EQ(stalls.wire.size(), 11U);
    }
}

TEST_F(machine_time, a_peer_that_takes_nothing) {
    for (const std::string_view target : {"/hello", "/large?40000"}) {
        site_driver stalls({.bounds = bounds()});
        stalls.writes_itself = false;
        stalls.send_most = [] { return std::size_t{0}; };
        stalls.receive(get(target));
        EXPECT_EQ(stalls.m.deadline_ms(stalls.bounds), stalls.now_ms + 3'000);
    }
}

TEST_F(machine_time, counts_from_the_last_byte_sent) {
    d.writes_itself = false;
    std::size_t k = 10;
    d.send_most = [&] { return std::exchange(k, unlimited); };
    d.receive(get("/hello"));
    pass(2'500);
    d.writable();
    EXPECT_EQ(d.wire, hello);
    passes_in(7'000);
}

TEST_F(machine_time, a_suspended_handler_and_a_peer_that_does_not_read) {
    for (const auto timeout : {2'000ms, 5'000ms, 0ms}) {
        site_driver both({.bounds = bounds()});
        both.handler_timeout = timeout;
        both.writes_itself = false;
        std::size_t k = 10;
        both.send_most = [&] { return std::exchange(k, 0); };
        const std::uint64_t start = both.now_ms;
        both.receive(get("/hello") + get("/later/hello"));
        const bool handler_first = timeout == 2'000ms;
        const std::uint64_t due = start + (handler_first ? 2'000 : 3'000);
        EXPECT_EQ(both.m.deadline_ms(both.bounds), due);
        EXPECT_FALSE(both.advance_to(due - 1));
        EXPECT_TRUE(both.advance_to(due));
        EXPECT_EQ(both.closed, !handler_first);
        EXPECT_EQ(both.detached.size(), 1U);
        if (handler_first) {
            k = unlimited;
            both.writable();
            EXPECT_EQ(both.wire, hello + refused(503));
            EXPECT_TRUE(both.shut);
        }
    }
}

TEST_F(machine_time, progress_of_output_gives_a_handler_no_time) {
    d.handler_timeout = 2'000ms;
    d.writes_itself = false;
    std::size_t k = 10;
    d.send_most = [&] { return std::exchange(k, 0); };
    const std::uint64_t start = d.now_ms;
    d.receive(get("/hello") + get("/later/hello"));
    pass(1'500);
    k = unlimited;
    d.writable();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), start + 2'000);
}

TEST_F(machine_time, waiting_for_a_turn_is_not_the_peer_s_fault) {
    d.bounds.turn_requests = 1;
    d.between_turns = [&] { EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 7'000); };
    d.receive(get("/later/hello") + get("/hello"));
    pass(8'000);
    d.finish();
    EXPECT_EQ(d.laters, 1U);
    EXPECT_EQ(d.wire, hello + hello);
}

TEST_F(machine_time, zero_is_never) {
    site_driver none({.bounds = {.head_timeout = 0ms, .body_rate = 0, .write_stall = 0ms, .idle_timeout = 0ms}});
    EXPECT_EQ(none.m.deadline_ms(none.bounds), 0U);
    none.receive("G");
    EXPECT_EQ(none.m.deadline_ms(none.bounds), 0U);
    none.receive(get("/later/hello").substr(1));
    EXPECT_EQ(none.m.deadline_ms(none.bounds), 0U);
    none.writes_itself = false;
    none.send_most = [] { return std::size_t{0}; };
    none.finish();
    EXPECT_EQ(none.m.deadline_ms(none.bounds), 0U);
    EXPECT_FALSE(none.advance_to(std::uint64_t(1) << 62));
}

// ---- the end is our wish
// ---------------------------------------------------------------------------------------------

TEST_F(machine_time, draining) {
    d.receive(get("/hello"));
    d.draining = true;
    EXPECT_TRUE(d.m.idle());
    d.receive(get("/hello") + get("/hello"));
    lingers_and_ends(hello + ok("hello world", "close"));
}

TEST_F(machine_time, draining_while_a_handler_is_suspended) {
    d.receive(get("/later/hello") + get("/hello"));
    d.draining = true;
    d.finish();
    lingers_and_ends(ok("hello world", "close"));
}

TEST_F(machine_time, draining_and_the_client_wants_it_too) {
    d.draining = true;
    d.receive(get("/hello", "Connection: close\r\n"));
    EXPECT_EQ(d.wire, ok("hello world", "close"));
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, requests_of_a_connection) {
    d.bounds.requests_per_connection = 3;
    d.receive(get("/hello") + get("/hello"));
    EXPECT_TRUE(d.m.idle());
    EXPECT_EQ(d.m.requests(), 2U);
    d.receive(get("/hello") + get("/hello"));
    lingers_and_ends(hello + hello + ok("hello world", "close"));
    EXPECT_EQ(d.m.requests(), 3U);
}

TEST_F(machine_time, age_of_a_connection) {
    d.bounds.connection_age = 10'000ms;
    d.receive(get("/hello"));
    pass(5'000);
    d.receive(get("/hello"));
    pass(4'999);
    d.receive(get("/hello"));
    pass(1);
    d.receive(get("/hello"));
    lingers_and_ends(hello + hello + hello + ok("hello world", "close"));
}

TEST_F(machine_time, refusal) {
    d.refuse(503);
    lingers_and_ends(refused(503));
}

TEST_F(machine_time, lingering_drops_what_arrives) {
    d.receive("garbage\n");
    pass(4'000);
    EXPECT_EQ(d.m.input_area(d.lent()).size(), 16 * 1024U);
    EXPECT_EQ(d.m.on_input(d.lent(), 1'000).next, action::linger);
    passes_in(1'000);
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, lingering_begins_when_all_is_sent) {
    d.writes_itself = false;
    std::size_t k = 1;
    d.send_most = [&] { return std::exchange(k, unlimited); };
    d.receive("garbage\n");
    EXPECT_FALSE(d.shut);
    pass(2'000);
    d.writable();
    lingers_and_ends(refused(400));
}

// ---- the end is the peer's
// -------------------------------------------------------------------------------------------

TEST_F(machine_time, the_peer_finishes_between_requests) {
    d.receive(get("/hello"));
    d.finish_peer();
    EXPECT_EQ(d.wire, hello);
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, the_peer_finishes_with_its_request) {
    d.peer_done = true;
    d.receive(get("/hello") + get("/large?50000") + post("/owned/report", "12"));
    EXPECT_EQ(d.wire, hello + ok(pattern(50'000)) + ok(reported("POST", "/owned/report", "Content-Length=2\n", "12")));
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, the_peer_finishes_within_a_request) {
    for (const std::string& sent :
         {std::string("\r\n"), get("/hello").substr(0, 9), post("/report", "12345").substr(0, 54),
          post_chunks("/report", "12345", 2).substr(0, 70), post("/no", "12345").substr(0, 50)}) {
        for (const bool before : {true, false}) {
            site_driver cut;
            cut.peer_done = before;
            cut.receive(get("/hello") + sent);
            if (!before) cut.finish_peer();
            EXPECT_EQ(cut.wire,
                      hello + (sent.find("/no") != sent.npos ? answer(404, "not sent for every status") : ""));
            EXPECT_TRUE(cut.closed);
        }
    }
}

TEST_F(machine_time, the_peer_finishes_while_output_is_unsent) {
    for (const std::string_view target : {"/hello", "/large?40000", "/wide?60000"}) {
        site_driver slow;
        slow.writes_itself = false;
        std::size_t k = 7;
        slow.send_most = [&] { return std::exchange(k, 0); };
        slow.receive(get("/hello") + get(target) + get("/hello"));
        slow.receive(get("/later/hello"));
        slow.finish_peer();
        EXPECT_FALSE(slow.closed);
        while (!slow.closed) {
            k = 30'000;
            if (slow.blocked)
                slow.writable();
            else
                slow.finish();
        }
        EXPECT_EQ(slow.served, 4U);
        EXPECT_EQ(slow.wire.substr(slow.wire.size() - 2 * hello.size()), hello + hello);
    }
}

TEST_F(machine_time, the_peer_finishes_between_turns) {
    d.bounds.turn_requests = 1;
    std::size_t turns = 0;
    d.between_turns = [&] {
        if (++turns == 1) {
            d.peer_done = true;
            EXPECT_EQ(d.m.on_peer_finished(d.lent()).next, action::later);
        }
    };
    d.receive(get("/hello") + get("/hello") + get("/hello"));
    EXPECT_EQ(d.wire, hello + hello + hello);
    EXPECT_EQ(turns, 2U);
    EXPECT_TRUE(d.closed);
}

TEST_F(machine_time, the_peer_finishes_while_we_linger) {
    d.receive("garbage\n");
    EXPECT_FALSE(d.closed);
    d.finish_peer();
    EXPECT_EQ(d.wire, refused(400));
    EXPECT_TRUE(d.closed);
}

} // namespace
