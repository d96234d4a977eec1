// Handlers of bodies in pieces that end in unusual ways, or that do not see what ends them.
#include "site.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
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

constexpr route_options streamed{.body = body::streamed};

TEST(StreamingEnds, HeadIsWrittenToAsGetIs) {
    site s;
    std::atomic<int> failed{0};
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

} // namespace
} // namespace fastserve::test
