// A server inside another program's loop.
#include "slow_routes.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <memory>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

// Runs a loop with a server on it in a thread, until stop() was called there.
struct guest {
    explicit guest(options o = {}) : app(loop, std::move(o)) {}

    void start() {
        const auto at = app.listen("127.0.0.1:0");
        ASSERT_TRUE(at);
        port = at->port();
        ASSERT_FALSE(app.start());
        thread = std::thread([this] { loop.run(); });
    }
    void begin_to_stop() {
        boost::asio::post(loop, [this] { report = app.stop(); });
    }
    drain_report stop() {
        begin_to_stop();
        thread.join(); // the loop has nothing left to do
        return report;
    }

    boost::asio::io_context loop{1};
    server app;
    std::thread thread;
    std::uint16_t port = 0;
    drain_report report;
};

TEST(UsersLoop, ServesOnItsThreadAndIsLeftEmpty) {
    joiner j;
    guest g;
    std::thread::id on;
    g.app.get("/", [&on] {
        on = std::this_thread::get_id();
        return "root";
    });
    add_slow_routes(g.app, j.threads);
    g.start();
    EXPECT_EQ(g.app.workers(), 1U);
    {
        client c(g.port);
        EXPECT_EQ(c.get("/").body, "root");
        for (const char* path : {"co", "blocking", "deferred", "offload"})
            EXPECT_EQ(c.get("/" + std::string(path) + "/5").body, path);
    }
    const auto id = g.thread.get_id();
    EXPECT_TRUE(g.stop().clean());
    EXPECT_EQ(on, id);
}

TEST(UsersLoop, StopLetsWhatIsInFlightFinish) {
    joiner j;
    guest g;
    add_slow_routes(g.app, j.threads);
    g.start();
    client one(g.port), two(g.port), three(g.port);
    one.send(request_line("GET", "/co/150"));
    two.send(request_line("GET", "/blocking/150"));
    three.send(request_line("GET", "/deferred/150"));
    ASSERT_TRUE(eventually([&] { return g.app.snapshot().workers[0].suspended == 3; }));
    g.begin_to_stop();
    EXPECT_EQ(one.read().body, "co");
    EXPECT_EQ(two.read().body, "blocking");
    EXPECT_EQ(three.read().body, "deferred");
    for (client* c : {&one, &two, &three}) c->close();
    g.thread.join();
    EXPECT_TRUE(g.report.clean());
}

TEST(UsersLoop, StopCutsAndTheLoopGoesOn) {
    joiner j;
    std::atomic<int> ended{0};
    auto g = std::make_unique<guest>(options{.grace = 20ms});
    add_slow_routes(g->app, j.threads);
    g->app.get("/watched", [&ended](request&, response&) -> awaitable<> {
        struct at_end {
            ~at_end() { ++count; }
            std::atomic<int>& count;
        } const end{ended};
        co_await sleep_for(1h);
    });
    g->start();
    std::vector<client> clients;
    for (const char* path : {"/watched", "/co/60000", "/blocking/60000", "/deferred/100", "/offload/200"}) {
        clients.emplace_back(g->port);
        clients.back().send(request_line("GET", path));
    }
    ASSERT_TRUE(eventually([&] { return g->app.snapshot().workers[0].suspended == 5; }));
    const drain_report r = g->stop();
    EXPECT_EQ(r.handlers_cut, 5U);
    EXPECT_EQ(ended, 1) << "its coroutine has come to its end";
    // The loop is still good for something else.
    bool ran = false;
    boost::asio::post(g->loop, [&ran] { ran = true; });
    g->loop.restart();
    g->loop.run();
    EXPECT_TRUE(ran);
}

// Until the loop ends: it may still run a coroutine that will not be cancelled.
TEST(UsersLoop, KeepsWhatACoroutineStillUses) {
    for (const bool goes_on : {true, false}) {
        std::atomic<int> ended{0};
        log_book log;
        boost::asio::io_context loop(1);
        boost::asio::steady_timer wake(loop, std::chrono::steady_clock::time_point::max());
        {
            server app(loop, {.grace = 1ms, .log = [&log](const log_record& r) { log(r); }});
            app.get("/deaf", [&ended, &wake](request& q, response& a) -> awaitable<> {
                co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
                boost::system::error_code ignored;
                co_await wake.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
                a.text(q.path()); // to nobody
                ++ended;
            });
            const auto at = app.listen("127.0.0.1:0");
            ASSERT_TRUE(at);
            ASSERT_FALSE(app.start());
            client c(at->port());
            c.send(request_line("GET", "/deaf"));
            while (app.snapshot().workers[0].suspended == 0) loop.run_for(1ms);
        }
        EXPECT_EQ(ended, 0);
        EXPECT_EQ(log.count("has not ended"), 1U);
        if (goes_on) {
            wake.cancel();
            loop.restart();
            loop.run();
        }
        EXPECT_EQ(ended, goes_on ? 1 : 0);
    }
}
TEST(UsersLoop, RunIsRefused) {
    boost::asio::io_context loop;
    log_book log;
    server app(loop, {.log = [&log](const log_record& r) { log(r); }});
    EXPECT_EQ(app.run("127.0.0.1:0"), 1);
    EXPECT_EQ(log.count("run()"), 1U);
}

TEST(UsersLoop, MayHoldTwoServers) {
    boost::asio::io_context loop(1);
    server one(loop), two(loop);
    one.get("/", [] { return "one"; });
    two.get("/", [] { return "two"; });
    const auto a = one.listen("127.0.0.1:0"), b = two.listen("127.0.0.1:0");
    ASSERT_TRUE(a && b);
    ASSERT_FALSE(one.start());
    ASSERT_FALSE(two.start());
    std::thread t([&] { loop.run(); });
    EXPECT_EQ(client(a->port()).get("/").body, "one");
    EXPECT_EQ(client(b->port()).get("/").body, "two");
    boost::asio::post(loop, [&] {
        one.stop();
        two.stop();
    });
    t.join();
}

} // namespace
} // namespace fastserve::test
