// Responses whose body the handler sends in pieces.
#include "machine_site.hpp"

#include <chrono>

namespace {

using namespace machine_test;
using std::chrono::milliseconds;


std::string streamed_head(std::string_view framing, int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason(status)) + "\r\n" + date_lines() +
           std::string(framing) + "\r\n";
}
std::string chunk(std::string_view bytes) {
    char size[18];
    return std::string(size, write_chunk_head(size, bytes.size())) + std::string(bytes) + "\r\n";
}
const std::string in_chunks = "Transfer-Encoding: chunked\r\n";

TEST(machine_stream_out, chunks) {
    site_driver d;
    d.receive(get("/piece") + get("/hello"));
    d.write("abc");
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc")) << "each piece is sent when it is written";
    d.write("");
    d.write("defgh");
    EXPECT_EQ(d.written, 3U);
    d.waiting->trailers.add("X-Sum", "7");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc") + chunk("defgh") + "0\r\nX-Sum: 7\r\n\r\n" + hello);
    EXPECT_TRUE(d.m.idle());
    EXPECT_EQ(d.m.requests(), 2U);
}

// A piece that was still on its way is its lender's no more.
TEST(machine_stream_out, ends_within_a_piece) {
    site_driver d;
    d.writes_itself = false;
    d.send_most = [] { return std::size_t{1'000}; };
    d.receive(get("/piece"));
    auto piece = std::make_unique<std::string>(pattern(100'000));
    d.write(*piece);
    ASSERT_TRUE(d.blocked);
    piece.reset();
    d.send_most = [] { return unlimited; };
    d.writes_itself = true;
    d.finish();
    EXPECT_TRUE(d.closed);
    EXPECT_FALSE(d.wire.ends_with("0\r\n\r\n"));
}

TEST(machine_stream_out, the_next_exchange_knows_nothing_of_it) {
    site_driver d;
    d.receive(get("/piece"));
    d.write("abc");
    d.waiting->trailers.add("X-Sum", "7");
    d.finish();
    d.wire.clear();
    d.receive(get("/piece"));
    d.write("x");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("x") + "0\r\n\r\n");
}

// A handler writes the same to HEAD as to GET.
TEST(machine_stream_out, length_is_counted_where_no_body_is_sent) {
    site_driver d;
    d.receive("HEAD /piece HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
    d.waiting->response.content_length(8);
    d.write("abc");
    EXPECT_EQ(d.waiting->outgoing_left, 5U);
    d.finish(); // and may stop early
    EXPECT_EQ(d.wire, streamed_head("Content-Length: 8\r\n") + hello);
}

TEST(machine_stream_out, length_that_was_announced) {
    site_driver d;
    d.receive(get("/piece") + get("/hello"));
    d.waiting->response.content_length(8);
    d.write("abc");
    EXPECT_EQ(d.waiting->outgoing_left, 5U);
    d.write("defgh");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head("Content-Length: 8\r\n") + "abcdefgh" + hello);
}

TEST(machine_stream_out, less_than_announced_cuts_the_connection) {
    site_driver d;
    d.receive(get("/piece") + get("/hello"));
    d.waiting->response.content_length(8);
    d.write("abc");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head("Content-Length: 8\r\n") + "abc");
    EXPECT_TRUE(d.closed);
}

TEST(machine_stream_out, broken_has_no_last_chunk) {
    site_driver d;
    d.receive(get("/piece") + get("/hello"));
    d.write("abc");
    d.waiting->broken = true;
    d.finish();
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc"));
    EXPECT_TRUE(d.closed);
}

TEST(machine_stream_out, no_body_where_there_is_none) {
    site_driver head;
    head.receive("HEAD /piece HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
    head.write("abc");
    head.write("def");
    head.finish();
    EXPECT_EQ(head.wire, streamed_head(in_chunks) + hello);

    site_driver with_length;
    with_length.receive("HEAD /piece HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
    with_length.waiting->response.content_length(6);
    with_length.write("abcdef");
    with_length.finish();
    EXPECT_EQ(with_length.wire, streamed_head("Content-Length: 6\r\n") + hello);

    site_driver empty;
    empty.receive(get("/piece") + get("/hello"));
    empty.waiting->response.status(204);
    empty.write("abc");
    empty.finish();
    EXPECT_EQ(empty.wire, streamed_head("", 204) + hello);
}

TEST(machine_stream_out, ends_with_the_connection_for_1_0) {
    site_driver d;
    d.receive(get("/piece", "Connection: keep-alive\r\n", "1.0") + get("/hello"));
    d.write("abc");
    d.write("def");
    EXPECT_FALSE(d.closed || d.shut);
    d.finish();
    EXPECT_EQ(d.wire, streamed_head("Connection: close\r\n") + "abcdef");
    EXPECT_TRUE(d.shut || d.closed);

    site_driver with_length;
    with_length.receive(get("/piece", "Connection: keep-alive\r\n", "1.0") + get("/hello"));
    with_length.waiting->response.content_length(6);
    with_length.write("abcdef");
    with_length.finish();
    EXPECT_EQ(with_length.wire, streamed_head("Connection: keep-alive\r\nContent-Length: 6\r\n") + "abcdef" + hello);
}

// However little the socket takes at once, and however large the piece.
TEST(machine_stream_out, every_short_send) {
    for (const std::size_t size : {std::size_t{3}, std::size_t{20'000}}) {
        const std::string piece = pattern(size);
        const std::string expected = streamed_head(in_chunks) + chunk(piece) + chunk("end") + "0\r\n\r\n" + hello;
        for (std::size_t first = 0; first < expected.size() - hello.size(); first += size < 100 ? 1 : 97) {
            site_driver d;
            d.writes_itself = false;
            std::size_t left = first;
            d.send_most = [&] { return std::exchange(left, 0); };
            d.receive(get("/piece") + get("/hello"));
            d.write(piece);
            const auto all = [&] {
                while (d.blocked) {
                    left = unlimited;
                    d.writable();
                }
            };
            if (d.blocked) {
                EXPECT_EQ(d.written, 0U) << "it waits for the peer";
            }
            all();
            ASSERT_EQ(d.written, 1U);
            left = 1;
            d.write("end");
            all();
            d.finish();
            all();
            ASSERT_EQ(d.wire, expected) << first;
        }
    }
    // The two bytes behind a large piece, one by one.
    site_driver d;
    d.send_most = [] { return 1; };
    d.receive(get("/piece"));
    const std::string piece = pattern(20'000);
    d.write(piece);
    d.finish();
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk(piece) + "0\r\n\r\n");
}

TEST(machine_stream_out, large_pieces_are_not_copied) {
    site_driver d;
    d.writes_itself = false;
    d.send_most = [] { return 0; };
    d.receive(get("/piece"));
    const std::string piece = pattern(10'000'000);
    d.write(piece);
    EXPECT_TRUE(d.blocked);
    EXPECT_LE(d.buffers.stats().in_use, 2U) << "the request's head, and the response's";
    EXPECT_EQ(d.m.output(d.lent())[2].data(), piece.data());
}

TEST(machine_stream_out, stalled_peer) {
    site_driver d;
    d.writes_itself = false;
    std::size_t left = 100'000;
    d.send_most = [&] { return std::exchange(left, 0); };
    d.bounds.write_stall = milliseconds(1'000);
    d.receive(get("/piece"));
    const std::string piece = pattern(1'000'000);
    d.write(piece);
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 1'000);
    d.now_ms += 500;
    left = 1;
    d.writable();
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 1'000) << "it made progress";
    EXPECT_TRUE(d.advance_to(d.now_ms + 1'000));
    EXPECT_TRUE(d.closed);
    EXPECT_EQ(d.wire.size(), 100'001U);
    EXPECT_EQ(d.detached.size(), 1U);
}

TEST(machine_stream_out, deadline_of_a_handler_that_has_begun) {
    site_driver d;
    d.handler_timeout = milliseconds(300);
    d.receive(get("/piece"));
    d.write("abc");
    EXPECT_TRUE(d.advance_to(d.now_ms + 300));
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc")) << "no second answer";
    EXPECT_TRUE(d.closed);
    EXPECT_EQ(d.detached.size(), 1U);
}

TEST(machine_stream_out, what_was_lent_is_forgotten_with_the_handler) {
    site_driver d;
    d.writes_itself = false;
    std::size_t left = 5'000;
    d.send_most = [&] { return std::exchange(left, 0); };
    d.handler_timeout = milliseconds(300);
    d.receive(get("/piece"));
    {
        const auto piece = std::make_unique<std::string>(pattern(50'000));
        d.write(*piece);
        EXPECT_TRUE(d.advance_to(d.now_ms + 300));
        EXPECT_EQ(d.detached.size(), 1U);
    }
    while (!d.closed) {
        left = unlimited;
        d.writable();
    }
    EXPECT_EQ(d.wire.size(), 5'000U);
}

// Who asked has gone, and its memory with it; what was sent of the piece is the last of the answer.
TEST(machine_stream_out, given_up) {
    site_driver d;
    d.receive(get("/piece"));
    d.writes_itself = false;
    d.send_most = [] { return std::size_t{1'000}; };
    std::string piece = pattern(100'000);
    d.write(piece);
    ASSERT_TRUE(d.blocked);
    d.give_up();
    piece.assign(piece.size(), '!');
    d.send_most = [] { return unlimited; };
    if (d.blocked) d.writable();
    EXPECT_EQ(d.written, 0U);
    d.finish();
    EXPECT_TRUE(d.closed);
    EXPECT_EQ(d.wire, (streamed_head(in_chunks) + "186a0\r\n" + pattern(100'000)).substr(0, 1'000));

    site_driver sent; // too late
    sent.receive(get("/piece") + get("/hello"));
    sent.write("abc");
    sent.give_up();
    sent.finish();
    EXPECT_EQ(sent.wire, streamed_head(in_chunks) + chunk("abc") + "0\r\n\r\n" + hello);
}

TEST(machine_stream_out, half_closed_peer_gets_all_of_it) {
    site_driver d;
    d.receive(get("/piece"));
    d.write("abc");
    d.finish_peer();
    ASSERT_TRUE(d.waiting);
    EXPECT_TRUE(d.waiting->peer_finished);
    d.write("def");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc") + chunk("def") + "0\r\n\r\n");
    EXPECT_TRUE(d.closed);
}

TEST(machine_stream_out, draining_is_said_while_it_can_be) {
    site_driver d;
    d.receive(get("/piece"));
    d.draining = true;
    d.write("abc");
    d.finish();
    EXPECT_EQ(d.wire, streamed_head("Connection: close\r\n" + in_chunks) + chunk("abc") + "0\r\n\r\n");
    EXPECT_TRUE(d.shut);
}

TEST(machine_stream_out, echo_in_pieces) {
    site_driver d;
    const std::string body = pattern(100'000);
    d.receive(post_chunks("/piece", body, 7'000) + get("/hello"));
    std::string expected = streamed_head(in_chunks);
    for (;;) {
        d.want_body();
        ASSERT_FALSE(d.m.reading());
        if (d.pieces.back().empty()) break;
        expected += chunk(d.pieces.back());
        d.write(d.waiting->body);
    }
    d.finish();
    EXPECT_EQ(d.wire, expected + "0\r\n\r\n" + hello);
}

// A body that turns out wrong when the response has begun: no second answer.
TEST(machine_stream_out, body_fails_behind_the_head) {
    site_driver d;
    d.receive("POST /piece HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    d.want_body();
    d.write("abc");
    d.want_body();
    d.receive("x\r\n");
    EXPECT_EQ(d.wire, streamed_head(in_chunks) + chunk("abc"));
    EXPECT_TRUE(d.closed);
    ASSERT_EQ(d.detached.size(), 1U);
    EXPECT_EQ(d.detached[0]->body_error, errc::bad_chunk_size);
}

TEST(machine_stream_out, interim) {
    site_driver d;
    d.receive(get("/piece") + get("/hello"));
    d.waiting->response.add("Link", "</style.css>; rel=preload");
    d.interim(103);
    const std::string early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
    EXPECT_EQ(d.wire, early);
    EXPECT_EQ(d.written, 1U);
    d.waiting->response.body("x");
    d.finish();
    const std::string final_head = "HTTP/1.1 200 OK\r\n" + date_lines() + "Link: </style.css>; rel=preload\r\n";
    EXPECT_EQ(d.wire, early + final_head + "Content-Length: 1\r\n\r\nx" + hello);

    site_driver old;
    old.receive(get("/piece", "", "1.0"));
    old.interim(103);
    EXPECT_EQ(old.wire, "");
    EXPECT_EQ(old.written, 1U);
    old.finish();
    EXPECT_EQ(old.wire, answer(200, "", "close"));
}

// The time of a piece that the socket does not take at all begins when it is written.
TEST(machine_stream_out, stall_of_a_piece_that_does_not_begin_to_leave) {
    site_driver d;
    d.bounds.write_stall = milliseconds(30'000);
    d.receive(get("/piece"));
    d.write("abc");
    d.now_ms += 60'000;
    d.writes_itself = false;
    d.send_most = [] { return std::size_t{0}; };
    const std::string piece = pattern(20'000);
    d.write(piece);
    ASSERT_TRUE(d.blocked);
    EXPECT_EQ(d.m.deadline_ms(d.bounds), d.now_ms + 30'000);
}

} // namespace
