// Bodies in pieces, as handlers read and send them.
#include "site.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <atomic>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

std::string pattern(std::size_t size) {
    std::string text;
    text.reserve(size + 24);
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2'654'435'761U) + '/';
    text.resize(size);
    return text;
}

std::string in_chunks(std::string_view body, std::size_t most) {
    std::string text;
    for (; !body.empty(); body.remove_prefix(std::min(most, body.size()))) {
        char size[24];
        std::snprintf(size, sizeof size, "%zx\r\n", std::min(most, body.size()));
        text.append(size).append(body.substr(0, most)).append("\r\n");
    }
    return text + "0\r\n\r\n";
}

// Sends back what it gets, piece by piece.
awaitable<> echo(request& q, response& a) {
    for (;;) {
        const auto piece = co_await q.read();
        if (!piece || piece->empty()) co_return;
        if (co_await a.write(piece->bytes)) co_return;
    }
}

// Sums up what it gets.
awaitable<> measure(request& q, response& a) {
    std::size_t size = 0;
    std::size_t hash = 0;
    for (;;) {
        const auto piece = co_await q.read();
        if (!piece) {
            a.text(piece.error().message());
            co_return;
        }
        if (piece->empty()) break;
        size += piece->bytes.size();
        for (const char c : piece->bytes) hash = hash * 31 + static_cast<unsigned char>(c);
    }
    a.text(std::to_string(size) + " " + std::to_string(hash));
}

std::string measured(std::string_view body) {
    std::size_t hash = 0;
    for (const char c : body) hash = hash * 31 + static_cast<unsigned char>(c);
    return std::to_string(body.size()) + " " + std::to_string(hash);
}

TEST(Streaming, ReadsWhateverTheFraming) {
    site s;
    s.app.post("/measure", measure, streamed);
    s.app.get("/measure", measure, streamed);
    s.start();
    client c = s.connect();
    for (const std::size_t size : {0U, 1U, 1'000U, 100'000U, 9'000'000U}) {
        const std::string body = pattern(size);
        c.send(request_line("POST", "/measure", "Content-Length: " + std::to_string(size) + "\r\n") + body);
        EXPECT_EQ(c.read().body, measured(body)) << size << ": more than the limit of whole bodies";
        c.send(request_line("POST", "/measure", "Transfer-Encoding: chunked\r\n") + in_chunks(body, 30'000));
        EXPECT_EQ(c.read().body, measured(body)) << size;
    }
    EXPECT_EQ(c.get("/measure").body, measured(""));
}

TEST(Streaming, PiecesComeAsTheyArrive) {
    site s;
    s.app.post("/echo", echo, streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/echo", "Transfer-Encoding: chunked\r\n"));
    std::string got;
    for (const std::string_view word : {"one", "two", "three"}) {
        char size[24];
        std::snprintf(size, sizeof size, "%zx\r\n", word.size());
        c.send(size + std::string(word) + "\r\n");
        EXPECT_TRUE(eventually([&] {
            c.poll();
            return c.unread().find(word) != std::string::npos;
        })) << "answered while the request goes on";
    }
    c.send("0\r\n\r\n");
    EXPECT_EQ(c.read().body, "onetwothree");
    EXPECT_EQ(s.get("/none").status, 404);
}

// Whatever the kind of handler, and none of another request's.
TEST(Streaming, TrailersOfARequest) {
    const auto answer_with = [](const request& q, std::string_view body) {
        return std::string(body) + " " + std::string(q.trailer("x-sum").value_or("none")) +
               (q.field("X-Sum") || q.trailer("Host") || q.trailer("X-Head") ? " mixed" : "");
    };
    site s;
    s.app.post("/plain", [&](request& q, response& a) { a.text(answer_with(q, q.body())); });
    s.app.post("/coroutine", [&](request& q, response& a) -> awaitable<> {
        co_await sleep_for(1ms);
        a.text(answer_with(q, q.body()));
    });
    s.app.post("/blocking", blocking([&](request& q, response& a) { a.text(answer_with(q, q.body())); }));
    s.app.post(
        "/streamed",
        [&](request& q, response& a) -> awaitable<> {
            std::string all;
            for (;;) {
                const auto piece = co_await q.read();
                if (!piece || piece->empty()) break;
                if (q.trailer("X-Sum")) all += "early";
                all += piece->bytes;
            }
            a.text(answer_with(q, all));
        },
        streamed);
    s.start();
    client c = s.connect();
    for (const char* const path : {"/plain", "/coroutine", "/blocking", "/streamed"}) {
        const std::string head = request_line("POST", path, "X-Head: 1\r\nTransfer-Encoding: chunked\r\n");
        const std::string body = "5\r\nhello\r\n0\r\nHost: b\r\nX-Sum: 17\r\n\r\n";
        c.send(head + body);
        EXPECT_EQ(c.read().body, "hello 17") << path;
        c.send(head);
        std::this_thread::sleep_for(2ms);
        c.send(body);
        EXPECT_EQ(c.read().body, "hello 17") << path;
        c.send(request_line("POST", path, "X-Head: 1\r\n", "hello"));
        EXPECT_EQ(c.read().body, "hello none") << path;
    }
}

TEST(Streaming, PipelinedBehindABody) {
    site s;
    s.app.post("/echo", echo, streamed);
    s.app.post("/measure", measure, streamed);
    s.start();
    client c = s.connect();
    std::string sent;
    const std::string body = pattern(50'000);
    for (int i = 0; i != 5; ++i) {
        sent += request_line("POST", "/echo", "Transfer-Encoding: chunked\r\n") + in_chunks(body, 7'000);
        sent += request_line("POST", "/measure", "", body);
    }
    std::thread sender([&] { c.send(sent); });
    for (int i = 0; i != 5; ++i) {
        EXPECT_EQ(c.read().body, body);
        EXPECT_EQ(c.read().body, measured(body));
    }
    sender.join();
}

TEST(Streaming, RefusesABodyUnsent) {
    site s;
    s.app.post(
        "/refuse",
        [](request&, response& a) -> awaitable<> {
            a.status(403).set("X-Why", "no");
            co_return;
        },
        streamed);
    s.app.post("/echo", echo, streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/refuse", "Expect: 100-continue\r\nContent-Length: 5\r\n"));
    EXPECT_EQ(c.read().status, 403);
    EXPECT_TRUE(c.read_end());
    client d = s.connect();
    d.send(request_line("POST", "/echo", "Expect: 100-continue\r\nContent-Length: 5\r\n"));
    EXPECT_EQ(d.read().status, 100);
    d.send("hello");
    EXPECT_EQ(d.read().body, "hello");
}

TEST(Streaming, LimitOfTheRoute) {
    std::atomic<int> told{0};
    site s;
    s.app.post("/small",
               [&](request& q, response&) -> awaitable<> {
                   for (;;) {
                       const auto piece = co_await q.read();
                       if (!piece) {
                           told += piece.error() == http::errc::body_too_large;
                           co_return;
                       }
                       if (piece->empty()) co_return;
                   }
               },
               {.body = body::streamed, .max_body = 1'000});
    s.start();
    for (const std::size_t size : {999U, 1'000U, 1'001U}) {
        const int status = size > 1'000 ? 413 : 200;
        EXPECT_EQ(s.send(request_line("POST", "/small", "", pattern(size))).status, status) << size;
        const std::string head = request_line("POST", "/small", "Transfer-Encoding: chunked\r\n");
        client c = s.connect();
        c.send(head + in_chunks(pattern(size), 100));
        EXPECT_EQ(c.read().status, status) << size;
        // Once the handler has begun.
        const int before = told;
        client d = s.connect();
        d.send(head);
        EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
        d.send(in_chunks(pattern(size), 100));
        EXPECT_EQ(d.read().status, status) << size;
        EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
        EXPECT_EQ(told - before, size > 1'000 ? 1 : 0);
    }
}

TEST(Streaming, PeerLeavesWhileTheHandlerReads) {
    std::atomic<int> broken{0}, unfinished{0}, stopped{0};
    site s;
    s.app.post(
        "/read",
        [&](request& q, response&) -> awaitable<> {
            const auto stop = q.stop();
            for (;;) {
                const auto piece = co_await q.read();
                if (piece && !piece->empty()) continue;
                if (!piece) (piece.error() == errc::disconnected ? broken : unfinished) += 1;
                stopped += stop.stop_requested();
                co_return;
            }
        },
        streamed);
    s.start();
    const std::string head = request_line("POST", "/read", "Content-Length: 100\r\n") + "some";
    client resets = s.connect();
    resets.send(head);
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    resets.reset();
    EXPECT_TRUE(eventually([&] { return broken == 1; }));
    client ends = s.connect();
    ends.send(head);
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    ends.finish_sending();
    EXPECT_TRUE(eventually([&] { return unfinished == 1; }));
    EXPECT_TRUE(ends.read_end());
    EXPECT_EQ(stopped, 2);
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
}

TEST(Streaming, WritesHoldBackForASlowPeer) {
    std::atomic<std::size_t> written{0};
    const std::string piece = pattern(100'000);
    constexpr std::size_t count = 400;
    site s;
    s.app.get("/download", [&](request&, response& a) -> awaitable<> {
        while (written != count) {
            if (co_await a.write(piece)) co_return;
            ++written;
        }
    });
    s.start();
    client c(s.port, 64 * 1024);
    c.send(request_line("GET", "/download"));
    // It stops when the system's buffers are full, far before its end.
    std::size_t last = 0;
    int same = 0;
    EXPECT_TRUE(eventually([&] {
        const std::size_t now = written;
        same = now == last && now != 0 ? same + 1 : 0;
        last = now;
        return same == 100;
    }));
    EXPECT_LT(written, count);
    const answer a = c.read();
    EXPECT_EQ(a.body.size(), piece.size() * count);
    EXPECT_TRUE(a.body.ends_with(piece));
    EXPECT_EQ(written, count);
}

TEST(Streaming, PeerLeavesWhileTheHandlerWrites) {
    std::atomic<int> told{0};
    site s;
    s.app.get("/endless", [&](request&, response& a) -> awaitable<> {
        const std::string piece = pattern(50'000); // gone with the handler
        for (;;) {
            if (const error_code e = co_await a.write(piece)) {
                told += e == errc::disconnected;
                co_return;
            }
        }
    });
    s.start();
    for (int i = 0; i != 20; ++i) {
        client c(s.port, 8 * 1024);
        c.send(request_line("GET", "/endless"));
        EXPECT_TRUE(eventually([&] { return c.poll() != 0; }));
        if (i % 2) c.reset();
        c.close();
    }
    EXPECT_TRUE(eventually([&] { return told == 20; }));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
}

TEST(Streaming, LengthTrailersAndNoBody) {
    site s;
    s.app.get("/length", [](request&, response& a) -> awaitable<> {
        a.content_length(6).set("Content-Type", "text/plain");
        const bool first = !co_await a.write("abc"), too_much = co_await a.write("defg") == errc::too_long;
        if (first && too_much) co_await a.write("def");
    });
    s.app.get("/trailer", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        a.trailer("X-Sum", "3");
    });
    s.start();
    client c = s.connect();
    const answer fixed = c.get("/length");
    EXPECT_EQ(fixed.body, "abcdef");
    EXPECT_EQ(fixed.field("Content-Length"), "6");
    EXPECT_EQ(fixed.field("Transfer-Encoding"), "");
    c.send(request_line("HEAD", "/length"));
    const answer head = c.read(true);
    EXPECT_EQ(head.field("Content-Length"), "6");
    EXPECT_EQ(c.unread(), "");
    EXPECT_EQ(c.get("/length").body, "abcdef");
    c.send(request_line("GET", "/trailer", "Connection: close\r\n"));
    EXPECT_TRUE(eventually([&] {
        c.poll();
        return c.at_end();
    }));
    EXPECT_NE(c.unread().find("\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n"), std::string::npos) << c.unread();
}

// A handler need not know that its body is dropped.
TEST(Streaming, HeadOfALengthInSeveralPieces) {
    std::atomic<int> written{0};
    site s;
    s.app.get("/two", [&](request&, response& a) -> awaitable<> {
        a.content_length(6);
        for (const std::string_view piece : {"abc", "def"}) {
            const error_code failed = co_await a.write(piece);
            written += !failed;
        }
    });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/two").body, "abcdef");
    c.send(request_line("HEAD", "/two"));
    EXPECT_EQ(c.read(true).field("Content-Length"), "6");
    EXPECT_EQ(c.get("/two").body, "abcdef");
    EXPECT_TRUE(eventually([&] { return written == 6; }));
}

TEST(Streaming, WhatFailsHalfWayIsCut) {
    site s;
    s.app.get("/throws", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        throw std::runtime_error("half way");
    });
    s.app.get("/short", [](request&, response& a) -> awaitable<> {
        a.content_length(6);
        co_await a.write("abc");
    });
    s.app.get("/late", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        a.status(404); // throws
    });
    s.start();
    for (const std::string path : {"/throws", "/short", "/late"}) {
        client c = s.connect();
        c.send(request_line("GET", path));
        EXPECT_TRUE(eventually([&] {
            c.poll();
            return c.at_end();
        }));
        EXPECT_TRUE(c.unread().ends_with("abc\r\n") || c.unread().ends_with("\r\n\r\nabc")) << c.unread();
    }
    EXPECT_EQ(s.log.count("/throws", "half way"), 1U);
    EXPECT_EQ(s.log.count("/late", "head of the response is sent"), 1U);
}

TEST(Streaming, InterimResponse) {
    site s;
    s.app.get("/early", [](request&, response& a) -> awaitable<> {
        a.add("Link", "</s.css>");
        if (co_await a.interim(103)) co_return;
        a.text("late");
    });
    s.app.get("/wrong", [](request&, response& a) -> awaitable<> { co_await a.interim(200); });
    s.app.get("/too-late", [](request&, response& a) -> awaitable<> {
        co_await a.write("x");
        if (co_await a.interim(103) == errc::head_sent) co_await a.write("y");
    });
    s.start();
    client c = s.connect();
    const answer early = c.get("/early");
    EXPECT_EQ(early.status, 103);
    EXPECT_EQ(early.field("Link"), "</s.css>");
    const answer late = c.read();
    EXPECT_EQ(late.status, 200);
    EXPECT_EQ(late.body, "late");
    EXPECT_EQ(c.get("/wrong").status, 500);
    EXPECT_EQ(c.get("/too-late").body, "xy");
}

TEST(Streaming, MisuseIsAnErrorOfItsOwn) {
    site s;
    s.app.post("/whole", [](request& q, response& a) -> awaitable<> {
        const auto piece = co_await q.read();
        a.text(!piece && piece.error() == errc::not_streamed ? std::string(q.body()) : "?");
    });
    EXPECT_THROW(s.app.post(
                     "/plain", [] { return "x"; }, streamed),
                 std::invalid_argument);
    s.app.post(
        "/both",
        [](request& q, response& a) -> awaitable<> {
            using namespace boost::asio::experimental::awaitable_operators;
            const auto [first, second] = co_await (q.read() && q.read());
            a.text(first && !second && second.error() == errc::busy ? "busy" : "?");
        },
        streamed);
    s.start();
    EXPECT_EQ(s.send(request_line("POST", "/whole", "", "hello")).body, "hello");
    client c = s.connect();
    c.send(request_line("POST", "/both", "Content-Length: 5\r\n"));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    c.send("hello");
    EXPECT_EQ(c.read().body, "busy");
}

// A handler that gives up waiting loses nothing.
TEST(Streaming, ReadWithATimeout) {
    std::atomic<int> waits{0};
    site s;
    s.app.post(
        "/patient",
        [&](request& q, response& a) -> awaitable<> {
            using namespace boost::asio::experimental::awaitable_operators;
            std::string all;
            for (;;) {
                const auto first = co_await (q.read() || awaitable<>(sleep_for(5ms)));
                if (first.index() == 1) {
                    ++waits;
                    continue;
                }
                const auto& piece = std::get<0>(first);
                if (!piece || piece->empty()) break;
                all += piece->bytes;
            }
            a.text(std::move(all));
        },
        streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/patient", "Content-Length: 20\r\n"));
    for (int i = 0; i != 4; ++i) {
        const int before = waits;
        EXPECT_TRUE(eventually([&] { return waits > before + 2; }));
        c.send("12345");
    }
    EXPECT_EQ(c.read().body, "12345123451234512345");
}

// Neither an upload nor a download takes the worker for itself.
TEST(Streaming, OthersAreServedMeanwhile) {
    std::atomic<bool> enough{false};
    site s;
    s.app.post("/measure", measure, streamed);
    const std::string piece = pattern(200'000);
    s.app.get("/endless", [&](request&, response& a) -> awaitable<> {
        while (!enough)
            if (co_await a.write(piece)) co_return;
    });
    s.app.get("/", [] { return "hello"; });
    s.start();
    client up = s.connect(), down = s.connect();
    std::thread uploads([&] {
        up.send(request_line("POST", "/measure", "Transfer-Encoding: chunked\r\n"));
        const std::string chunk = "186a0\r\n" + pattern(100'000) + "\r\n";
        while (!enough && up.send(chunk)) {
        }
        up.send("0\r\n\r\n");
    });
    std::thread downloads([&] {
        down.send(request_line("GET", "/endless"));
        char part[65536];
        while (::recv(down.fd(), part, sizeof part, 0) > 0) {
        }
    });
    client other = s.connect();
    for (int i = 0; i != 300; ++i) ASSERT_EQ(other.get("/").body, "hello");
    enough = true;
    uploads.join();
    EXPECT_EQ(up.read().status, 200);
    ::shutdown(down.fd(), SHUT_RDWR);
    downloads.join();
}

TEST(Streaming, StopCutsWhatStreams) {
    std::atomic<int> ended{0};
    site s{{.workers = 1, .grace = 100ms}};
    s.app.post(
        "/read",
        [&](request& q, response&) -> awaitable<> {
            while (const auto piece = co_await q.read())
                if (piece->empty()) break;
            ++ended;
        },
        streamed);
    s.app.get("/endless", [&](request&, response& a) -> awaitable<> {
        const std::string piece = pattern(100'000);
        while (!co_await a.write(piece)) {
        }
        ++ended;
    });
    s.start();
    client reads = s.connect(), writes(s.port, 8 * 1024);
    reads.send(request_line("POST", "/read", "Content-Length: 5\r\n"));
    writes.send(request_line("GET", "/endless"));
    EXPECT_TRUE(eventually([&] { return writes.poll() != 0 && s.suspended() == 2; }));
    EXPECT_EQ(s.app.stop().connections_cut, 2U);
    EXPECT_EQ(ended, 2);
}

} // namespace
} // namespace fastserve::test
