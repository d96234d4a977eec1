// Deadlines: each fires when its time is up, within two ticks of the wheel, and hurts nobody else.
#include "site.hpp"

#include <optional>

namespace {

using namespace fastserve;
using namespace fastserve::test;

constexpr auto timeout = 300ms;
// Two ticks of 250 ms, and patience for a machine that does other things, too.
constexpr auto latest = timeout + 500ms + 3000ms;

class stopwatch {
public:
    std::chrono::steady_clock::duration operator()() const { return std::chrono::steady_clock::now() - began_; }

private:
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// CLOCK_MONOTONIC_COARSE may be a few milliseconds behind.
constexpr auto earliest = timeout - 20ms;

net::worker_pool_options short_limits() {
    net::worker_pool_options o = with_workers(2);
    o.limits.idle_timeout = timeout;
    o.limits.head_timeout = timeout;
    o.limits.body_grace = timeout;
    o.limits.write_stall = timeout;
    o.limits.handler_timeout = timeout;
    return o;
}

TEST(Deadline, AnIdleConnectionIsClosed) {
    serving s(short_limits());
    client fresh(s.port), used(s.port);
    const stopwatch took;
    EXPECT_EQ(used.get("/").status, 200);
    EXPECT_TRUE(used.read_end());
    EXPECT_GE(took(), earliest);
    EXPECT_TRUE(fresh.read_end());
    EXPECT_LT(took(), latest);
    EXPECT_EQ(s.sum(&net::worker_counters::timed_out), 2u);
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

// A client that is never idle for as long as the limit, unless the machine holds this thread up: then, and only then,
// it may find its connection closed.
class busy_client {
public:
    explicit busy_client(std::uint16_t port) : port_(port), c_(port) {}

    // Whether the server kept to it.
    bool get() {
        if (c_.get("/").status == 200) {
            since_.emplace();
            return true;
        }
        const bool was_late = (*since_)() >= earliest;
        c_ = client(port_);
        since_.emplace();
        ++reconnects_;
        return was_late && c_.get("/").status == 200;
    }
    std::uint64_t connections() const { return reconnects_ + 1; }

private:
    std::uint16_t port_;
    client c_;
    std::optional<stopwatch> since_{std::in_place}; // the last answer
    std::uint64_t reconnects_ = 0;
};

TEST(Deadline, AConnectionInUseIsNotIdle) {
    serving s(short_limits());
    busy_client c(s.port);
    for (int i = 0; i < 12; ++i) {
        ASSERT_TRUE(c.get()) << i;
        std::this_thread::sleep_for(100ms); // a pace, not a proof: the whole is four times the limit
    }
    EXPECT_EQ(s.sum(&net::worker_counters::accepted), c.connections());
}

TEST(Deadline, AHeadThatTrickles) {
    serving s(short_limits());
    client c(s.port);
    const stopwatch took;
    ASSERT_TRUE(c.send("GET / HTTP/1.1\r\nX: "));
    std::atomic<bool> enough{false};
    std::thread trickle([&] {
        while (!enough && c.send("x")) std::this_thread::sleep_for(20ms);
    });
    const answer a = c.read();
    enough = true;
    trickle.join();
    EXPECT_EQ(a.status, 408);
    EXPECT_GE(took(), earliest);
    EXPECT_LT(took(), latest);
}

TEST(Deadline, ABodyThatTrickles) {
    serving s(short_limits());
    client c(s.port);
    const stopwatch took;
    ASSERT_TRUE(c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx"));
    const answer a = c.read();
    EXPECT_EQ(a.status, 408);
    EXPECT_GE(took(), earliest);
    EXPECT_LT(took(), latest);
}

TEST(Deadline, APeerThatDoesNotRead) {
    serving s(short_limits());
    client c(s.port, 4096);
    const stopwatch took;
    c.send(request("/big/20000000"));
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 1; }));
    EXPECT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
    EXPECT_GE(took(), earliest);
    EXPECT_LT(took(), latest);
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

TEST(Deadline, AHandlerThatTakesTooLong) {
    serving s(short_limits());
    client c(s.port);
    const stopwatch took;
    c.send(request("/wait"));
    const answer a = c.read();
    EXPECT_EQ(a.status, 503);
    EXPECT_GE(took(), earliest);
    EXPECT_LT(took(), latest);
    EXPECT_EQ(s.handlers.cancelled, 1);
    c.close();
    EXPECT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
    EXPECT_EQ(s.sum(&net::worker_counters::suspended), 1u);
    EXPECT_EQ(s.handlers.complete(), 1u);
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

TEST(Deadline, OthersAreServedMeanwhile) {
    serving s(short_limits());
    std::vector<client> silent;
    for (int i = 0; i < 200; ++i) silent.emplace_back(s.port);
    busy_client busy(s.port);
    ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(busy.get());
        return s.pool.open_connections() == 1 || HasFailure();
    }));
    EXPECT_EQ(s.sum(&net::worker_counters::timed_out), 199u + busy.connections());
}

// Once most connections have gone, what they occupied goes back.
TEST(Deadline, MemoryOfConnectionsThatLeftIsGivenBack) {
    serving s;
    {
        std::vector<client> many;
        for (int i = 0; i < 1500; ++i) {
            many.emplace_back(s.port);
            many.back().send("GET / HTTP/1.1\r\n"); // a part of a head, which needs a buffer
        }
        ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 1500; }));
        ASSERT_TRUE(eventually([&] { return s.pool.buffer_bytes() > 1500u * 4096; }));
        for (client& c : many) c.send("Host: a\r\n\r\n");
        for (client& c : many) ASSERT_EQ(c.read().status, 200);
    }
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
    const auto little = [&] {
        return s.pool.connection_stats().bytes_retained < 256 * 1024 && s.pool.buffer_bytes() < 2 * 1024 * 1024;
    };
    EXPECT_TRUE(eventually(little)) << s.pool.connection_stats().bytes_retained << " " << s.pool.buffer_bytes();
    EXPECT_GT(s.handlers.idles, 0);
}

} // namespace
