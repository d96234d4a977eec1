// Requests whose body comes to the handler in pieces.
#include "machine_site.hpp"

#include <chrono>
#include <numeric>

namespace {

using namespace machine_test;
using std::chrono::milliseconds;

const std::string done = ok("");

std::string joined(const std::vector<std::string>& pieces) {
    return std::accumulate(pieces.begin(), pieces.end(), std::string());
}

// Reads to the end, whenever something has come.
void read_on(site_driver& d) {
    while (d.waiting && !d.m.reading()) {
        if (!d.pieces.empty() && d.pieces.back().empty()) return;
        d.want_body();
    }
}

TEST(machine_stream_in, handler_starts_before_its_body) {
    site_driver d;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    ASSERT_TRUE(d.waiting);
    EXPECT_TRUE(d.waiting->body_open);
    EXPECT_EQ(d.read_all(), "(waits)");
    d.receive("01234");
    EXPECT_EQ(joined(d.pieces), "01234");
    d.receive("56789"); // nobody has asked: it stays where it is
    EXPECT_EQ(joined(d.pieces), "01234");
    EXPECT_EQ(d.pending, "56789");
    d.want_body();
    EXPECT_EQ(joined(d.pieces), "0123456789");
    d.want_body();
    EXPECT_EQ(d.pieces.back(), "");
    EXPECT_FALSE(d.waiting->body_open);
    d.finish();
    EXPECT_EQ(d.wire, done);
    EXPECT_TRUE(d.m.idle());
}

TEST(machine_stream_in, every_split) {
    const std::string body = pattern(200);
    for (const std::string& first : {post("/piece", body), post_chunks("/piece", body, 60), get("/piece")}) {
        const std::string sent = first + get("/hello");
        for (std::size_t at = 1; at != sent.size(); ++at) {
            site_driver d;
            d.receive(std::string_view(sent).substr(0, at));
            read_on(d);
            d.receive(std::string_view(sent).substr(at));
            read_on(d);
            ASSERT_TRUE(d.waiting) << at;
            ASSERT_EQ(joined(d.pieces), first.starts_with("GET") ? "" : body) << at;
            d.finish();
            ASSERT_EQ(d.wire, done + hello) << at;
            ASSERT_TRUE(d.m.idle());
        }
        site_driver d;
        for (const char& c : sent) {
            d.receive({&c, 1});
            read_on(d);
        }
        EXPECT_EQ(joined(d.pieces), first.starts_with("GET") ? "" : body);
        d.finish();
        EXPECT_EQ(d.wire, done + hello);
    }
}

TEST(machine_stream_in, memory_follows_what_arrives) {
    const std::string body = pattern(3'000'000);
    for (const bool chunked : {false, true}) {
        site_driver d({.input_bytes = 64 * 1024});
        d.body_bytes = body.size();
        d.receive(chunked ? post_chunks("/piece", body, 100'000) : post("/piece", body));
        std::size_t most = 0;
        d.before_event = [&] { most = std::max<std::size_t>(most, d.buffers.stats().in_use); };
        EXPECT_EQ(d.read_all(), body);
        std::size_t largest = 0;
        for (const std::string& piece : d.pieces) largest = std::max(largest, piece.size());
        EXPECT_GT(largest, 50'000U);
        EXPECT_LE(largest, 64U * 1024);
        EXPECT_LE(most, chunked ? 3U : 2U) << "the head and the piece, and in the end a trailer";
        d.finish();
        EXPECT_EQ(d.wire, done);
    }
}

// What is not there yet occupies nothing, however long it takes.
TEST(machine_stream_in, silence_occupies_no_buffer) {
    for (const std::string& sent :
         {post("/piece", pattern(3'000'000)), post_chunks("/piece", pattern(3'000'000), 50'000)}) {
        site_driver d({.input_bytes = 64 * 1024});
        d.body_bytes = 3'000'000;
        const std::size_t head = sent.find("\r\n\r\n") + 4;
        std::size_t at = head;
        d.receive(std::string_view(sent).substr(0, at));
        for (const std::size_t size : {10U, 1U, 10'000U, 40'000U, 1U, 100U}) {
            if (!d.m.reading()) d.want_body();
            ASSERT_TRUE(d.m.reading());
            EXPECT_EQ(d.buffers.stats().in_use, 1U) << "the head";
            d.receive(std::string_view(sent).substr(at, size));
            at += size;
            while (!d.pending.empty()) d.want_body();
        }
        // Who has more than there is room for is given room for more.
        if (!d.m.reading()) d.want_body();
        d.receive(std::string_view(sent).substr(at, 70'000));
        EXPECT_EQ(d.m.reading(), false);
        d.want_body();
        EXPECT_EQ(d.buffers.stats().in_use, 2U);
    }
}

TEST(machine_stream_in, continue_goes_out_with_the_first_question) {
    const std::string head = "POST /piece HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    site_driver d;
    d.receive(head);
    ASSERT_TRUE(d.waiting);
    EXPECT_EQ(d.wire, "");
    d.want_body();
    EXPECT_EQ(d.wire, continue_text);
    d.receive("ab");
    d.want_body();
    d.receive("cde");
    EXPECT_EQ(joined(d.pieces), "abcde");
    d.finish();
    EXPECT_EQ(d.wire, std::string(continue_text) + done);
    EXPECT_TRUE(d.m.idle());
}

TEST(machine_stream_in, continue_is_spared_who_did_not_wait) {
    const std::string head = "POST /piece HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    site_driver d;
    d.receive(head + "ab");
    d.want_body();
    d.want_body();
    d.receive("cde");
    EXPECT_EQ(joined(d.pieces), "abcde");
    d.finish();
    EXPECT_EQ(d.wire, done);
}

TEST(machine_stream_in, refuses_a_body_unsent) {
    site_driver d;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    d.waiting->response.status(403);
    d.finish();
    EXPECT_EQ(d.wire, answer(403, "", "close"));
    EXPECT_TRUE(d.shut);
}

TEST(machine_stream_in, rest_of_a_body_nobody_wants) {
    struct row {
        std::string sent;
        bool goes_on;
    };
    const row rows[] = {
        {post("/piece", pattern(1'000)), true},
        {post("/piece", pattern(200'000)), true},
        {post("/piece", pattern(400'000)), false},
        {post_chunks("/piece", pattern(200'000), 5'000), true},
        {post_chunks("/piece", pattern(400'000), 5'000), false},
    };
    for (const bool reads : {false, true}) {
        for (const row& r : rows) {
            site_driver d;
            d.receive(r.sent);
            if (reads) d.want_body();
            d.finish();
            d.receive(get("/hello"));
            EXPECT_EQ(d.shut, !r.goes_on) << r.sent.size() << reads;
            if (r.goes_on) {
                EXPECT_EQ(d.wire, done + hello) << r.sent.size() << reads;
            }
        }
    }
}

// A client that waits for 100 Continue and is given the final answer instead may keep its body to itself.
TEST(machine_stream_in, answer_that_begins_before_continue) {
    const std::string head = "POST /piece HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    site_driver silent;
    silent.receive(head);
    silent.write("x");
    silent.want_body();
    EXPECT_EQ(silent.wire.find("100 Continue"), std::string::npos);
    silent.finish();
    EXPECT_TRUE(silent.shut) << "what follows may be a body, or a request";

    site_driver sends;
    sends.receive(head);
    sends.write("x");
    sends.want_body();
    sends.receive("ab");
    EXPECT_EQ(joined(sends.pieces), "ab");
    sends.want_body(); // and gives up
    sends.finish();
    sends.receive("cde" + get("/hello"));
    EXPECT_TRUE(sends.wire.ends_with("0\r\n\r\n" + hello));
}

// Whether any of it had come when the handler ended makes no difference.
TEST(machine_stream_in, unwanted_body_that_comes_late) {
    for (const std::string& sent : {post("/piece", get("/500")), post_chunks("/piece", get("/500"), 7)}) {
        for (std::size_t at = sent.find("\r\n\r\n") + 4; at != sent.size(); ++at) {
            for (const bool with_the_next : {false, true}) {
                site_driver d;
                d.receive(std::string_view(sent).substr(0, at));
                d.finish();
                ASSERT_EQ(d.wire, done) << at;
                d.receive(sent.substr(at) + (with_the_next ? get("/hello") : ""));
                if (!with_the_next) d.receive(get("/hello"));
                ASSERT_EQ(d.wire, done + hello) << at;
            }
        }
    }
}

TEST(machine_stream_in, too_large) {
    site_driver d;
    d.body_bytes = 10;
    d.receive(post("/piece", pattern(11)));
    EXPECT_EQ(d.handled, 0U);
    EXPECT_EQ(d.wire, refused(413));

    site_driver chunked;
    chunked.body_bytes = 10;
    const std::string sent = post_chunks("/piece", pattern(11), 4);
    chunked.receive(std::string_view(sent).substr(0, sent.find("\r\n\r\n") + 8));
    ASSERT_TRUE(chunked.waiting);
    chunked.read_all();
    EXPECT_EQ(chunked.wire, "");
    chunked.receive(std::string_view(sent).substr(sent.find("\r\n\r\n") + 8));
    while (chunked.waiting) chunked.want_body();
    EXPECT_EQ(chunked.wire, refused(413));
    EXPECT_TRUE(chunked.shut);
    ASSERT_EQ(chunked.detached.size(), 1U);
    EXPECT_EQ(chunked.detached[0]->body_error, errc::body_too_large);
}

TEST(machine_stream_in, wrong_chunk_ends_the_body) {
    site_driver d;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    d.want_body();
    EXPECT_EQ(joined(d.pieces), "abc");
    d.want_body();
    d.receive("x\r\n");
    EXPECT_EQ(d.wire, refused(400));
    ASSERT_EQ(d.detached.size(), 1U);
    EXPECT_EQ(d.detached[0]->body_error, errc::bad_chunk_size);
    // One that is wrong from the start has no handler.
    site_driver early;
    early.receive("POST /piece HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    EXPECT_EQ(early.handled, 0U);
    EXPECT_EQ(early.wire, refused(400));
}

TEST(machine_stream_in, peer_ends_before_its_body) {
    for (const bool asked_before : {false, true}) {
        site_driver d;
        d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
        d.want_body();
        if (asked_before) d.want_body();
        d.finish_peer();
        if (!asked_before) {
            ASSERT_TRUE(d.waiting);
            EXPECT_TRUE(d.waiting->peer_finished);
            d.want_body();
        }
        EXPECT_TRUE(d.closed);
        ASSERT_EQ(d.detached.size(), 1U);
        EXPECT_EQ(d.detached[0]->body_error, errc::incomplete_body);
    }
}

TEST(machine_stream_in, slow_body) {
    site_driver d;
    d.bounds.body_grace = milliseconds(5'000);
    d.bounds.body_rate = 1'000;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    EXPECT_EQ(d.m.deadline_ms(d.bounds), 0U) << "the handler's time";
    d.advance_to(d.now_ms + 60'000);
    d.want_body();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 5'000);
    d.now_ms += 3'000;
    d.receive(pattern(1'000));
    EXPECT_EQ(d.pieces.size(), 1U);
    d.advance_to(d.now_ms + 60'000); // and again
    EXPECT_FALSE(d.closed);
    d.want_body();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 3'000) << "3 s are used, 1 s was earned";
    EXPECT_FALSE(d.advance_to(d.now_ms + 2'999));
    EXPECT_TRUE(d.advance_to(d.now_ms + 1));
    EXPECT_EQ(d.wire, refused(408));
    ASSERT_EQ(d.detached.size(), 1U);
    EXPECT_EQ(d.detached[0]->body_error, errc::body_timeout);
}

// However small the pieces, what they earn is counted.
TEST(machine_stream_in, rate_of_small_pieces) {
    for (const bool fast : {false, true}) {
        site_driver d;
        d.bounds.body_grace = milliseconds(1'000);
        d.bounds.body_rate = 3'000;
        d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
        for (int ms = 0; ms != 10'000 && !d.closed && !d.shut; ++ms) {
            for (int piece = 0; piece != (fast ? 2 : 1); ++piece) {
                d.want_body();
                d.receive("ab"); // less than is asked of a millisecond
            }
            d.want_body();
            d.advance_to(d.now_ms + 1);
            d.give_up();
        }
        EXPECT_EQ(d.wire, fast ? "" : refused(408));
    }
}

// Who was fast may pause as long as a peer that reads, and no longer.
TEST(machine_stream_in, credit_of_a_fast_body_is_bounded) {
    site_driver d;
    d.bounds.body_rate = 1'000;
    d.bounds.write_stall = milliseconds(30'000);
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + pattern(15'000));
    for (int i = 0; i != 20; ++i) {
        d.want_body();
        d.receive(pattern(16'000));
    }
    d.want_body();
    d.want_body();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 35'000);
}

TEST(machine_stream_in, handlers_deadline_while_it_reads) {
    site_driver d;
    d.handler_timeout = milliseconds(300);
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    d.want_body();
    EXPECT_TRUE(d.advance_to(d.now_ms + 300));
    EXPECT_EQ(d.wire, refused(503));
    EXPECT_EQ(d.detached.size(), 1U);
}

TEST(machine_stream_in, no_memory) {
    site_driver d({.pool_bytes = std::size_t{1} << 20});
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n");
    std::vector<pool::buffer> hoard;
    while (pool::buffer b = d.cache->acquire(4'096)) hoard.push_back(std::move(b));
    d.held_by_test = hoard.size();
    d.want_body();
    EXPECT_EQ(d.wire, "");
    d.receive("x");
    EXPECT_EQ(d.wire, refused(503));
    EXPECT_EQ(d.detached.size(), 1U);
    for (pool::buffer& b : hoard) d.cache->release(std::move(b));
    d.held_by_test = 0;
}

TEST(machine_stream_in, connection_breaks_while_the_handler_reads) {
    site_driver d;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    d.want_body();
    d.want_body();
    d.close();
    ASSERT_EQ(d.detached.size(), 1U);
    d.release_detached();
    EXPECT_EQ(d.buffers.stats().in_use, 0U);
}

} // namespace
