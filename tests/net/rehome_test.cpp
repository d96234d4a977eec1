// Where connections live, and that they move: pinned workers, and clients that choose their CPU.
#include "site.hpp"

#include <fastserve/net/cpus.hpp>

#include <future>
#include <optional>
#include <string>

#include <unistd.h>

namespace {

using namespace fastserve;
using namespace fastserve::test;

// Puts the thread back on all its CPUs.
class on_cpu {
public:
    explicit on_cpu(int cpu) : before_(net::affinity_cpus()) { EXPECT_FALSE(net::pin_this_thread(cpu)); }
    ~on_cpu() { net::pin_this_thread(before_); }
    on_cpu(const on_cpu&) = delete;
    on_cpu& operator=(const on_cpu&) = delete;

private:
    std::vector<int> before_;
};

net::worker_pool_options pinned(unsigned n, net::placement how = net::placement::incoming_cpu) {
    net::worker_pool_options o = with_workers(n);
    o.pin = net::pin::on;
    o.placement = how;
    return o;
}

std::uint64_t moved(const serving& s) {
    return s.sum(&net::worker_counters::moved_in);
}

// Pipelines and single requests, every answer right and in order, while the client wanders over the CPUs.
void use_and_wander(std::uint16_t port, const std::vector<int>& cpus, int turns, std::string name) {
    client c(port);
    int next = 0, expected = 0;
    for (int turn = 0; turn < turns; ++turn) {
        ASSERT_FALSE(net::pin_this_thread(cpus[static_cast<std::size_t>(turn) % cpus.size()]));
        for (int burst = 0; burst < 50; ++burst) {
            std::string all;
            for (int i = 0; i < 1 + burst % 7; ++i) all += request("/id/" + name + std::to_string(next++));
            ASSERT_TRUE(c.send(all));
            while (expected != next) ASSERT_EQ(c.read().body, "/id/" + name + std::to_string(expected++));
        }
    }
}

TEST(Rehome, AConnectionMovesUnderLoadAndLosesNothing) {
    const std::vector<int> cpus = net::affinity_cpus();
    if (cpus.size() < 2) {
        SUCCEED() << "one CPU: there is nowhere to move to";
        return;
    }
    for (const auto how : {net::placement::incoming_cpu, net::placement::bpf}) {
        serving s(pinned(2, how));
        const bool did = eventually([&] {
            std::vector<std::thread> clients;
            for (int i = 0; i < 4; ++i)
                clients.emplace_back([&, i] {
                    use_and_wander(s.port, {cpus[0], cpus[1]}, 4, std::to_string(i) + "-");
                });
            for (auto& t : clients) t.join();
            return moved(s) > 3 || HasFailure();
        });
        EXPECT_TRUE(did) << moved(s);
        EXPECT_TRUE(eventually([&] { return s.settled(); }));
        EXPECT_EQ(s.sum(&net::worker_counters::moved_out), moved(s));
        EXPECT_EQ(s.sum(&net::worker_counters::accepted), s.sum(&net::worker_counters::closed));
    }
}

// What a connection was about when it moved is about it afterwards, too: it waits for room, suspends, ends.
TEST(Rehome, AMovedConnectionIsLikeAnyOther) {
    const std::vector<int> cpus = net::affinity_cpus();
    if (cpus.size() < 2) {
        SUCCEED() << "one CPU: there is nowhere to move to";
        return;
    }
    serving s(pinned(2));
    std::optional<client> c;
    const auto big = [&] {
        constexpr std::size_t size = 8'000'000; // more than the system keeps for a connection: it waits for room
        c->send(request("/big/" + std::to_string(size)));
        ASSERT_TRUE(c->read().body == big_body(size));
    };
    {
        const on_cpu here(cpus[0]);
        c.emplace(s.port, 8192);
        big();
    }
    {
        const on_cpu there(cpus[1]);
        ASSERT_TRUE(eventually([&] {
            for (int i = 0; i < 64; ++i) EXPECT_EQ(c->get("/").status, 200);
            return moved(s) != 0;
        }));
        big();
        big();
        c->send(request("/wait"));
        ASSERT_TRUE(eventually([&] { return s.handlers.waiting() == 1; }));
        s.handlers.complete();
        EXPECT_EQ(c->read().body, "waited");
    }
    c->reset();
    EXPECT_TRUE(eventually([&] { return s.settled(); }));
}

// Many connections that end, answer and wait for room while they move, and a server that ends while they do.
TEST(Rehome, TheServerMayEndWhileConnectionsMove) {
    const std::vector<int> cpus = net::affinity_cpus();
    if (cpus.size() < 2) {
        SUCCEED() << "one CPU: there is nowhere to move to";
        return;
    }
    for (int round = 0; round < 5; ++round) {
        net::worker_pool_options o = pinned(4);
        o.grace = round % 2 == 0 ? 0ms : 2000ms;
        serving s(o);
        std::atomic<bool> enough{false};
        std::vector<std::thread> clients;
        for (int i = 0; i < 4; ++i)
            clients.emplace_back([&, i] {
                for (unsigned turn = static_cast<unsigned>(i); !enough; ++turn) {
                    client c(s.port);
                    for (int n = 0; n < 300 && !enough; ++n) {
                        if (n % 70 == 0) net::pin_this_thread(cpus[(turn + static_cast<unsigned>(n / 70)) % 2]);
                        const answer a = c.get("/id/1");
                        if (a.status == 0) break; // the server went away, and only then
                        ASSERT_EQ(a.body, "/id/1");
                    }
                }
            });
        EXPECT_TRUE(eventually([&] { return s.sum(&net::worker_counters::requests) > 3000; }));
        s.pool.stop();
        enough = true;
        for (auto& t : clients) t.join();
        EXPECT_EQ(s.pool.open_connections(), 0u);
    }
}

// One client thread, so that all packets arrive on one CPU.
TEST(Rehome, ClientsOnOneCpuDoNotFillOneWorker) {
    const std::vector<int> cpus = net::affinity_cpus();
    for (const auto how : {net::placement::incoming_cpu, net::placement::bpf}) {
        const unsigned workers = static_cast<unsigned>(std::min<std::size_t>(cpus.size(), 4));
        serving s(pinned(workers, how));
        const on_cpu here(cpus[0]);
        std::vector<client> clients;
        for (unsigned i = 0; i < 8 * workers * 2; ++i) clients.emplace_back(s.port);
        const double mean = static_cast<double>(clients.size()) / workers;
        // With bpf the kernel chooses, and what it chose is corrected as requests come.
        const auto level = [&] {
            for (client& c : clients) {
                for (int i = 0; i < 64; ++i) EXPECT_EQ(c.get("/").status, 200);
            }
            std::uint64_t most = 0;
            for (unsigned i = 0; i < workers; ++i)
                most = std::max(most, net::read(s.pool.at(i).counters().connections));
            return static_cast<double>(most) <= 1.5 * mean;
        };
        EXPECT_TRUE(eventually(level)) << static_cast<int>(how);
    }
}

TEST(Rehome, EveryPlacementServes) {
    for (const auto how :
         {net::placement::incoming_cpu, net::placement::bpf, net::placement::least_loaded, net::placement::round_robin})
        for (const auto pin : {net::pin::on, net::pin::off}) {
            net::worker_pool_options o = with_workers(3);
            o.placement = how;
            o.pin = pin;
            serving s(o);
            std::vector<client> clients;
            for (int i = 0; i < 30; ++i) clients.emplace_back(s.port);
            for (client& c : clients) EXPECT_EQ(c.get("/id/1").body, "/id/1");
            if (how != net::placement::least_loaded && how != net::placement::round_robin) continue;
            for (unsigned i = 0; i < 3; ++i)
                EXPECT_EQ(net::read(s.pool.at(i).counters().connections), 10u) << static_cast<int>(how);
        }
}

// A worker that a handler holds gets no new connection, and gets some again when it is back.
TEST(Rehome, AStalledWorkerGetsNothing) {
    const std::vector<int> cpus = net::affinity_cpus();
    for (const auto how : {net::placement::round_robin, net::placement::incoming_cpu, net::placement::bpf}) {
        net::worker_pool_options o = with_workers(2);
        o.placement = how;
        o.pin = net::pin::on;
        serving s(o);
        s.handlers.hold = true;
        const on_cpu here(cpus[0]); // whose worker has a listener of its own, with two of the three
        client held(s.port);
        held.send(request("/stall"));
        ASSERT_TRUE(eventually([&] { return s.handlers.stalled == 1; }));
        const auto is_stalled = [&](unsigned i) { return s.pool.at(i).stalled(net::worker::clock_ms()); };
        ASSERT_TRUE(eventually([&] { return is_stalled(0) || is_stalled(1); }));
        std::vector<client> clients;
        for (int i = 0; i < 10; ++i) {
            clients.emplace_back(s.port);
            ASSERT_EQ(clients.back().get("/").status, 200) << static_cast<int>(how);
        }
        s.handlers.hold = false;
        EXPECT_EQ(held.read().body, "stalled");
        // Nobody is kept from it any more.
        clients.clear();
        held.close();
        ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
        for (int i = 0; i < 10; ++i) EXPECT_EQ(client(s.port).get("/").status, 200);
    }
}

// Also when nobody else has come by TCP, and to all others by a listener that they share.
TEST(Rehome, AWorkerMayStallForAClientOfAnotherListener) {
    serving s(pinned(2));
    const auto other = s.pool.listen(*net::address::parse("unix:@fastserve-rehome-" + std::to_string(::getpid())));
    ASSERT_TRUE(other);
    sockaddr_storage to;
    const socklen_t size = other->to_sockaddr(to);
    s.handlers.hold = true;
    client held(reinterpret_cast<const sockaddr*>(&to), size);
    held.send(request("/stall"));
    ASSERT_TRUE(eventually([&] { return s.handlers.stalled == 1; }));
    for (const int cpu : net::affinity_cpus()) {
        const on_cpu here(cpu);
        EXPECT_EQ(client(s.port).get("/").status, 200) << cpu;
    }
    s.handlers.hold = false;
    EXPECT_EQ(held.read().body, "stalled");
}

// Nor does it keep others waiting while the server ends.
TEST(Rehome, AStalledWorkerHoldsUpNobodyElsesDrain) {
    net::worker_pool_options o = pinned(2);
    o.grace = std::chrono::minutes(10);
    serving s(o);
    s.handlers.hold = true;
    const std::vector<int> cpus = net::affinity_cpus();
    client held(s.port), idle(s.port), waiting(s.port);
    {
        const on_cpu here(cpus.front());
        held = client(s.port);
        held.send(request("/stall"));
        ASSERT_TRUE(eventually([&] { return s.handlers.stalled == 1; }));
        // Whose worker is the other one, as soon as that is known.
        idle = client(s.port);
        ASSERT_EQ(idle.get("/").status, 200);
        waiting = client(s.port);
        waiting.send(request("/id/7"));
    }
    auto ended = std::async(std::launch::async, [&] { return s.pool.stop(); });
    EXPECT_EQ(waiting.read().body, "/id/7");
    EXPECT_TRUE(idle.read_end());
    EXPECT_TRUE(eventually([&] { return !client(s.port).connected(); })) << "the queues have ended";
    s.handlers.hold = false;
    EXPECT_EQ(held.read().body, "stalled");
    waiting.close();
    idle.close();
    held.close();
    EXPECT_TRUE(ended.get().clean());
}

} // namespace
