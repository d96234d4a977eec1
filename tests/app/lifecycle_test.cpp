// How servers begin and end, alone and together, and what belongs to each of their workers.
#include "slow_routes.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <atomic>
#include <set>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

TEST(Stop, LetsWhatIsInFlightFinish) {
    joiner j;
    site s;
    add_slow_routes(s.app, j.threads);
    s.start();
    std::vector<client> clients;
    const char* const kinds[] = {"co", "blocking", "deferred", "offload"};
    for (const char* kind : kinds) {
        clients.push_back(s.connect());
        clients.back().send(request_line("GET", "/" + std::string(kind) + "/150"));
    }
    ASSERT_TRUE(eventually([&] { return s.suspended() == 4; }));
    drain_report r;
    std::thread stopper([&] { r = s.app.stop(); });
    for (std::size_t i = 0; i < 4; ++i) {
        const answer a = clients[i].read();
        EXPECT_EQ(a.body, kinds[i]);
        EXPECT_EQ(a.field("Connection"), "close");
        EXPECT_TRUE(clients[i].read_end());
    }
    clients.clear();
    stopper.join();
    EXPECT_TRUE(r.clean());
}

TEST(Stop, CutsWhatDoesNotFinishInItsGrace) {
    joiner j;
    site s{{.workers = 2, .grace = 20ms}};
    add_slow_routes(s.app, j.threads);
    s.start();
    std::vector<client> clients;
    for (const char* path : {"/co/60000", "/blocking/60000", "/deferred/100"}) {
        clients.push_back(s.connect());
        clients.back().send(request_line("GET", path));
    }
    ASSERT_TRUE(eventually([&] { return s.suspended() == 3; }));
    const auto begin = std::chrono::steady_clock::now();
    const drain_report r = s.app.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    EXPECT_EQ(r.handlers_cut, 3U);
    EXPECT_EQ(r.connections_cut, 3U);
    EXPECT_FALSE(r.clean());
    for (client& c : clients) EXPECT_EQ(c.read().status, 0);
}

TEST(Stop, IsCutShortByAbort) {
    joiner j;
    site s{{.workers = 1, .grace = 60s}};
    add_slow_routes(s.app, j.threads);
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/co/60000"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
    std::thread other([&] {
        while (!s.app.draining()) std::this_thread::sleep_for(1ms);
        s.app.abort();
    });
    EXPECT_EQ(s.app.stop().handlers_cut, 1U);
    other.join();
}

TEST(Stop, HappensInTheDestructorToo) {
    joiner j;
    const auto begin = std::chrono::steady_clock::now();
    client c = [&] {
        server app({.workers = 2});
        add_slow_routes(app, j.threads);
        const auto at = app.listen("127.0.0.1:0");
        EXPECT_TRUE(at);
        EXPECT_FALSE(app.start());
        client in(at->port());
        in.send(request_line("GET", "/co/60000"));
        EXPECT_TRUE(eventually([&] { return app.snapshot().requests == 1; }));
        return in;
    }();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "without the grace";
    EXPECT_EQ(c.read().status, 0);
}

// A coroutine that will not be cancelled goes with its loop, and the server's end does not wait for it.
TEST(Stop, DestroysWhatDoesNotEndThoughItWasCancelled) {
    std::atomic<int> ended{0};
    const auto begin = std::chrono::steady_clock::now();
    {
        site s{{.workers = 2, .grace = 1ms}};
        s.app.get("/deaf", [&ended](request&, response&) -> awaitable<> {
            struct at_end {
                ~at_end() { ++count; }
                std::atomic<int>& count;
            } const end{ended};
            co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
            co_await sleep_for(1h);
        });
        s.start();
        client c = s.connect();
        c.send(request_line("GET", "/deaf"));
        ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
        EXPECT_EQ(s.app.stop().handlers_cut, 1U);
        EXPECT_EQ(ended, 0);
    }
    EXPECT_EQ(ended, 1);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(Server, StartsAndStopsOnce) {
    site s;
    s.app.get("/", [] { return "root"; });
    s.start();
    EXPECT_EQ(s.app.start(), std::errc::operation_not_permitted);
    EXPECT_EQ(s.get("/").body, "root");
    const auto second = s.app.listen("127.0.0.1:0");
    ASSERT_TRUE(second) << "listening is possible at any time";
    EXPECT_EQ(client(second->port()).get("/").body, "root");
    s.app.stop();
    EXPECT_TRUE(s.app.stop().clean());
    EXPECT_EQ(s.app.start(), std::errc::operation_not_permitted);
    const auto third = s.app.listen("127.0.0.1:0");
    EXPECT_FALSE(third);
    EXPECT_FALSE(client(s.port).connected());
}

TEST(Server, ThatNeverStartsEndsQuietly) {
    { server app; }
    {
        server app({.workers = 3});
        EXPECT_EQ(app.workers(), 3U);
        EXPECT_TRUE(app.listen("127.0.0.1:0"));
        EXPECT_EQ(app.snapshot().connections, 0U);
    }
    server app;
    EXPECT_TRUE(app.stop().clean());
    EXPECT_EQ(app.snapshot().requests, 0U);
}

TEST(Server, SaysWhyItCannotListen) {
    server one, two;
    const auto at = one.listen("127.0.0.1:0");
    ASSERT_TRUE(at);
    const std::string where = "127.0.0.1:" + std::to_string(at->port());
    const auto again = two.listen(where);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(), std::errc::address_in_use);
    const std::string line = listen_error(where, again.error());
    EXPECT_NE(line.find(where), std::string::npos);
    EXPECT_NE(line.find("address in use"), std::string::npos);
    EXPECT_FALSE(two.listen("nonsense"));
    EXPECT_FALSE(two.listen("localhost:99999"));
}

TEST(Server, CountsWhatItDoes) {
    joiner j;
    site s{{.workers = 2}};
    s.app.get("/", [] { return "root"; });
    add_slow_routes(s.app, j.threads);
    s.start();
    {
        client c = s.connect();
        for (int i = 0; i < 10; ++i) c.get("/");
        c.get("/co/1");
        const stats now = s.app.snapshot();
        EXPECT_EQ(now.requests, 11U);
        EXPECT_EQ(now.connections, 1U);
        ASSERT_EQ(now.workers.size(), 2U);
        EXPECT_EQ(now.workers[0].requests + now.workers[1].requests, 11U);
        EXPECT_EQ(now.workers[0].connections + now.workers[1].connections, 1U);
        EXPECT_EQ(now.workers[0].accepted + now.workers[1].accepted, 1U);
        EXPECT_GE(now.exchange_pool.high_water, 1U);
        EXPECT_EQ(now.connection_pool.in_use, 1U);
    }
    EXPECT_TRUE(eventually([&] { return s.app.snapshot().connections == 0; }));
}

TEST(Server, TwoInOneProcessDoNotMeet) {
    site one{{.workers = 1}}, two{{.workers = 2}};
    one.app.get("/", [] { return "one"; });
    two.app.get("/", [] { return "two"; });
    one.start();
    two.start();
    client a = one.connect(), b = two.connect();
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(a.get("/").body, "one");
        EXPECT_EQ(b.get("/").body, "two");
    }
    one.app.stop();
    EXPECT_EQ(b.get("/").body, "two");
}

TEST(Watchdog, NamesTheRouteThatKeepsAWorker) {
    site s;
    s.app.get("/busy/{x}", [](request&, response& a) {
        std::this_thread::sleep_for(700ms);
        a.text("at last");
    });
    s.start();
    EXPECT_EQ(s.get("/busy/1").body, "at last");
    EXPECT_EQ(s.log.count("/busy/{x}", "has been kept"), 1U);
}

// ---- what belongs to each worker
// --------------------------------------------------------------------------------------

struct of_worker {
    explicit of_worker(const worker& w) : index(w.index()), thread(std::this_thread::get_id()) {}
    of_worker(const of_worker&) = delete;
    const unsigned index;
    const std::thread::id thread;
    int uses = 0;
};

TEST(PerWorker, HasOneOnEachWorkersThread) {
    std::atomic<int> made{0};
    site s{{.workers = 3, .placement = placement::round_robin}};
    per_worker<of_worker> mine(s.app, [&](worker& w) {
        ++made;
        return of_worker(w);
    });
    s.app.get("/", [&](request& q, response& a) {
        of_worker& m = mine(q);
        EXPECT_EQ(m.thread, std::this_thread::get_id());
        EXPECT_EQ(m.index, q.on().index());
        ++m.uses;
        a.text(std::to_string(m.index));
    });
    s.app.get("/co", [&](request& q, response& a) -> awaitable<> {
        co_await sleep_for(1ms);
        EXPECT_EQ(mine(q).thread, std::this_thread::get_id());
        a.text("co");
    });
    s.app.get("/blocking", blocking([&](request& q, response& a) { a.text(std::to_string(mine(q).index)); }));
    s.start();
    std::set<std::string> seen;
    std::vector<client> clients;
    for (int i = 0; i < 9; ++i) {
        clients.push_back(s.connect());
        seen.insert(clients.back().get("/").body);
        EXPECT_EQ(clients.back().get("/co").body, "co");
    }
    EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2"}));
    EXPECT_EQ(made, 3);
    EXPECT_EQ(s.get("/blocking").status, 500) << "that is another thread";
    s.app.stop();
}

TEST(PerWorker, ThatCannotBeMadeIsA500) {
    std::atomic<int> tries{0};
    site s;
    per_worker<int> mine(s.app, [&](worker&) -> int {
        if (++tries == 1) throw std::runtime_error("not yet");
        return 7;
    });
    s.app.get("/", [&](request& q, response& a) { a.text(std::to_string(mine(q))); });
    s.start();
    EXPECT_EQ(s.get("/").status, 500);
    EXPECT_EQ(s.get("/").body, "7");
    s.app.stop();
}

} // namespace
} // namespace fastserve::test
