// Handlers of bodies in pieces that end in unusual ways, or that do not see what ends them.
#include "site.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
namespace asio = boost::asio;

// What waits and is not cancelled, because it was cancelled before in vain or has said that it will not be, hears of
// the end of its connection all the same.
TEST(StreamingEnds, ReachThoseWhoAreNotCancelled) {
    std::atomic<int> told{0};
    site s;
    s.app.get("/impatient", [&](request&, response& a) -> awaitable<> {
        const std::string piece(8'000'000, 'x');
        const auto first = co_await (a.write(piece) || awaitable<>(sleep_for(1ms)));
        told += first.index() == 1; // it could not be taken back, and went on until then
    });
    s.app.get("/stubborn", [&](request&, response& a) -> awaitable<> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        const std::string piece(8'000'000, 'x');
        told += co_await a.write(piece) == errc::disconnected;
        told += co_await a.write(piece) == errc::disconnected;
    });
    s.app.post(
        "/stubborn",
        [&](request& q, response&) -> awaitable<> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            const auto piece = co_await q.read();
            told += !piece && piece.error() == errc::disconnected;
        },
        streamed);
    s.start();
    for (const std::string& sent : {request_line("GET", "/impatient"), request_line("GET", "/stubborn"),
                                    request_line("POST", "/stubborn", "Content-Length: 5\r\n")}) {
        client c(s.port, 8 * 1024);
        c.send(sent);
        EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
        if (sent.starts_with("GET")) {
            EXPECT_TRUE(eventually([&] { return c.poll() != 0; }));
        }
        std::this_thread::sleep_for(20ms); // the sleep ends before the connection
        c.reset();
        EXPECT_TRUE(eventually([&] { return s.suspended() == 0; })) << sent;
    }
    EXPECT_EQ(told, 4);
}

TEST(StreamingEnds, ServerStopsWhileNobodyIsCancelled) {
    std::atomic<bool> told{false};
    site s{{.workers = 1, .grace = 50ms}};
    s.app.post(
        "/stubborn",
        [&](request& q, response&) -> awaitable<> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            told = !co_await q.read();
        },
        streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/stubborn", "Content-Length: 5\r\n"));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    s.app.stop();
    EXPECT_TRUE(told);
}

// What arrives when a read was given up is no answer to another question.
TEST(StreamingEnds, PieceThatNobodyWaitsForIsNoAnswerToAWrite) {
    site s;
    s.app.post(
        "/both",
        [&](request& q, response& a) -> awaitable<> {
            for (int i = 0; i != 200; ++i) {
                const auto first = co_await (q.read() || awaitable<>(sleep_for(0ms)));
                if (first.index() == 0) {
                    const auto& piece = std::get<0>(first);
                    if (!piece || piece->empty()) co_return;
                }
                const std::string lent(2'000, 'w');
                if (co_await a.write(lent)) co_return;
            }
        },
        streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/both", "Content-Length: 200\r\n"));
    for (int i = 0; i != 200; ++i) c.send("x");
    const answer got = c.read();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, std::string(got.body.size(), 'w'));
}

// Two coroutines of one handler: what happens to the one's question is nothing to the other's.
TEST(StreamingEnds, QuestionThatWasGivenUpStaysGivenUp) {
    std::atomic<int> lied{0};
    site s;
    s.app.post(
        "/two",
        [&](request& q, response& a) -> awaitable<> {
            asio::cancellation_signal give_up;
            int ended = 0;
            std::string all;
            const auto reads = [&]() -> awaitable<> {
                const auto piece = co_await q.read();
                if (piece && piece->empty()) ++lied; // it is not the end
                if (piece) all += piece->bytes;
                ++ended;
            };
            const auto on = co_await asio::this_coro::executor;
            asio::co_spawn(on, reads(), asio::bind_cancellation_slot(give_up.slot(), asio::detached));
            give_up.emit(asio::cancellation_type::terminal);
            asio::co_spawn(on, reads(), asio::detached);
            while (ended != 2) co_await sleep_for(1ms);
            a.text(std::move(all));
        },
        streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/two", "Content-Length: 5\r\n"));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    std::this_thread::sleep_for(5ms);
    c.send("hello");
    EXPECT_EQ(c.read().body, "hello");
    EXPECT_EQ(lied, 0);
}

// What a handler has started on its own and left behind ends with it, and the answer is cut.
TEST(StreamingEnds, NothingIsLeftBehind) {
    std::atomic<int> ended{0};
    site s;
    s.app.get("/leaves", [&](request&, response& a) -> awaitable<> {
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [&ended, &a]() -> awaitable<> {
                const auto at_end = [&ended](int*) { ++ended; };
                int here = 0;
                const std::unique_ptr<int, decltype(at_end)> guard(&here, at_end);
                const std::string piece(20'000'000, 'x');
                while (!co_await a.write(piece)) {
                }
            },
            asio::detached);
        co_await sleep_for(30ms);
    });
    s.app.get("/", [] { return "hello"; });
    s.start();
    client c(s.port, 8 * 1024);
    c.send(request_line("GET", "/leaves"));
    EXPECT_TRUE(eventually([&] { return ended == 1 && s.suspended() == 0; }));
    EXPECT_TRUE(eventually([&] {
        c.poll();
        return c.at_end();
    }));
    EXPECT_FALSE(c.unread().ends_with("0\r\n\r\n"));
    for (int i = 0; i != 10; ++i) EXPECT_EQ(s.get("/").body, "hello");
}

// Also when it ends at once, and before the worker has come to what the other one has asked for.
TEST(StreamingEnds, NothingIsLeftBehindAtOnce) {
    site s;
    const auto leaves = [](auto left_behind) {
        return [left_behind](request& q, response& a) -> awaitable<> {
            const auto on = co_await asio::this_coro::executor;
            co_await asio::dispatch(on, asio::use_awaitable); // by which Asio tells its end at once
            asio::co_spawn(
                on, [&q, &a, left_behind]() -> awaitable<> { co_await left_behind(q, a); }, asio::detached);
            a.text("ended");
        };
    };
    s.app.post("/reads", leaves([](request& q, response&) { return q.read(); }), streamed);
    s.app.post("/writes", leaves([](request&, response& a) { return a.write("left"); }), streamed);
    s.app.post("/tells", leaves([](request&, response& a) { return a.interim(102); }), streamed);
    s.app.get("/", [](request&, response&) -> awaitable<> { co_return; });
    s.start();
    s.get("/"); // from now on handlers run in the loop
    for (const char* const path : {"/reads", "/writes", "/tells"}) {
        client c = s.connect();
        for (int i = 0; i != 10; ++i) {
            c.send(request_line("POST", path, "", "hello"));
            const answer got = c.read();
            ASSERT_EQ(got.status, 200) << path;
            ASSERT_EQ(got.body, "ended") << path;
        }
    }
    EXPECT_EQ(s.suspended(), 0U);
}

// A piece is lent by who sends it. If that has gone, be it that the answer was promised for later, it is sent no more.
TEST(StreamingEnds, PieceThatIsLeftBehindIsNotSent) {
    shelf promised;
    site s;
    s.app.get("/defers", [&](request&, response& a) -> awaitable<> {
        promised.put(a.defer());
        asio::co_spawn(
            co_await asio::this_coro::executor,
            [&a]() -> awaitable<> {
                const std::string piece(20'000'000, 'x');
                co_await a.write(piece);
            },
            asio::detached);
        co_await sleep_for(10ms);
    });
    s.start();
    client c(s.port, 8 * 1024);
    c.send(request_line("GET", "/defers"));
    responder r = promised.take();
    std::this_thread::sleep_for(30ms);
    c.poll(); // makes room
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(r.complete([](response&) {}));
    EXPECT_TRUE(eventually([&] {
        c.poll();
        return c.at_end();
    }));
    EXPECT_LT(c.unread().size(), 20'000'000U);
    EXPECT_FALSE(c.unread().ends_with("0\r\n\r\n"));
}

// The peer's time for its body stands still while nobody asks for it, and what it sends meanwhile is not received: a
// read that was given up has nothing to say in what the handler does next.
TEST(StreamingEnds, ReadThatWasGivenUpIsNoReadAnyMore) {
    std::atomic<int> step{0};
    options o{.workers = 1};
    o.limits.body_rate = 1'000'000;
    o.limits.body_grace = 100ms;
    site s(std::move(o));
    s.app.post(
        "/patient",
        [&](request& q, response& a) -> awaitable<> {
            const auto first = co_await (q.read() || awaitable<>(sleep_for(1ms)));
            if (first.index() != 1) co_return;
            step = 1;
            co_await sleep_for(800ms); // deadlines are kept to half a second
            step = 2;
            while (step != 3) co_await sleep_for(1ms);
            std::string all = q.peer_finished() ? "finished " : "goes on ";
            while (const auto piece = co_await q.read()) {
                if (piece->empty()) break;
                all += piece->bytes;
            }
            a.text(std::move(all));
        },
        streamed);
    s.start();
    for (const bool finishes : {false, true}) {
        step = 0;
        client c = s.connect();
        const std::string body(finishes ? 1'000 : 200'000, 'b'); // what the system does not take holds up its end
        c.send(request_line("POST", "/patient", "Content-Length: " + std::to_string(body.size()) + "\r\n"));
        EXPECT_TRUE(eventually([&] { return step == 1; }));
        c.send(body);
        if (finishes) ::shutdown(c.fd(), SHUT_WR);
        EXPECT_TRUE(eventually([&] { return step == 2; }));
        step = 3;
        const answer got = c.read();
        EXPECT_EQ(got.status, 200);
        EXPECT_TRUE(got.body == (finishes ? "finished " : "goes on ") + body) << got.body.substr(0, 50);
    }
}

TEST(StreamingEnds, HeadIsWrittenToAsGetIs) {
    std::atomic<int> failed{0};
    site s;
    s.app.get("/length", [&](request&, response& a) -> awaitable<> {
        a.content_length(6);
        for (const std::string_view piece : {"abc", "def"}) failed += bool(co_await a.write(piece));
        failed += co_await a.write("x") != errc::too_long;
    });
    s.start();
    client c = s.connect();
    c.send(request_line("HEAD", "/length"));
    EXPECT_EQ(c.read(true).field("Content-Length"), "6");
    EXPECT_EQ(c.get("/length").body, "abcdef");
    EXPECT_EQ(failed, 0);
}

// The end of the connection is the end of such a body: what is cut must not look like it.
TEST(StreamingEnds, WhatIsCutIsNoticedByOldClients) {
    site s{{.workers = 1, .grace = 50ms}};
    s.app.get("/whole", [](request&, response& a) -> awaitable<> { co_await a.write("abc"); });
    s.app.get("/throws", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        throw std::runtime_error("half way");
    });
    s.app.get("/late",
              [](request&, response& a) -> awaitable<> {
                  co_await a.write("abc");
                  co_await sleep_for(10s);
              },
              {.deadline = 10ms});
    s.app.get("/endless", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        co_await sleep_for(10s);
    });
    s.start();
    for (const std::string path : {"/whole", "/throws", "/late", "/endless"}) {
        client c = s.connect();
        c.send("GET " + path + " HTTP/1.0\r\n\r\n");
        if (path == "/endless") {
            EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
            s.app.stop();
        }
        EXPECT_TRUE(eventually([&] {
            c.poll();
            return c.at_end();
        }));
        EXPECT_EQ(c.was_reset(), path != "/whole") << path;
    }
}

TEST(StreamingEnds, BodyIsNotAPiece) {
    site s;
    s.app.post(
        "/body",
        [](request& q, response& a) -> awaitable<> {
            const auto piece = co_await q.read();
            a.text(std::string(piece->bytes) + "|" + std::string(q.body()));
        },
        streamed);
    s.start();
    EXPECT_EQ(s.send(request_line("POST", "/body", "", "hello")).body, "hello|");
}

// All that is awaited works on any executor of the worker.
TEST(StreamingEnds, WithinAStrand) {
    site s;
    s.app.post(
        "/strand",
        [](request& q, response& a) -> awaitable<> {
            const auto strand = asio::make_strand(co_await asio::this_coro::executor);
            const auto work = [&]() -> awaitable<std::string> {
                const int answer = co_await offload([] { return 42; });
                std::string all;
                while (const auto piece = co_await q.read()) {
                    if (piece->empty()) break;
                    all += piece->bytes;
                }
                const auto first = co_await (a.interim(102) && awaitable<>(sleep_for(1ms)));
                co_return first ? "failed" : all + std::to_string(answer);
            };
            a.text(co_await asio::co_spawn(strand, work(), asio::use_awaitable));
        },
        streamed);
    s.start();
    client c = s.connect();
    c.send(request_line("POST", "/strand", "", "hello"));
    EXPECT_EQ(c.read().status, 102);
    EXPECT_EQ(c.read().body, "hello42");
    client d = s.connect();
    d.send(request_line("POST", "/strand", "Content-Length: 5\r\n"));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 1; }));
    d.reset();
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
}

} // namespace
} // namespace fastserve::test
