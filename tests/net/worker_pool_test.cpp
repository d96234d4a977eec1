// The pool as a whole: what it is asked for, several in a process, and inside a loop that is not its own.
#include "site.hpp"

#include <fastserve/net/cpus.hpp>
#include <fastserve/net/fault_plan.hpp>

#include <boost/asio/post.hpp>

#include <functional>
#include <future>

#include <pthread.h>

namespace {

using namespace fastserve;
using namespace fastserve::test;

// A pool that listens, and that nobody has started.
struct unstarted {
    explicit unstarted(const net::worker_pool_options& o = with_workers(2)) : handlers(o.limits), pool(handlers, o) {
        EXPECT_FALSE(pool.open());
        const auto at = pool.listen(*net::address::parse("127.0.0.1:0"));
        EXPECT_TRUE(at);
        if (at) port = at->port();
    }

    site handlers;
    net::worker_pool pool;
    std::uint16_t port = 0;
};

TEST(WorkerPool, TheLargestLimitOfConnectionsIsAccepted) {
    for (const std::uint64_t most : {std::uint64_t{1}, (std::uint64_t{1} << 24) - 1, std::uint64_t{1} << 40}) {
        net::worker_pool_options o = with_workers(2);
        o.limits.connections = most;
        serving s(o);
        EXPECT_EQ(client(s.port).get("/").status, 200) << most;
    }
}

TEST(WorkerPool, WithoutANumberThereIsAWorkerForEachCpu) {
    net::worker_pool_options o;
    site handlers(o.limits);
    net::worker_pool pool(handlers, o);
    ASSERT_FALSE(pool.open());
    EXPECT_EQ(pool.size(), net::auto_workers(net::affinity_cpus().size(), net::cpu_quota()));
}

TEST(WorkerPool, WhatWasNeverStartedEnds) {
    std::uint16_t port = 0;
    {
        unstarted u(with_workers(3));
        port = u.port;
        u.pool.request_drain(); // letters that nobody will read
        EXPECT_TRUE(u.pool.stop().clean());
    }
    EXPECT_FALSE(client(port).connected());
}

TEST(WorkerPool, ConnectionsBeforeTheStartAreServedAfterIt) {
    unstarted u;
    client c(u.port);
    c.send(request("/id/early"));
    ASSERT_FALSE(u.pool.start());
    EXPECT_EQ(c.read().body, "/id/early");
    u.pool.end();
}

// To wake a worker costs more than to serve a request: what one turn of the acceptor takes in is one letter for each.
TEST(WorkerPool, ATurnOfTheAcceptorWakesEachWorkerOnce) {
    unstarted u;
    std::vector<client> clients;
    for (unsigned i = 0; i < net::acceptor::accepts_a_turn - 1; ++i) {
        clients.emplace_back(u.port);
        clients.back().send(request("/"));
    }
    net::sys::fault_plan plan;
    const net::sys::fault_scope counted(plan);
    ASSERT_FALSE(u.pool.start());
    for (client& c : clients) ASSERT_EQ(c.read().status, 200);
    EXPECT_LE(plan.calls(net::sys::call::eventfd_write), 2u);
    clients.clear();
    u.pool.end();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FASTSERVE_TEST_UNDER_SANITIZER
#endif
#endif
#else
#define FASTSERVE_TEST_UNDER_SANITIZER
#endif

#ifndef FASTSERVE_TEST_UNDER_SANITIZER
// The system refuses a thread whose stack it has no room for. (A sanitizer makes threads in its own way.)
TEST(WorkerPool, AThreadThatCannotStartIsAnError) {
    pthread_attr_t before, huge;
    ASSERT_EQ(pthread_getattr_default_np(&before), 0);
    ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 46), 0);
    for (const auto pin : {net::pin::off, net::pin::on}) {
        net::worker_pool_options o = with_workers(2);
        o.pin = pin;
        unstarted u(o);
        client waiting(u.port);
        ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
        const std::error_code failed = u.pool.start();
        pthread_setattr_default_np(&before);
        EXPECT_EQ(failed, std::errc::resource_unavailable_try_again);
        EXPECT_FALSE(u.pool.running());
        EXPECT_FALSE(client(u.port).connected());
        EXPECT_TRUE(u.pool.stop().clean());
    }
}
#endif

// Its first letter is still with the worker then.
TEST(WorkerPool, ADrivenOneMayEndBeforeItCameToItsListener) {
    net::worker_pool_options o = with_workers(1);
    site handlers(o.limits);
    net::worker_pool pool(handlers, o);
    ASSERT_FALSE(pool.open());
    pool.drive([](std::chrono::milliseconds) {});
    const auto at = pool.listen(*net::address::parse("127.0.0.1:0"));
    ASSERT_TRUE(at);
    pool.drive({});
    pool.end();
    EXPECT_FALSE(client(at->port()).connected());
}

// A listener a CPU is one listener to whoever asked for it.
TEST(WorkerPool, AListenThatFailsHalfWayLeavesNothing) {
    net::worker_pool_options o = with_workers(2);
    o.pin = net::pin::on;
    const std::uint16_t port = serving(o).port; // free again
    for (std::uint64_t nth = 1;; ++nth) {
        net::sys::fault_plan plan;
        plan.fail(net::sys::call::duplicate, nth, EMFILE);
        const net::sys::fault_scope installed(plan);
        site handlers(o.limits);
        net::worker_pool pool(handlers, o);
        ASSERT_FALSE(pool.open());
        const auto at = pool.listen(*net::address::parse("127.0.0.1:" + std::to_string(port)));
        if (plan.injected() == 0) break;
        ASSERT_FALSE(at);
        EXPECT_EQ(at.error(), std::errc::too_many_files_open);
        EXPECT_TRUE(pool.addresses().empty());
        EXPECT_FALSE(client(port).connected());
    }
}

TEST(WorkerPool, TwoServersLiveInOneProcess) {
    serving a(with_workers(2));
    client kept(a.port);
    EXPECT_EQ(kept.get("/").status, 200);
    for (int i = 0; i < 3; ++i) {
        serving b(with_workers(2));
        client c(b.port);
        EXPECT_EQ(c.get("/id/b").body, "/id/b");
        EXPECT_EQ(kept.get("/id/a").body, "/id/a");
        EXPECT_EQ(b.sum(&net::worker_counters::requests), 1u);
    }
    EXPECT_EQ(kept.get("/").status, 200);
}

TEST(WorkerPool, ListensAtMoreWhileItServes) {
    serving s;
    std::atomic<bool> enough{false};
    std::thread reader([&] {
        while (!enough) {
            (void)s.pool.addresses();
            (void)s.pool.starved();
            (void)s.pool.running();
        }
    });
    for (int i = 0; i < 20; ++i) {
        const auto at = s.pool.listen(*net::address::parse("127.0.0.1:0"));
        ASSERT_TRUE(at);
        EXPECT_EQ(client(at->port()).get("/").status, 200);
    }
    enough = true;
    reader.join();
    EXPECT_EQ(s.pool.addresses().size(), 21u);
}

// ---- inside a loop of the user's

struct embedded {
    explicit embedded(boost::asio::io_context& loop, net::worker_pool_options o = {})
        : pool(handlers_of(*this), o, loop), handlers(o.limits) {
        EXPECT_FALSE(pool.open());
        const auto at = pool.listen(*net::address::parse("127.0.0.1:0"));
        EXPECT_TRUE(at);
        port = at->port();
        EXPECT_FALSE(pool.start());
    }
    ~embedded() { pool.end(); }

    static site& handlers_of(embedded& e) { return e.handlers; }

    net::worker_pool pool;
    site handlers;
    std::uint16_t port = 0;
};

TEST(Embedded, ServesOnTheUsersLoopAndStopsThere) {
    boost::asio::io_context loop(1);
    embedded s(loop);
    EXPECT_EQ(s.pool.size(), 1u);
    auto answers = std::async(std::launch::async, [&] {
        int right = 0;
        for (int i = 0; i < 20; ++i) {
            client c(s.port);
            for (int n = 0; n < 10; ++n) right += c.get("/id/1").body == "/id/1" ? 1 : 0;
        }
        boost::asio::post(loop, [&] { loop.stop(); });
        return right;
    });
    const auto on = std::this_thread::get_id();
    bool mine = false;
    boost::asio::post(loop, [&] { mine = std::this_thread::get_id() == on; });
    loop.run();
    EXPECT_EQ(answers.get(), 200);
    EXPECT_TRUE(mine) << "the user's own work runs beside it";
    EXPECT_TRUE(s.pool.stop().clean());
    EXPECT_TRUE(loop.stopped()) << "as its owner left it";
    EXPECT_FALSE(client(s.port).connected());
}

// stop() from a handler of the loop, which runs it further until what is in flight has finished.
TEST(Embedded, DrainsFromWithinTheLoop) {
    boost::asio::io_context loop(1);
    embedded s(loop);
    std::promise<void> suspended;
    auto answered = std::async(std::launch::async, [&] {
        client c(s.port);
        c.send(request("/wait"));
        EXPECT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
        suspended.set_value();
        EXPECT_TRUE(eventually([&] { return s.pool.draining(); }));
        s.handlers.complete();
        return c.read().body;
    });
    net::drain_report report{1, 1};
    boost::asio::steady_timer when(loop);
    std::function<void()> look = [&] {
        when.expires_after(1ms);
        when.async_wait([&](const boost::system::error_code&) {
            if (s.handlers.waiting() == 1 && !s.pool.draining())
                report = s.pool.stop();
            else
                look();
        });
    };
    look();
    loop.run(); // returns: nothing of the server's is left in it
    EXPECT_EQ(answered.get(), "waited");
    EXPECT_TRUE(report.clean());
}

// Queued connections are the kernel's until the loop runs, and are answered though the first it hears is the drain.
TEST(Embedded, QueuedConnectionsAreAnsweredAtTheDrain) {
    boost::asio::io_context loop(1);
    embedded s(loop);
    std::vector<client> queued;
    for (int i = 0; i < 20; ++i) {
        queued.emplace_back(s.port);
        queued.back().send(request("/id/" + std::to_string(i)));
    }
    auto answers = std::async(std::launch::async, [&] {
        int right = 0;
        for (std::size_t i = 0; i < queued.size(); ++i) {
            const answer a = queued[i].read();
            right += a.body == "/id/" + std::to_string(i) && queued[i].read_end() ? 1 : 0;
            queued[i].close();
        }
        return right;
    });
    EXPECT_TRUE(s.pool.stop().clean());
    EXPECT_EQ(answers.get(), 20);
}

// The server goes first, with connections, timers and posted work left; the loop goes on.
TEST(Embedded, TheLoopOutlivesTheServer) {
    boost::asio::io_context loop(1);
    for (int round = 0; round < 3; ++round) {
        std::vector<client> clients;
        {
            embedded s(loop);
            for (int i = 0; i < 5; ++i) {
                clients.emplace_back(s.port);
                clients.back().send(request(i % 2 == 0 ? "/" : "/wait"));
            }
            s.handlers.finish_when_cancelled = true;
            // In the first round nothing of it ever ran, in the second not all.
            ASSERT_TRUE(round == 0 || eventually([&] {
                            loop.restart();
                            loop.poll();
                            return round == 1 || s.handlers.waiting() == 2;
                        }));
        }
        loop.restart();
        loop.poll();
        for (client& c : clients) EXPECT_TRUE(c.read().status == 200 || c.at_end());
    }
}

// ---- one client among many

// An endless pipeline beside others: they are answered at their pace, not at its.
//
// What does not depend on time: between two answers of the others, the pipeline gets no more than some turns' worth of
// requests. Their 99th percentile is measured in fairness_test.
TEST(Fairness, AnEndlessPipelineGetsItsTurnsAndNoMore) {
    net::worker_pool_options o = with_workers(1);
    serving s(o);
    std::atomic<bool> enough{false};
    std::atomic<std::uint64_t> greedy_answers{0};
    client greedy(s.port);
    std::thread sender([&] {
        std::string many;
        for (int i = 0; i < 2000; ++i) many += request("/");
        while (!enough && greedy.send(many)) {
        }
        greedy.finish_sending();
    });
    std::thread reader([&] {
        while (greedy.read().status == 200) greedy_answers.fetch_add(1, std::memory_order_relaxed);
    });
    ASSERT_TRUE(eventually([&] { return greedy_answers > 10'000; }));

    // Two polite clients in lockstep; the requests that the worker served meanwhile are counted by itself.
    client a(s.port), b(s.port);
    ASSERT_EQ(a.get("/").status, 200);
    ASSERT_EQ(b.get("/").status, 200);
    std::vector<std::uint64_t> between;
    for (int i = 0; i < 300; ++i) {
        const std::uint64_t before = s.sum(&net::worker_counters::batches);
        a.send(request("/id/a"));
        b.send(request("/id/b"));
        ASSERT_EQ(a.read().body, "/id/a");
        ASSERT_EQ(b.read().body, "/id/b");
        between.push_back(s.sum(&net::worker_counters::batches) - before);
    }
    const std::uint64_t served = greedy_answers;
    EXPECT_TRUE(eventually([&] { return greedy_answers > served + 1000; })) << "nor is it starved";
    enough = true;
    sender.join();
    reader.join();

    // A request that has arrived is answered in the next batch or the one after; how many batches fit into the time
    // until this thread runs again is the machine's affair, hence the median.
    std::sort(between.begin(), between.end());
    RecordProperty("median_batches", std::to_string(between[between.size() / 2]));
    EXPECT_LE(s.sum(&net::worker_counters::requests) / s.sum(&net::worker_counters::batches),
              2 * o.limits.turn_requests);
    EXPECT_LT(between[between.size() / 2], 200u);
}

// Whose turn was cut short is on the ready list. What arrives meanwhile is no reason for a second turn in one batch.
TEST(Fairness, AnEventIsNoSecondTurn) {
    net::worker_pool_options o = with_workers(1);
    o.limits.turn_requests = 1;
    serving s(o);
    s.handlers.hold = true;
    client greedy(s.port);
    greedy.send(request("/stall") + request("/stall") + request("/stall") + request("/stall"));
    const auto next_turn = [&](int turn) {
        s.handlers.let_through = turn - 1;
        return eventually([&] { return s.handlers.stalled == turn; });
    };
    ASSERT_TRUE(next_turn(1));
    ASSERT_TRUE(next_turn(2));
    const std::uint64_t batches = s.sum(&net::worker_counters::batches);
    greedy.send(request("/"));
    ASSERT_TRUE(next_turn(3));
    EXPECT_EQ(s.sum(&net::worker_counters::batches), batches + 1);
    ASSERT_TRUE(next_turn(4));
    EXPECT_EQ(s.sum(&net::worker_counters::batches), batches + 2);
    s.handlers.hold = false;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(greedy.read().status, 200) << i;
}

// Uploads, too: who sends without end has the worker for a bounded number of receives.
TEST(Fairness, AnEndlessUploadLeavesTurnsToOthers) {
    net::worker_pool_options o = with_workers(1);
    o.limits.body_bytes = std::uint64_t{1} << 40;
    serving s(o);
    std::atomic<bool> enough{false};
    client greedy(s.port);
    std::thread sender([&] {
        const std::string piece(256 * 1024, 'x');
        while (!enough) {
            greedy.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(64 * piece.size()) +
                        "\r\n\r\n");
            for (int i = 0; i < 64 && !enough; ++i)
                if (!greedy.send(piece)) return;
        }
    });
    std::thread reader([&] {
        while (!enough) greedy.poll();
    });
    client c(s.port);
    // Every request is answered in a batch or two after it came, each with one bounded share of the upload.
    std::vector<std::uint64_t> between;
    for (int i = 0; i < 300; ++i) {
        const std::uint64_t before = s.sum(&net::worker_counters::batches);
        ASSERT_EQ(c.get("/id/1").body, "/id/1");
        between.push_back(s.sum(&net::worker_counters::batches) - before);
    }
    std::sort(between.begin(), between.end());
    EXPECT_LT(between[between.size() / 2], 200u);
    enough = true;
    ::shutdown(greedy.fd(), SHUT_RDWR); // wakes the sender
    reader.join();
    sender.join();
}

} // namespace
