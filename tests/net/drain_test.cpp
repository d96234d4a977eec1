// The end of a server: nothing accepted is lost, and what is cut is reported.
#include "site.hpp"

#include <fastserve/net/system.hpp>

#include <functional>
#include <future>

namespace {

using namespace fastserve;
using namespace fastserve::test;

net::worker_pool_options draining(std::chrono::milliseconds grace, net::placement how = net::placement::incoming_cpu) {
    net::worker_pool_options o = with_workers(2);
    o.grace = grace;
    o.placement = how;
    return o;
}

class timer {
public:
    std::chrono::milliseconds operator()() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began_);
    }

private:
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Twenty connections that nobody has accepted yet when the drain begins.
void expect_all_answered(serving& s, const std::function<void()>& once_draining) {
    std::vector<client> queued;
    for (int i = 0; i < 20; ++i) {
        queued.emplace_back(s.port);
        ASSERT_TRUE(queued.back().connected());
        queued.back().send(request("/id/" + std::to_string(i)));
    }
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return s.pool.draining(); }));
    once_draining();
    for (int i = 0; i < 20; ++i) {
        client& c = queued[static_cast<std::size_t>(i)];
        EXPECT_EQ(c.read().body, "/id/" + std::to_string(i)) << (c.was_reset() ? "reset" : "");
        EXPECT_TRUE(c.read_end()) << (c.was_reset() ? "reset" : "");
        c.close();
    }
    EXPECT_TRUE(ended.get().clean());
}

// The acceptor waits for memory meanwhile.
TEST(Drain, QueuedConnectionsAreAnsweredAndNoneIsReset) {
    net::sys::fault_plan plan;
    plan.fail(net::sys::call::accept, 1, ENOMEM, 3);
    const net::sys::fault_scope installed(plan);
    serving s(draining(10s));
    expect_all_answered(s, [] {});
    EXPECT_EQ(plan.injected(), 3u);
}

// The listeners of a group are polled by their workers, which are held up meanwhile.
TEST(Drain, ConnectionsQueuedAtAGroupAreAnsweredAndNoneIsReset) {
    serving s(draining(10s, net::placement::bpf));
    s.handlers.hold = true;
    std::vector<client> holders;
    for (int n = 1; n <= 2; ++n) // until each worker is: the kernel chooses whose turn it is
        ASSERT_TRUE(eventually([&] {
            holders.emplace_back(s.port);
            holders.back().send(request("/stall"));
            return eventually([&] { return s.handlers.stalled == n; }, 50ms);
        }));
    expect_all_answered(s, [&] {
        s.handlers.hold = false;
        for (client& c : holders) {
            EXPECT_EQ(c.read().body, "stalled");
            c.close();
        }
    });
}

TEST(Drain, ConnectionsThatComeDuringTheDelayAreServed) {
    net::worker_pool_options o = draining(10s);
    o.drain_delay = 300ms;
    serving s(o);
    client old(s.port);
    EXPECT_TRUE(old.get("/").field("Connection").empty());
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return s.pool.draining(); }));
    ASSERT_TRUE(eventually([&] { // each worker learns it from its mail
        client c(s.port);
        const answer a = c.get("/");
        EXPECT_EQ(a.status, 200);
        return a.field("Connection") == "close";
    }));
    const answer a = old.get("/"); // an idle connection may send one more request
    EXPECT_EQ(a.status, 200);
    EXPECT_TRUE(old.read_end());
    old.close();
    EXPECT_TRUE(ended.get().clean());
    EXPECT_FALSE(client(s.port).connected());
}

TEST(Drain, IdleConnectionsCloseAtOnce) {
    serving s(draining(20s));
    std::vector<client> idle;
    for (int i = 0; i < 20; ++i) {
        idle.emplace_back(s.port);
        ASSERT_EQ(idle.back().get("/").status, 200);
    }
    const timer took;
    EXPECT_TRUE(s.pool.stop().clean());
    EXPECT_LT(took(), 5s);
    for (client& c : idle) {
        EXPECT_TRUE(c.read_end());
        EXPECT_FALSE(c.was_reset());
    }
}

// A load balancer opens connections ahead of requests: they have a moment, and no more.
TEST(Drain, ConnectionsWithoutARequestHaveAMomentForIt) {
    serving s(draining(20s));
    std::vector<client> idle; // of both workers, most likely: each closes those it has once it closes what is idle
    for (int i = 0; i < 4; ++i) {
        idle.emplace_back(s.port);
        ASSERT_EQ(idle.back().get("/").status, 200);
    }
    client silent(s.port), late(s.port);
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 6; }));
    const timer took;
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    // Not by a connection that is refused: the kernel may drop its SYN first, and it comes again a second later.
    for (client& c : idle) ASSERT_TRUE(c.read_end());
    EXPECT_EQ(late.get("/").status, 200);
    EXPECT_TRUE(late.read_end());
    late.close();
    EXPECT_TRUE(ended.get().clean());
    EXPECT_LT(took(), 10s);
    EXPECT_TRUE(silent.read_end());
}

TEST(Drain, WaitsForHandlersAndForBodies) {
    serving s(draining(20s));
    client waiting(s.port), sending(s.port);
    waiting.send(request("/wait"));
    sending.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1 && s.pool.open_connections() == 2; }));
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return !client(s.port).connected(); }));
    sending.send("cd");
    EXPECT_EQ(sending.read().body, "abcd");
    sending.close();
    s.handlers.complete();
    const answer a = waiting.read();
    EXPECT_EQ(a.body, "waited");
    EXPECT_EQ(a.field("Connection"), "close");
    waiting.close();
    EXPECT_TRUE(ended.get().clean());
}

TEST(Drain, ReportsWhatTheGraceCut) {
    serving s(draining(200ms));
    client idle(s.port), waiting(s.port), half(s.port);
    EXPECT_EQ(idle.get("/").status, 200);
    waiting.send(request("/wait"));
    half.send("GET / HTTP/1.1\r\n");
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1 && s.pool.open_connections() == 3; }));
    s.left_behind = 1;
    const timer took;
    const net::drain_report report = s.pool.stop();
    EXPECT_GE(took(), 200ms);
    EXPECT_LT(took(), 5s);
    EXPECT_EQ(report.handlers_cut, 1u);
    EXPECT_EQ(report.connections_cut, 2u); // of the handler, and of half a request
    EXPECT_FALSE(report.clean());
    EXPECT_EQ(s.handlers.cancelled, 1);
    EXPECT_EQ(waiting.read().status, 0);
    EXPECT_EQ(s.handlers.complete(), 0u) << "an answer that comes after the end is refused";
}

// An answer that is out is not cut when its peer has not closed yet.
TEST(Drain, APeerThatDoesNotCloseIsNotCut) {
    serving s(draining(200ms));
    client c(s.port);
    c.send(request("/wait"));
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return s.pool.draining(); }));
    s.handlers.complete();
    EXPECT_EQ(c.read().body, "waited");
    EXPECT_TRUE(ended.get().clean());
}

TEST(Drain, AHandlerThatEndsWhenItIsCancelledIsStillReported) {
    serving s(draining(0ms));
    s.handlers.finish_when_cancelled = true;
    client c(s.port);
    c.send(request("/wait"));
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
    EXPECT_EQ(s.pool.stop().handlers_cut, 1u);
}

TEST(Drain, AbortEndsIt) {
    serving s(draining(1h));
    client c(s.port);
    c.send(request("/wait"));
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return !client(s.port).connected(); }));
    EXPECT_NE(ended.wait_for(20ms), std::future_status::ready);
    const timer took;
    s.left_behind = 1;
    s.pool.abort_drain();
    EXPECT_FALSE(ended.get().clean());
    EXPECT_LT(took(), 3s);
}

TEST(Drain, AbortEndsTheDelayToo) {
    net::worker_pool_options o = draining(1h);
    o.drain_delay = 1h;
    serving s(o);
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    ASSERT_TRUE(eventually([&] { return s.pool.draining(); }));
    s.pool.abort_drain();
    EXPECT_TRUE(ended.get().clean());
}

// A user's own work on a worker's loop, which never ends by itself.
TEST(Drain, WorkOfTheUsersDoesNotHoldUpTheEnd) {
    serving s(draining(10s));
    boost::asio::steady_timer forever(s.pool.at(0).context(), 24h);
    bool called = false;
    forever.async_wait([&](const boost::system::error_code&) { called = true; });
    const timer took;
    EXPECT_TRUE(s.pool.stop().clean());
    EXPECT_LT(took(), 5s);
    EXPECT_FALSE(called);
}

TEST(Drain, NobodyListensOnceItHasBegun) {
    serving s(draining(10s));
    s.pool.request_drain();
    EXPECT_EQ(s.pool.listen(*net::address::parse("127.0.0.1:0")).error(), std::errc::operation_canceled);
}

// Under load: every request that was sent gets its answer, or its connection was closed between two of them.
TEST(Drain, UnderLoadNoAnswerIsCutShort) {
    for (int round = 0; round < 5; ++round) {
        serving s(draining(20s));
        std::atomic<int> torn{0};
        std::vector<std::thread> clients;
        for (int i = 0; i < 8; ++i)
            clients.emplace_back([&] {
                for (;;) {
                    client c(s.port);
                    if (!c.connected()) return;
                    for (;;) {
                        const answer a = c.get("/big/3000");
                        if (a.status == 0 && (!a.head.empty() || !c.unread().empty())) ++torn;
                        if (a.status == 0 || a.field("Connection") == "close") break;
                    }
                }
            });
        EXPECT_TRUE(eventually([&] { return s.sum(&net::worker_counters::requests) > 500; }));
        EXPECT_TRUE(s.pool.stop().clean());
        for (auto& t : clients) t.join();
        EXPECT_EQ(torn, 0);
    }
}

} // namespace
