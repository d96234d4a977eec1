// What a worker does with one connection and with many, over loopback.
#include "site.hpp"

#include <fastserve/net/system.hpp>

#include <filesystem>
#include <map>

namespace {

using namespace fastserve;
using namespace fastserve::test;
namespace sys = fastserve::net::sys;

TEST(Worker, AnswersRequestAfterRequest) {
    serving s;
    client c(s.port);
    for (int i = 0; i < 300; ++i) {
        const std::string path = "/id/" + std::to_string(i);
        ASSERT_EQ(c.get(path).body, path);
    }
    EXPECT_EQ(s.sum(&net::worker_counters::requests), 300u);
    EXPECT_EQ(s.sum(&net::worker_counters::accepted), 1u);
}

TEST(Worker, AnswersAPipelineInOrder) {
    serving s;
    client c(s.port);
    std::string all;
    for (int i = 0; i < 2000; ++i) all += request("/id/" + std::to_string(i));
    std::thread sender([&] { c.send(all); });
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(c.read().body, "/id/" + std::to_string(i));
    sender.join();
}

TEST(Worker, TakesARequestByteByByte) {
    serving s;
    client c(s.port);
    const std::string text = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde" + request("/id/next");
    for (const char b : text) ASSERT_TRUE(c.send({&b, 1}));
    EXPECT_EQ(c.read().body, "abcde");
    EXPECT_EQ(c.read().body, "/id/next");
}

// ---- ends

TEST(Worker, AnswersAPeerThatFinishedSending) {
    serving s;
    for (int i = 0; i < 50; ++i) {
        client c(s.port);
        c.send(request("/id/1") + request("/id/2"));
        c.finish_sending();
        EXPECT_EQ(c.read().body, "/id/1");
        EXPECT_EQ(c.read().body, "/id/2");
        EXPECT_TRUE(c.read_end());
        EXPECT_FALSE(c.was_reset());
    }
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

TEST(Worker, AnswersALongPipelineOfAPeerThatFinishedSending) {
    serving s;
    client c(s.port);
    std::string all;
    for (int i = 0; i < 1000; ++i) all += request("/id/" + std::to_string(i));
    c.send(all);
    c.finish_sending();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(c.read().body, "/id/" + std::to_string(i));
    EXPECT_TRUE(c.read_end());
}

TEST(Worker, ASuspendedHandlerLearnsThatItsPeerFinishedSending) {
    serving s;
    client before(s.port); // the end comes with the request
    before.send(request("/wait"));
    before.finish_sending();
    client after(s.port); // and after the handler began
    after.send(request("/wait"));
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 2; }));
    after.finish_sending();
    EXPECT_TRUE(eventually([&] { return s.handlers.told_finished == 2; })) << s.handlers.told_finished;
    EXPECT_EQ(s.handlers.cancelled, 0);
    s.handlers.complete();
    for (client* c : {&before, &after}) {
        EXPECT_EQ(c->read().body, "waited");
        EXPECT_TRUE(c->read_end());
    }
}

TEST(Worker, APlainHandlerSeesThatItsPeerFinishedSending) {
    serving s(with_workers(1));
    s.handlers.hold = true;
    client busy(s.port);
    busy.send(request("/stall"));
    ASSERT_TRUE(eventually([&] { return s.handlers.stalled == 1; }));
    // Known to the worker before the request and its end arrive, so that an event tells of both.
    client c(s.port);
    c.send(request("/finished"));
    c.finish_sending();
    s.handlers.hold = false;
    EXPECT_EQ(busy.read().body, "stalled");
    const std::string seen = c.read().body; // whether it was accepted before or after decides
    EXPECT_TRUE(seen == "yes" || seen == "no");
    EXPECT_TRUE(c.read_end());

    client d(s.port);
    EXPECT_EQ(d.get("/finished").body, "no");
    s.handlers.hold = true;
    busy.send(request("/stall"));
    ASSERT_TRUE(eventually([&] { return s.handlers.stalled == 2; }));
    d.send(request("/finished"));
    d.finish_sending();
    s.handlers.hold = false;
    EXPECT_EQ(d.read().body, "yes");
    EXPECT_TRUE(d.read_end());
}

TEST(Worker, AHandlerMayEndAfterItsPeerLeft) {
    serving s;
    for (const bool at_once : {true, false}) {
        s.handlers.finish_when_cancelled = at_once;
        s.handlers.cancelled = 0;
        std::vector<client> clients;
        for (int i = 0; i < 20; ++i) {
            clients.emplace_back(s.port);
            clients.back().send(request("/wait") + request("/id/behind"));
        }
        ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 20; }));
        for (client& c : clients) c.reset();
        ASSERT_TRUE(eventually([&] { return s.handlers.cancelled == 20; }));
        ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
        EXPECT_EQ(s.sum(&net::worker_counters::suspended), at_once ? 0u : 20u);
        EXPECT_EQ(s.handlers.complete(), at_once ? 0u : 20u);
        EXPECT_TRUE(eventually([&] { return s.settled(); }));
    }
}

TEST(Worker, AnswersOfManySuspendedHandlersFindTheirConnections) {
    serving s;
    std::vector<client> clients;
    for (int i = 0; i < 100; ++i) {
        clients.emplace_back(s.port);
        clients.back().send(request("/wait/" + std::to_string(i)) + request("/id/" + std::to_string(i)));
    }
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 100; }));
    EXPECT_EQ(s.handlers.complete(true), 100u);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(clients[static_cast<std::size_t>(i)].read().body, std::to_string(i));
        EXPECT_EQ(clients[static_cast<std::size_t>(i)].read().body, "/id/" + std::to_string(i));
    }
}

// A client that is still sending when it is refused reads why.
TEST(Worker, ARefusalIsReadByAClientThatIsStillSending) {
    net::worker_pool_options o = with_workers(2);
    o.limits.body_bytes = 1000;
    serving s(o);
    const std::string body(1024 * 1024, 'x');
    for (int i = 0; i < 100; ++i) {
        client c(s.port);
        c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
        ASSERT_TRUE(c.send(body)) << i;
        const answer a = c.read();
        ASSERT_EQ(a.status, 413) << i;
        EXPECT_EQ(a.field("Connection"), "close");
        ASSERT_TRUE(c.read_end()) << i << (c.was_reset() ? " reset" : "");
    }
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

TEST(Worker, ClosesAfterAnAnswerThatSaysSo) {
    serving s;
    client c(s.port);
    c.send(request("/", "Connection: close\r\n"));
    EXPECT_EQ(c.read().body, "hello world");
    EXPECT_TRUE(c.read_end());
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

// Bytes behind the last request must not turn the end into a reset that destroys what the client has not read yet.
TEST(Worker, ALastAnswerIsReadByAClientThatSendsMore) {
    serving s(with_workers(1));
    for (const std::string_view more : {"x", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
        client c(s.port, 8 * 1024);
        c.send(request("/big/8000000", "Connection: close\r\n"));
        EXPECT_TRUE(eventually([&] { return c.poll() != 0; }));
        c.send(more);
        EXPECT_EQ(c.read().body.size(), 8'000'000U);
        EXPECT_TRUE(c.read_end()) << (c.was_reset() ? "reset" : "");
    }
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

TEST(Worker, WithoutAnExchangeTheAnswerIs503) {
    serving s(with_workers(1));
    client first(s.port);
    EXPECT_EQ(first.get("/").status, 200);
    s.handlers.exhausted = true;
    client holder(s.port); // takes the spare one
    holder.send(request("/wait"));
    ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
    client c(s.port);
    c.send(request("/"));
    const answer a = c.read();
    EXPECT_EQ(a.status, 503);
    EXPECT_FALSE(a.field("Retry-After").empty());
    s.handlers.exhausted = false;
    s.handlers.complete();
    EXPECT_EQ(holder.read().body, "waited");
    EXPECT_EQ(first.get("/").status, 200);
}

// ---- back-pressure

TEST(Worker, ASlowReaderOfALargeBodyHurtsNobodyElse) {
    serving s(with_workers(1));
    constexpr std::size_t size = 8 * 1024 * 1024;
    client slow(s.port, 4096);
    slow.send(request("/big/" + std::to_string(size)) + request("/id/behind"));
    ASSERT_TRUE(eventually([&] { return slow.poll() > 0; }));

    const std::uint64_t batches = s.sum(&net::worker_counters::batches);
    client quick(s.port);
    for (int i = 0; i < 200; ++i) ASSERT_EQ(quick.get("/id/" + std::to_string(i)).body, "/id/" + std::to_string(i));
    // A batch or a few a request: who cannot be written to is not tried again and again.
    EXPECT_LT(s.sum(&net::worker_counters::batches) - batches, 2000u);
    EXPECT_EQ(s.sum(&net::worker_counters::requests), 201u) << "nothing behind it is begun while it is unsent";

    EXPECT_TRUE(slow.read().body == big_body(size));
    EXPECT_EQ(slow.read().body, "/id/behind");
}

TEST(Worker, AnswersThatAreNotReadHoldUpTheirOwnConnectionAlone) {
    serving s(with_workers(1));
    client slow(s.port, 4096);
    std::string all;
    for (int i = 0; i < 100; ++i) all += request("/big/100000");
    slow.send(all);
    ASSERT_TRUE(eventually([&] { return slow.poll() > 0; }));
    client quick(s.port);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(quick.get("/").body, "hello world");
    EXPECT_LT(s.sum(&net::worker_counters::requests), 150u) << "answers are not made for a peer that does not read";
    const std::string body = big_body(100000);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(slow.read().body == body) << i;
}

// ---- stale events

// An event of an earlier life of a slot: a duplicate keeps the old socket in the epoll set, as a child process would,
// and removing it from the set fails.
TEST(Worker, AnEventOfAnEarlierConnectionIsNobodysEvent) {
    sys::fault_plan plan;
    std::vector<net::unique_fd> kept;
    net::worker_pool_options o = with_workers(1);
    serving s(o);
    client old(s.port);
    ASSERT_EQ(old.get("/").status, 200);
    ASSERT_EQ(old.get("/").status, 200); // an event told of this one, so it is in the set
    // The server's end of it is in this process, too.
    sockaddr_in mine{};
    socklen_t size = sizeof mine;
    ASSERT_EQ(::getsockname(old.fd(), reinterpret_cast<sockaddr*>(&mine), &size), 0);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::atoi(entry.path().filename().c_str());
        sockaddr_in peer{};
        size = sizeof peer;
        if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_port == mine.sin_port)
            kept.emplace_back(::dup(fd));
    }
    ASSERT_EQ(kept.size(), 1u);

    plan.fail(sys::call::epoll_ctl, 1, ENOMEM);
    {
        const sys::fault_scope installed(plan);
        old.send(request("/", "Connection: close\r\n"));
        EXPECT_EQ(old.read().status, 200);
        ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
        ASSERT_EQ(plan.injected(), 1u);
    }
    // Connections come and go in the slots, and the old socket goes on having events in between.
    for (int i = 0; i < 300; ++i) {
        client c(s.port);
        old.send("x");
        c.send(request("/id/1"));
        old.send("x");
        ASSERT_EQ(c.read().body, "/id/1");
        old.send("x");
        ASSERT_EQ(c.get("/id/2").body, "/id/2");
    }
    old.close();
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

// A descriptor that is closed is used again at once: by connections of the same batch.
TEST(Worker, DescriptorsAreReusedWithinABatch) {
    serving s(with_workers(1));
    client stall(s.port);
    for (int round = 0; round < 20; ++round) {
        std::vector<client> leaving, staying;
        for (int i = 0; i < 30; ++i) {
            leaving.emplace_back(s.port);
            ASSERT_EQ(leaving.back().get("/").status, 200);
        }
        const int before = s.handlers.stalled;
        s.handlers.hold = true;
        stall.send(request("/stall"));
        ASSERT_TRUE(eventually([&] { return s.handlers.stalled == before + 1; }));
        // While the worker is away: half leave in three ways, and others come.
        for (std::size_t i = 0; i < leaving.size(); ++i) {
            if (i % 3 == 0) leaving[i].reset();
            if (i % 3 == 1) leaving[i].close();
            if (i % 3 == 2) leaving[i].send(request("/", "Connection: close\r\n"));
            staying.emplace_back(s.port);
            staying.back().send(request("/id/" + std::to_string(i)));
        }
        s.handlers.hold = false;
        EXPECT_EQ(stall.read().body, "stalled");
        for (std::size_t i = 0; i < staying.size(); ++i) {
            ASSERT_EQ(staying[i].read().body, "/id/" + std::to_string(i));
            ASSERT_EQ(staying[i].get("/id/again").body, "/id/again");
        }
    }
    stall.close();
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

} // namespace
