// Server-sent events, as handlers send them. Their format is tested in tests/http/event_stream_test.cpp.
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fastserve::test {
namespace event_cases {
namespace {

using namespace std::chrono_literals;

std::string asking(std::string_view target, std::string_view fields = "") {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

// Counts from behind the event that the browser had last.
awaitable<> count(request& q, response& a) {
    int n = 0;
    if (const auto last = q.field("Last-Event-ID")) n = std::stoi(std::string(*last));
    for (int i = 0; i != 3; ++i) {
        const std::string id = std::to_string(++n);
        const error_code gone = co_await a.event({.data = "line\n" + id, .event = "tick", .id = id});
        if (gone) co_return;
        co_await sleep_for(1s);
    }
}

TEST(Events, ArriveOneByOne) {
    server app;
    app.get("/count", count);
    client c(app);
    c.write(asking("/count"));
    for (const char* id : {"1", "2", "3"}) {
        const std::string lines = "event: tick\nid: " + std::string(id) + "\ndata: line\ndata: " + id + "\n\n";
        EXPECT_NE(c.received().find(lines), std::string_view::npos) << c.received();
        EXPECT_EQ(c.received().find("id: " + std::to_string(id[0] - '0' + 1)), std::string_view::npos) << "too early";
        c.advance(1s);
    }
    const reply r = c.read();
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.field("Content-Type"), "text/event-stream");
    EXPECT_EQ(r.field("Cache-Control"), "no-store");
    EXPECT_EQ(r.field("Transfer-Encoding"), "chunked");
    EXPECT_EQ(r.body, "event: tick\nid: 1\ndata: line\ndata: 1\n\n"
                      "event: tick\nid: 2\ndata: line\ndata: 2\n\n"
                      "event: tick\nid: 3\ndata: line\ndata: 3\n\n");
    const reply again = c.send(asking("/count", "Last-Event-ID: 41\r\n"));
    EXPECT_TRUE(again.body.starts_with("event: tick\nid: 42\ndata: line\ndata: 42\n\n")) << again.body;
}

TEST(Events, LeaveTheHandlersFieldsAlone) {
    server app;
    app.get("/set", [](request&, response& a) -> awaitable<> {
        a.set("content-type", "text/event-stream; charset=utf-8").set("cache-control", "no-cache");
        const error_code gone = co_await a.event({});
        EXPECT_FALSE(gone);
    });
    app.get("/text", [](request&, response& a) -> awaitable<> {
        a.text("not this");
        error_code gone = co_await a.event({.retry = 10s});
        EXPECT_FALSE(gone);
        gone = co_await a.event({.data = "x", .comment = "c"});
        EXPECT_FALSE(gone);
    });
    app.get("/written", [](request&, response& a) -> awaitable<> {
        error_code gone = co_await a.write("");
        EXPECT_FALSE(gone);
        gone = co_await a.event({.data = "x"});
        EXPECT_FALSE(gone);
    });
    client c(app);
    const reply set = c.get("/set");
    EXPECT_EQ(set.field("Content-Type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(set.field("Cache-Control"), "no-cache");
    EXPECT_EQ(set.body, ": \n\n");
    const reply text = c.get("/text");
    EXPECT_EQ(text.field("Content-Type"), "text/event-stream");
    EXPECT_EQ(text.body, "retry: 10000\n\n: c\ndata: x\n\n");
    const reply written = c.get("/written");
    EXPECT_EQ(written.field("Content-Type"), "") << "the head was sent before";
    EXPECT_EQ(written.body, "data: x\n\n");
}

// What is awaited later than it was called needs nothing of its event any more.
TEST(Events, AreCopiedAtTheCall) {
    server app;
    app.get("/", [](request&, response& a) -> awaitable<> {
        std::string data(100, 'd');
        awaitable<error_code> first = a.event({.data = data});
        data.assign(100, 'e');
        awaitable<error_code> second = a.event({.data = data});
        error_code gone = co_await std::move(first);
        EXPECT_FALSE(gone);
        gone = co_await std::move(second);
        EXPECT_FALSE(gone);
    });
    client c(app);
    EXPECT_EQ(c.get("/").body, "data: " + std::string(100, 'd') + "\n\ndata: " + std::string(100, 'e') + "\n\n");
}

TEST(Events, AreRefusedWhenTheyWouldBeOthers) {
    server app;
    app.get("/", [](request& q, response& a) -> awaitable<> {
        const std::string id(*q.query("id"));
        EXPECT_THROW((void)a.event({.data = "x", .event = "a\nb"}), std::invalid_argument);
        EXPECT_THROW((void)a.event({.data = "x", .retry = -1ms}), std::invalid_argument);
        const error_code gone = co_await a.event({.data = "x", .id = id});
        EXPECT_FALSE(gone);
    });
    client c(app);
    EXPECT_EQ(c.get("/?id=7").body, "id: 7\ndata: x\n\n");
    const reply r = c.get("/?id=7%0adata:evil");
    EXPECT_EQ(r.status, 500);
    EXPECT_EQ(r.body.find("evil"), std::string::npos);
}

TEST(Events, EndWithTheirPeer) {
    struct at_end {
        bool& ended;
        ~at_end() { ended = true; }
    };
    bool ended = false;
    int sent = 0;
    server app;
    app.get("/", [&](request&, response& a) -> awaitable<> {
        const at_end guard{ended};
        for (;;) {
            const error_code gone = co_await a.event({});
            if (gone) co_return;
            ++sent;
            co_await sleep_for(15s);
        }
    });
    client c(app);
    c.write(asking("/"));
    c.advance(1min);
    EXPECT_FALSE(ended);
    EXPECT_EQ(sent, 5);
    c.reset();
    c.advance(15s);
    EXPECT_TRUE(ended);
    EXPECT_EQ(sent, 5);
}

} // namespace
} // namespace event_cases
} // namespace fastserve::test
