// What coroutine handlers can await, and how their waits end.
#include "site.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <atomic>

#include <fcntl.h>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

TEST(Coroutines, SleepManyAtOnce) {
    site s{{.workers = 2}};
    s.app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(300ms);
        a.text("done");
    });
    s.start();
    std::vector<client> clients;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) {
        clients.push_back(s.connect());
        clients.back().send(request_line("GET", "/slow"));
    }
    for (client& c : clients) EXPECT_EQ(c.read().body, "done");
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, 300ms);
    EXPECT_LT(took, 20s) << "one after the other it would be a minute";
}

TEST(Coroutines, SleepAsAnyAsioOperation) {
    using namespace asio::experimental::awaitable_operators;
    site s;
    s.app.get("/either", [](request&, response& a) -> awaitable<> {
        const auto first = co_await (awaitable<>(sleep_for(1h)) || sleep_for(1ms)(asio::use_awaitable));
        a.text(std::to_string(first.index()));
    });
    s.app.get("/callback", [](request& q, response& a) {
        auto later = std::make_shared<responder>(a.defer());
        sleep_for(1ms)(asio::bind_executor(q.on().executor(), [later](boost::system::error_code e) {
            later->complete([e](response& b) { b.text(e.message()); });
        }));
    });
    s.app.get("/negative", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(-1s);
        co_await sleep_for(0ms);
        a.text("at once");
    });
    s.start();
    EXPECT_EQ(s.get("/either").body, "1");
    EXPECT_EQ(s.get("/callback").body, "Success");
    EXPECT_EQ(s.get("/negative").body, "at once");
}

TEST(Coroutines, AwaitAsioOnTheWorkersExecutor) {
    site s;
    s.app.get("/hello", [](request& q, response& a) { a.text("hello " + std::string(q.host())); });
    s.app.get("/proxy/{port}", [](request& q, response& a) -> awaitable<> {
        asio::ip::tcp::socket to(q.on().executor());
        const asio::ip::tcp::endpoint where(asio::ip::address_v4::loopback(), *q.param<std::uint16_t>("port"));
        co_await to.async_connect(where, asio::use_awaitable);
        co_await asio::async_write(to, asio::buffer(std::string_view("GET /hello HTTP/1.1\r\nHost: via\r\n\r\n")),
                                   asio::use_awaitable);
        std::string got;
        const std::size_t head =
            co_await asio::async_read_until(to, asio::dynamic_buffer(got), "\r\n\r\n", asio::use_awaitable);
        while (got.size() - head < 9) {
            char part[64];
            const std::size_t n = co_await to.async_read_some(asio::buffer(part), asio::use_awaitable);
            got.append(part, n);
        }
        a.text(got.substr(head));
    });
    s.app.get("/executor", [](request& q, response& a) -> awaitable<> {
        const asio::any_io_executor mine = co_await asio::this_coro::executor;
        a.text(mine == q.on().executor() ? "same" : "different");
    });
    s.start();
    EXPECT_EQ(s.get("/proxy/" + std::to_string(s.port)).body, "hello via");
    EXPECT_EQ(s.get("/executor").body, "same");
}

struct pipe_ends {
    pipe_ends() { EXPECT_EQ(::pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0); }
    ~pipe_ends() {
        ::close(fds[0]);
        ::close(fds[1]);
    }
    int fds[2] = {-1, -1};
};

TEST(Coroutines, WaitForForeignDescriptors) {
    pipe_ends p;
    std::atomic<int> waiting{0};
    site s;
    s.app.get("/read", [&](request&, response& a) -> awaitable<> {
        ++waiting;
        const auto ready = co_await readable(p.fds[0]);
        char c = '-';
        if (ready && ::read(p.fds[0], &c, 1) != 1) c = '?';
        a.text(std::string(1, c));
    });
    s.app.get("/write", [&](request&, response& a) -> awaitable<> {
        const auto ready = co_await writable(p.fds[1]);
        a.text(ready ? "writable" : ready.error().message());
    });
    s.app.get("/bad", [](request&, response& a) -> awaitable<> {
        const auto ready = co_await readable(-1);
        a.text(ready ? "?" : "refused");
    });
    s.start();
    EXPECT_EQ(s.get("/write").body, "writable");
    EXPECT_EQ(s.get("/bad").body, "refused");
    for (int i = 0; i < 3; ++i) {
        waiting = 0;
        client c = s.connect();
        c.send(request_line("GET", "/read"));
        ASSERT_TRUE(eventually([&] { return waiting == 1; }));
        ASSERT_EQ(::write(p.fds[1], "x", 1), 1);
        EXPECT_EQ(c.read().body, "x");
    }
    // Two at once for one descriptor, which epoll alone would refuse.
    waiting = 0;
    client one = s.connect(), two = s.connect();
    one.send(request_line("GET", "/read"));
    two.send(request_line("GET", "/read"));
    ASSERT_TRUE(eventually([&] { return waiting == 2; }));
    ASSERT_EQ(::write(p.fds[1], "yy", 2), 2);
    EXPECT_EQ(one.read().body, "y");
    EXPECT_EQ(two.read().body, "y");
    EXPECT_NE(::fcntl(p.fds[0], F_GETFD), -1) << "it is not ours to close";
}

TEST(Coroutines, APeerThatLeavesCancelsTheWait) {
    pipe_ends p;
    std::atomic<int> started{0}, thrown{0}, returned{0}, stopped{0};
    site s;
    const auto wait_in = [&](auto f) {
        return [&, f](request& q, response&) -> awaitable<> {
            const std::stop_callback told(q.stop(), [&] { ++stopped; });
            ++started;
            try {
                co_await f();
                ++returned;
            } catch (const boost::system::system_error& e) {
                EXPECT_EQ(e.code(), asio::error::operation_aborted);
                ++thrown;
                throw;
            }
        };
    };
    s.app.get("/sleep", wait_in([] { return sleep_for(1h); }));
    s.app.get("/read", wait_in([&]() -> awaitable<> {
                  const auto r = co_await readable(p.fds[0]);
                  EXPECT_TRUE(!r && r.error() == asio::error::operation_aborted);
              }));
    s.app.get("/timer", wait_in([]() -> awaitable<> {
                  asio::steady_timer t(co_await asio::this_coro::executor, 1h);
                  co_await t.async_wait(asio::use_awaitable);
              }));
    s.app.get("/", [] { return "root"; });
    s.start();
    int n = 0;
    for (const char* path : {"/sleep", "/read", "/timer"}) {
        client c = s.connect();
        c.send(request_line("GET", path));
        ++n;
        ASSERT_TRUE(eventually([&] { return started == n; })) << path;
        c.reset();
        ASSERT_TRUE(eventually([&] { return stopped == n && thrown + returned == n; })) << path;
        ASSERT_TRUE(eventually([&] { return s.suspended() == 0; })) << path;
    }
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(returned, 1) << "readable returns its error";
    EXPECT_NE(::fcntl(p.fds[0], F_GETFD), -1) << "it is not ours to close";
    EXPECT_EQ(s.log.size(), 0U) << "a wait that was cancelled is no fault of the handler";
    EXPECT_EQ(s.get("/").body, "root");
}

// A handler that looks away is ended by its next wait.
TEST(Coroutines, ACancelledOneCannotWaitAgain) {
    std::atomic<int> started{0}, ended{0};
    pipe_ends p;
    site s;
    s.app.get("/stubborn", [&](request&, response&) -> awaitable<> {
        struct at_end {
            ~at_end() { ++count; }
            std::atomic<int>& count;
        } const end{ended};
        ++started;
        for (;;) (void)co_await readable(p.fds[0]);
    });
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/stubborn"));
    ASSERT_TRUE(eventually([&] { return started == 1; }));
    c.reset();
    ASSERT_TRUE(eventually([&] { return ended == 1; }));
    EXPECT_NE(::fcntl(p.fds[0], F_GETFD), -1) << "it is not ours to close";
}

TEST(Coroutines, HaveADeadline) {
    std::atomic<bool> stopped{false};
    site s;
    s.app.get("/slow",
              [&](request& q, response& a) -> awaitable<> {
                  const std::stop_token token = q.stop();
                  a.text("half");
                  try {
                      co_await sleep_for(1h);
                  } catch (const boost::system::system_error&) {
                      stopped = token.stop_requested();
                      throw;
                  }
              },
              {.deadline = 50ms});
    s.app.get("/in_time",
              [](request&, response& a) -> awaitable<> {
                  co_await sleep_for(1ms);
                  a.text("in time");
              },
              {.deadline = 1h});
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/in_time").body, "in time");
    const answer a = c.get("/slow");
    EXPECT_EQ(a.status, 503);
    EXPECT_EQ(a.field("Retry-After"), "1");
    EXPECT_TRUE(eventually([&] { return stopped.load(); }));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
}

// The loop is started when it is first needed. Work that has come and gone by then must not have ended it.
TEST(Coroutines, ALoopWhoseWorkEndedBeforeItRanStillRuns) {
    site s;
    s.app.get("/", [](request& q, response& a) {
        const auto work = asio::make_work_guard(q.on().executor());
        a.text("worked");
    });
    s.app.get("/slow", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(1ms);
        a.text("slept");
    });
    s.start();
    EXPECT_EQ(s.get("/").body, "worked");
    EXPECT_EQ(s.get("/").body, "worked");
    EXPECT_EQ(s.get("/slow").body, "slept");
}

TEST(Coroutines, SeeThatThePeerHasFinishedSending) {
    site s;
    s.app.get("/", [](request& q, response& a) -> awaitable<> {
        for (int i = 0; i < 5000 && !q.peer_finished(); ++i) co_await sleep_for(1ms);
        a.text(q.peer_finished() ? "finished" : "never");
    });
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
    c.finish_sending();
    EXPECT_EQ(c.read().body, "finished");
}

} // namespace
} // namespace fastserve::test
