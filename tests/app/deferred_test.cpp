// Answers that come later, from any thread.
#include "site.hpp"

#include <optional>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

struct Deferred : testing::Test {
    void SetUp() override {
        s.app.get("/later/{x}", [this](request& q, response& a) {
            a.set("X-Param", q.param("x"));
            held.put(a.defer());
        });
        s.app.get("/plain", [] { return "plain"; });
    }
    client ask(std::string_view path = "/later/1") {
        client c = s.connect();
        c.send(request_line("GET", path));
        return c;
    }

    shelf held; // outlives the server
    site s{{.workers = 2}};
};

TEST_F(Deferred, IsAnsweredFromAnotherThreadOnce) {
    s.start();
    client c = ask("/later/7");
    responder r = held.take();
    EXPECT_TRUE(r.complete([](response& a) { a.text("later"); }));
    EXPECT_FALSE(r.complete([](response& a) { a.text("again"); }));
    const answer a = c.read();
    EXPECT_EQ(a.body, "later");
    EXPECT_EQ(a.field("X-Param"), "7") << "what the handler set stays";
    EXPECT_EQ(c.get("/plain").body, "plain");
}

TEST_F(Deferred, RespondersMoveAndTheEmptyOneAnswersNothing) {
    s.start();
    client c = ask();
    responder none;
    EXPECT_FALSE(none.complete([](response&) {}));
    responder first = held.take();
    responder second(std::move(first));
    EXPECT_FALSE(first.complete([](response&) {})); // NOLINT(bugprone-use-after-move)
    first = std::move(second);
    EXPECT_TRUE(first.complete([](response& a) { a.text("moved"); }));
    EXPECT_EQ(c.read().body, "moved");
}

TEST_F(Deferred, DestroyedUnansweredIsA500) {
    s.start();
    client c = ask();
    { const responder dropped = held.take(); }
    EXPECT_EQ(c.read().status, 500);
    EXPECT_EQ(s.log.count("/later/{x}", "destroyed without an answer"), 1U);
    c.send(request_line("GET", "/later/2"));
    responder assigned = held.take();
    assigned = responder();
    EXPECT_EQ(c.read().status, 500);
    EXPECT_EQ(c.get("/plain").body, "plain");
}

TEST_F(Deferred, AnExceptionOfTheAnswerIsA500) {
    s.start();
    client c = ask();
    EXPECT_TRUE(held.take().complete([](response& a) {
        a.text("half");
        throw std::runtime_error("broke");
    }));
    EXPECT_EQ(c.read().status, 500);
    EXPECT_EQ(s.log.count("/later/{x}", "broke"), 1U);
}

TEST_F(Deferred, IsRefusedTwiceAndInTheAnswer) {
    s.app.get("/twice", [](request&, response& a) {
        responder r = a.defer();
        a.defer();
    });
    s.start();
    EXPECT_EQ(s.get("/twice").status, 500);
    EXPECT_EQ(s.log.count("/twice", "deferred already"), 1U);
    client c = ask();
    EXPECT_TRUE(held.take().complete([](response& a) { a.defer(); }));
    EXPECT_EQ(c.read().status, 500);
}

TEST_F(Deferred, ABlockingHandlerCannot) {
    s.app.get("/blocking", blocking([](request&, response& a) { a.defer(); }));
    s.start();
    EXPECT_EQ(s.get("/blocking").status, 500);
    EXPECT_EQ(s.log.count("/blocking", "cannot defer"), 1U);
}

TEST_F(Deferred, AnsweredInTheHandlerItself) {
    s.app.get("/at_once", [](request&, response& a) {
        responder r = a.defer();
        EXPECT_TRUE(r.complete([](response& b) { b.text("at once"); }));
        a.set("X-After", "yes");
    });
    s.start();
    const answer a = s.get("/at_once");
    EXPECT_EQ(a.body, "at once");
    EXPECT_EQ(a.field("X-After"), "yes");
}

TEST_F(Deferred, AHandlerThatThrowsAfterwardsIsA500) {
    s.app.get("/unanswered", [this](request&, response& a) {
        held.put(a.defer());
        throw std::runtime_error("changed its mind");
    });
    s.app.get("/answered", [](request&, response& a) {
        a.status(500).set("X-Half", "1");
        a.defer().complete([](response& b) { b.text("answered"); });
        throw std::runtime_error("too late");
    });
    s.start();
    client c = ask("/unanswered");
    EXPECT_EQ(c.read().status, 500);
    EXPECT_FALSE(held.take().complete([](response&) {}));
    const answer a = c.get("/answered");
    EXPECT_EQ(a.status, 200) << "its responder had the word";
    EXPECT_EQ(a.body, "answered");
    EXPECT_EQ(a.field("X-Half"), "");
    EXPECT_EQ(s.log.count("too late"), 1U);
}

TEST_F(Deferred, IsTooLateWhenThePeerHasLeft) {
    s.start();
    {
        client c = ask();
        responder r = held.take();
        ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
        c.reset();
        ASSERT_TRUE(eventually([&] { return s.suspended() == 0; }));
        EXPECT_FALSE(r.complete([](response& a) { a.text("nobody"); }));
    }
    EXPECT_EQ(s.get("/plain").body, "plain");
}

TEST_F(Deferred, IsAnsweredToAPeerThatOnlyFinishedSending) {
    s.start();
    client c = ask();
    c.finish_sending();
    EXPECT_TRUE(held.take().complete([](response& a) { a.text("still there"); }));
    EXPECT_EQ(c.read().body, "still there");
    EXPECT_TRUE(c.read_end());
}

TEST_F(Deferred, IsTooLateAfterItsDeadline) {
    s.app.get("/soon", [this](request&, response& a) { held.put(a.defer()); }, {.deadline = 20ms});
    s.start();
    client c = ask("/soon");
    responder r = held.take();
    const answer a = c.read();
    EXPECT_EQ(a.status, 503);
    EXPECT_FALSE(r.complete([](response&) {}));
}

TEST(DeferredToNobody, AResponderOutlivesItsServer) {
    shelf held;
    {
        site s{{.workers = 1, .grace = 1ms}};
        s.app.get("/", [&held](request&, response& a) { held.put(a.defer()); });
        s.start();
        client c = s.connect();
        c.send(request_line("GET", "/") + request_line("GET", "/"));
        ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
        const drain_report r = s.app.stop();
        EXPECT_EQ(r.handlers_cut, 1U);
        EXPECT_EQ(r.connections_cut, 1U);
        EXPECT_FALSE(r.clean());
    }
    responder r = held.take();
    EXPECT_FALSE(r.complete([](response& a) { a.text("nobody"); }));
}

// Responders that answer while the server is being cut: each finds its worker or is told that it is too late.
TEST(DeferredToNobody, AnswersRaceTheEndOfTheServer) {
    for (int round = 0; round < 30; ++round) {
        shelf held;
        std::optional<site> s(std::in_place, options{.workers = 2, .grace = 0ms});
        s->app.get("/", [&held](request&, response& a) { held.put(a.defer()); });
        s->start();
        std::vector<client> clients;
        std::vector<responder> responders;
        for (int i = 0; i < 8; ++i) {
            clients.push_back(s->connect());
            clients.back().send(request_line("GET", "/"));
            responders.push_back(held.take());
        }
        std::thread other([&responders] {
            for (responder& r : responders) r.complete([](response& a) { a.text("raced"); });
        });
        s.reset();
        other.join();
    }
}

TEST(DeferredInCoroutines, TheResponderAnswersWheneverTheCoroutineEnds) {
    shelf held;
    site s;
    s.app.get("/ends_first", [&held](request&, response& a) -> awaitable<> {
        held.put(a.defer());
        co_return;
    });
    s.app.get("/ends_last", [](request&, response& a) -> awaitable<> {
        a.defer().complete([](response& b) { b.text("answered before"); });
        co_await sleep_for(20ms);
        EXPECT_THROW(a.defer(), std::logic_error);
        a.set("X-End", "later");
    });
    s.app.get("/throws", [&held](request&, response& a) -> awaitable<> {
        held.put(a.defer());
        co_await sleep_for(1ms);
        throw std::runtime_error("broke");
    });
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/ends_first"));
    EXPECT_TRUE(held.take().complete([](response& a) { a.text("answered after"); }));
    EXPECT_EQ(c.read().body, "answered after");
    c.send(request_line("GET", "/throws"));
    EXPECT_EQ(c.read().status, 500);
    EXPECT_FALSE(held.take().complete([](response&) {}));
}

} // namespace
} // namespace fastserve::test
