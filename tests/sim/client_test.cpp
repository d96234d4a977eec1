// The client that people test their handlers with: what it promises.
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

TEST(Client, AsksAServerThatListensNowhere) {
    server app;
    app.get("/users/{id}", [](request& q, response& a) {
        a.set("X-Peer", q.peer().to_string());
        a.text("user " + std::string(q.param("id")));
    });
    client c(app);
    const reply r = c.get("/users/42?x=y");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "user 42");
    EXPECT_EQ(r.field("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(r.field("Date"), "Tue, 14 Nov 2023 22:13:20 GMT");
    EXPECT_TRUE(r.field("X-Peer").starts_with("127.0.0.1:")) << r.field("X-Peer");
    EXPECT_EQ(r.field("absent"), "");
    EXPECT_TRUE(r.raw.starts_with("HTTP/1.1 200 OK\r\n") && r.raw.ends_with("\r\n\r\nuser 42")) << r.raw;
    EXPECT_FALSE(r.closed);
    EXPECT_EQ(c.get("/nowhere").status, 404);
    EXPECT_EQ(c.now(), 0ms) << "plain handlers take no time";
    EXPECT_EQ(app.snapshot().requests, 1U) << "that a handler got";
    EXPECT_TRUE(app.start()) << "it cannot be started any more";
}

TEST(Client, SendsBytesAsTheyAre) {
    server app;
    app.get("/", [] { return "hello"; });
    app.post("/echo", [](request& q, response& a) { a.text(q.body()); });
    client c(app);
    EXPECT_EQ(c.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc").body, "abc");
    // Pipelined: answers come in order.
    c.write("GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n?");
    EXPECT_EQ(c.read().body, "hello");
    EXPECT_EQ(c.read().body, "?");
    EXPECT_EQ(c.received(), "");
    const reply head = c.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(head.field("Content-Length"), "5");
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(c.send("HEAD / HTTP/1.0\r\n\r\n").status, 200);
    EXPECT_TRUE(c.closed());
    client bad(app);
    const reply r = bad.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(r.status, 400);
    EXPECT_EQ(bad.read().status, 0);
    EXPECT_TRUE(bad.closed());
    EXPECT_FALSE(bad.broken());
}

TEST(Client, LetsTimePassUntilTheAnswerComes) {
    server app({.limits = {.head_timeout = 10s, .idle_timeout = 75s}});
    app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(90min - 31min);
        a.text("done");
    });
    const auto began = std::chrono::steady_clock::now();
    client c(app);
    const reply r = c.get("/slow");
    EXPECT_EQ(r.body, "done");
    EXPECT_EQ(c.now(), 59min);
    EXPECT_EQ(r.field("Date"), "Tue, 14 Nov 2023 23:12:20 GMT");
    // A head that is never finished.
    EXPECT_EQ(c.send("GET / HTT").status, 408);
    EXPECT_GE(c.now(), 59min + 10s);
    EXPECT_LE(c.now(), 59min + 10s + 500ms);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s) << "nobody has slept for an hour";
}

TEST(Client, AdvanceShowsWhatIsThereMeanwhile) {
    server app({.limits = {.idle_timeout = 5s}});
    app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(100ms);
        a.text("done");
    });
    client c(app), other(app);
    c.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    c.advance(99ms);
    EXPECT_EQ(c.received(), "");
    EXPECT_EQ(other.get("/none").status, 404);
    EXPECT_EQ(other.now(), 99ms);
    other.advance(1ms);
    EXPECT_TRUE(c.received().ends_with("done"));
    EXPECT_EQ(c.read().status, 200);
    c.advance(4900ms);
    EXPECT_FALSE(c.closed());
    c.advance(600ms);
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(app.snapshot().workers[0].timed_out, 2U);
}

TEST(Client, HandlersOfAllKinds) {
    server app;
    std::thread::id on;
    app.get("/blocking", blocking([&on] {
                on = std::this_thread::get_id();
                return "blocking";
            }));
    app.get("/offload", [](request&, response& a) -> awaitable<> {
        a.text("offload " + std::to_string(co_await offload([] { return 42; })));
    });
    std::vector<responder> held;
    app.get("/deferred", [&held](request&, response& a) { held.push_back(a.defer()); });
    app.get("/throws", []() -> std::string { throw std::runtime_error("no"); });
    client c(app);
    EXPECT_EQ(c.get("/blocking").body, "blocking");
    EXPECT_EQ(c.now(), 0ms);
    EXPECT_EQ(on, std::this_thread::get_id());
    EXPECT_EQ(c.get("/offload").body, "offload 42");
    EXPECT_EQ(c.now(), 0ms);
    EXPECT_EQ(c.get("/throws").status, 500);
    EXPECT_EQ(c.now(), 0ms);
    c.write("GET /deferred HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(c.received(), "");
    EXPECT_TRUE(held.at(0).complete([](response& a) { a.text("later"); }));
    EXPECT_EQ(c.read().body, "later");
    EXPECT_EQ(c.now(), 0ms);
}

// What is not simulated takes real time, if it is given any.
TEST(Client, PatienceWaitsForThreads) {
    server app;
    std::vector<std::thread> threads;
    app.get("/thread", [&threads](request&, response& a) {
        auto r = std::make_shared<responder>(a.defer());
        threads.emplace_back([r] { r->complete([](response& late) { late.text("from a thread"); }); });
    });
    {
        client c(app);
        c.patience(10s);
        EXPECT_EQ(c.get("/thread").body, "from a thread");
        EXPECT_EQ(c.now(), 0ms);
    }
    for (std::thread& t : threads) t.join();
}

TEST(Client, HandlersSeeThePeerLeave) {
    server app;
    bool cancelled = false, finished = false;
    app.get("/wait", [&](request&, response&) -> awaitable<> {
        try {
            co_await sleep_for(1h);
        } catch (const boost::system::system_error&) {
            cancelled = true;
        }
    });
    app.get("/look", [&](request& q, response& a) -> awaitable<> {
        co_await sleep_for(1s);
        finished = q.peer_finished();
        a.text("still answered");
    });
    {
        client c(app);
        c.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
        c.reset();
        EXPECT_TRUE(cancelled);
        EXPECT_TRUE(c.broken());
        EXPECT_EQ(c.read().status, 0);
        cancelled = false;
        client goes(app);
        goes.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    EXPECT_TRUE(cancelled) << "the end of a client is the end of its connection";
    client c(app);
    c.write("GET /look HTTP/1.1\r\nHost: x\r\n\r\n");
    c.finish_sending();
    EXPECT_EQ(c.read().body, "still answered");
    EXPECT_TRUE(finished);
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(app.snapshot().connections, 0U);
}

TEST(Client, FaultsFollowTheirSeed) {
    const std::string large(200'000, 'x');
    const auto transcript = [&large](std::uint64_t seed) {
        server app;
        app.get("/large", [&large](request&, response& a) { a.text(large); });
        app.post("/count", [](request& q, response& a) { a.text(std::to_string(q.body().size())); });
        client c(app, {.seed = seed, .splits = true, .delays = 30ms});
        EXPECT_EQ(c.get("/large").body, large);
        std::string times = std::to_string(c.now().count());
        EXPECT_EQ(c.send("POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + large).body, "200000");
        return times + " " + std::to_string(c.now().count());
    };
    const std::string first = transcript(1);
    EXPECT_EQ(transcript(1), first);
    EXPECT_NE(transcript(2), first);
}

TEST(Client, BreaksWhereItIsTold) {
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for (std::size_t at = 0; at <= request.size() + 1; ++at) {
        server app;
        app.get("/", [] { return "hello"; });
        client c(app, {.reset_at = at});
        const reply r = c.send(request);
        EXPECT_TRUE(r.status == 0 || at >= request.size()) << at;
        EXPECT_EQ(c.broken(), at <= request.size()) << at;
        EXPECT_EQ(app.snapshot().connections, at <= request.size() ? 0U : 1U) << at;
    }
}

TEST(Client, SeesBodiesInPieces) {
    server app;
    app.post("/slow",
             [](request& q, response& a) -> awaitable<> {
                 std::size_t size = 0;
                 for (;;) {
                     const auto piece = co_await q.read();
                     if (!piece || piece->empty()) break;
                     size += piece->bytes.size();
                     co_await sleep_for(1min);
                 }
                 a.trailer("X-Size", std::to_string(size));
                 const error_code failed = co_await a.write("done");
                 EXPECT_FALSE(failed);
             },
             {.body = body::streamed});
    client c(app, {.window = 10'000});
    c.write("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x'));
    EXPECT_GE(c.held_back(), 80'000U) << "the handler has one piece, and sleeps";
    const reply r = c.read();
    EXPECT_EQ(r.body, "done");
    EXPECT_EQ(r.trailers, (decltype(r.trailers){{"X-Size", "100000"}}));
    EXPECT_EQ(c.held_back(), 0U);
    EXPECT_GE(c.now(), 5min);
}

// A body that ends with its connection: what is cut must not look whole.
TEST(Client, SeesThatAnAnswerWasCut) {
    server app;
    app.get("/whole", [](request&, response& a) -> awaitable<> { co_await a.write("abc"); });
    app.get("/cut", [](request&, response& a) -> awaitable<> {
        co_await a.write("abc");
        throw std::runtime_error("half way");
    });
    client whole(app), cut(app);
    EXPECT_EQ(whole.send("GET /whole HTTP/1.0\r\n\r\n").body, "abc");
    EXPECT_TRUE(whole.closed() && !whole.broken());
    cut.write("GET /cut HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(cut.broken());
    EXPECT_EQ(cut.read().status, 0);
}

TEST(Client, ASlowReaderHoldsTheServerBack) {
    const std::string large(300'000, 'x');
    server app({.limits = {.write_stall = 30s}});
    app.get("/large", [&large](request&, response& a) { a.text(large); });
    client slow(app, {.window = 10'000, .read_rate = 10'000});
    EXPECT_EQ(slow.get("/large").body, large);
    EXPECT_GE(slow.now(), 28s);
    client stalled(app, {.window = 10'000});
    stalled.pause();
    const auto began = stalled.now();
    stalled.write("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    while (app.snapshot().connections == 2 && stalled.now() < began + 1min) stalled.advance(250ms);
    EXPECT_GE(stalled.now(), began + 30s);
    EXPECT_LE(stalled.now(), began + 30s + 500ms);
    stalled.resume();
    EXPECT_TRUE(stalled.closed());
}

// There is an event for room only when much of a buffer is free. A peer that is slower than that still gets on.
TEST(Client, AReaderThatGetsOnIsNotStalled) {
    const std::string large(300'000, 'x');
    server app({.limits = {.write_stall = 30s, .idle_timeout = 1h}});
    app.get("/large", [&large](request&, response& a) { a.text(large); });
    client c(app, {.read_rate = 500});
    EXPECT_EQ(c.get("/large").body, large);
    EXPECT_GE(c.now(), 9min);
    EXPECT_EQ(app.snapshot().workers[0].timed_out, 0U);
}

TEST(Client, SeveralWorkersAndSeveralServers) {
    server app({.workers = 2}), other;
    per_worker<int> counts(app, [](worker&) { return 0; }); // which opens the server before a client does
    app.get("/", [&counts](request& q, response& a) {
        a.text(std::to_string(q.on().index()) + " " + std::to_string(++counts(q)));
    });
    other.get("/", [] { return "the other"; });
    client a(app), b(app), c(app), d(other);
    EXPECT_EQ(a.get("/").body, "0 1");
    EXPECT_EQ(b.get("/").body, "1 1");
    EXPECT_EQ(c.get("/").body, "0 2");
    EXPECT_EQ(d.get("/").body, "the other");
}

TEST(Client, DrainingAnswersSayClose) {
    server app;
    app.get("/", [] { return "hello"; });
    client c(app);
    EXPECT_EQ(c.get("/").field("Connection"), "");
    app.request_drain();
    const reply r = c.get("/");
    EXPECT_EQ(r.field("Connection"), "close");
    EXPECT_EQ(r.body, "hello");
    EXPECT_TRUE(c.closed());
}

TEST(Client, StopDrainsInSimulatedTime) {
    server app({.limits = {.idle_timeout = 1h}, .drain_delay = 2s, .grace = 30s});
    std::vector<responder> held;
    bool cancelled = false;
    app.get("/", [] { return "hello"; });
    app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(10s);
        a.text("done");
    });
    app.get("/deferred", [&held](request&, response& a) { held.push_back(a.defer()); });
    app.get("/endless", [&cancelled](request&, response&) -> awaitable<> {
        try {
            co_await sleep_for(1h);
        } catch (const boost::system::system_error&) {
            cancelled = true;
        }
    });
    client idle(app), slow(app), endless(app), deferred(app);
    EXPECT_EQ(idle.get("/").body, "hello");
    slow.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    endless.write("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
    deferred.write("GET /deferred HTTP/1.1\r\nHost: x\r\n\r\n");
    int served = 0, refused = 0;
    idle.meanwhile([&] {
        EXPECT_TRUE(app.draining());
        const bool early = idle.now() < 2s;
        EXPECT_EQ(idle.closed(), !early) << idle.now().count();
        client late(app);
        const reply r = late.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        served += r.status == 200 && r.field("Connection") == "close";
        refused += r.status == 0 && late.closed();
        EXPECT_EQ(early ? r.status : 0, r.status);
    });
    const drain_report report = app.stop();
    EXPECT_EQ(report.connections_cut, 2U);
    EXPECT_EQ(report.handlers_cut, 2U);
    EXPECT_TRUE(served > 0 && refused > 0);
    EXPECT_TRUE(cancelled && endless.closed());
    EXPECT_GE(idle.now(), 32s);
    EXPECT_LE(idle.now(), 32s + 250ms);
    const reply r = slow.read();
    EXPECT_EQ(r.body, "done");
    EXPECT_EQ(r.field("Connection"), "close");
    EXPECT_FALSE(held.at(0).complete([](response& a) { a.text("too late"); }));
    EXPECT_EQ(app.snapshot().connections, 0U);
    client after(app);
    EXPECT_EQ(after.get("/").status, 0);
    EXPECT_EQ(app.stop().connections_cut, 0U) << "a second one does nothing";
}

TEST(Client, StopWithoutAnybodyElseTakesWhatItNeeds) {
    server app({.grace = 30s});
    app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(10s);
        a.text("done");
    });
    client c(app);
    c.write("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(app.stop().clean());
    EXPECT_GE(c.now(), 10s);
    EXPECT_LE(c.now(), 10s + 20ms);
    EXPECT_EQ(c.read().body, "done");
}

TEST(Client, ServersThatRunAndOtherThreadsAreRefused) {
    server running({.workers = 1});
    ASSERT_TRUE(running.listen("127.0.0.1:0"));
    ASSERT_FALSE(running.start());
    EXPECT_THROW(client c(running), std::logic_error);
    server app;
    client here(app);
    std::thread([&app] { EXPECT_THROW(client c(app), std::logic_error); }).join();
    running.stop();
}

} // namespace
} // namespace fastserve::test
