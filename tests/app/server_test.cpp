// The library as its users meet it: a server in this process, clients over loopback.
#include "../support/client.hpp"

#include <fastserve/fastserve.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using fastserve::request;
using fastserve::response;
using fastserve::test::client;

// A started server and its port.
struct running {
    explicit running(fastserve::server& s) : app(s) {
        const auto at = app.listen("127.0.0.1:0");
        EXPECT_TRUE(at) << at.error().message();
        port = at->port();
        EXPECT_FALSE(app.start());
    }
    ~running() { app.stop(); }

    fastserve::server& app;
    std::uint16_t port = 0;
};

TEST(Server, AnswersWithEachKindOfHandler) {
    fastserve::server app({.workers = 2});
    app.get("/", [] { return "hello world"; });
    app.get("/users/{id}", [](request& req, response& res) { res.text(req.param("id")); });
    app.get("/slow", [](request&, response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(10ms);
        res.text("done");
    });
    app.get("/value", []() -> fastserve::awaitable<std::string> { co_return "value"; });
    app.post("/report", fastserve::blocking([](request& req, response& res) { res.text(req.body()); }));
    fastserve::responder later;
    app.get("/later", [&later](request&, response& res) { later = res.defer(); });
    running r(app);

    client c(r.port);
    EXPECT_EQ(c.get("/").body, "hello world");
    EXPECT_EQ(c.get("/users/42").body, "42");
    EXPECT_EQ(c.get("/users/a%20b").body, "a b");
    EXPECT_EQ(c.get("/slow").body, "done");
    EXPECT_EQ(c.get("/value").body, "value");
    c.send("POST /report HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(c.read().body, "abc");
    EXPECT_EQ(c.get("/nothing").status, 404);
}

TEST(Server, AResponderAnswersFromAnotherThread) {
    fastserve::server app({.workers = 1});
    std::thread other;
    app.get("/later", [&other](request&, response& res) {
        other = std::thread([d = std::make_shared<fastserve::responder>(res.defer())] {
            EXPECT_TRUE(d->complete([](response& a) { a.text("later"); }));
            EXPECT_FALSE(d->complete([](response& a) { a.text("again"); }));
        });
    });
    running r(app);
    client c(r.port);
    EXPECT_EQ(c.get("/later").body, "later");
    other.join();
}

} // namespace
