// Who comes in, from where, and what happens when there is no room.
#include "site.hpp"

#include <fastserve/net/system.hpp>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

namespace {

using namespace fastserve;
using namespace fastserve::test;
namespace sys = fastserve::net::sys;

client connect_to(const net::address& at) {
    sockaddr_storage storage;
    const socklen_t size = at.to_sockaddr(storage);
    return client(reinterpret_cast<const sockaddr*>(&storage), size);
}

net::address at(std::string_view text) {
    return *net::address::parse(text);
}

double cpu_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// ---- addresses

TEST(Acceptor, ServesEveryKindOfAddress) {
    serving s;
    const auto folder = std::filesystem::temp_directory_path() / ("fastserve-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const int inherited = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::listen(inherited, 16), 0); // binds to a port of its own
    std::vector<std::string> kinds = {"127.0.0.1:0", "unix:" + (folder / "socket").string(),
                                      "unix:@fastserve-test-" + std::to_string(::getpid()),
                                      "fd:" + std::to_string(inherited)};
    const bool v6 = std::filesystem::exists("/proc/net/if_inet6");
    if (v6) kinds.push_back("[::1]:0");
    for (const std::string& kind : kinds) {
        const auto local = s.pool.listen(at(kind));
        ASSERT_TRUE(local) << kind << ": " << local.error().message();
        EXPECT_TRUE(!local->is_ip() || local->port() != 0) << kind;
        net::address to = *local;
        if (to.is_any()) to = net::address::v4({127, 0, 0, 1}, to.port());
        client c = connect_to(to);
        ASSERT_TRUE(c.connected()) << kind;
        EXPECT_EQ(c.get("/id/1").body, "/id/1") << kind;
        c.send(request("/id/2"));
        c.finish_sending();
        EXPECT_EQ(c.read().body, "/id/2") << kind;
        EXPECT_TRUE(c.read_end()) << kind;
    }
    EXPECT_EQ(s.pool.addresses().size(), kinds.size() + 1);
    s.pool.stop();
    EXPECT_FALSE(std::filesystem::exists(folder / "socket"));
    std::filesystem::remove_all(folder);
}

TEST(Acceptor, TheUnspecifiedV6AddressTakesBothFamilies) {
    if (!std::filesystem::exists("/proc/net/if_inet6")) {
        SUCCEED() << "this kernel has no IPv6";
        return;
    }
    for (const auto how : {net::placement::incoming_cpu, net::placement::bpf}) {
        net::worker_pool_options o = with_workers(2);
        o.placement = how;
        serving s(o);
        const auto local = s.pool.listen(at("[::]:0"));
        ASSERT_TRUE(local) << local.error().message();
        EXPECT_EQ(client(local->port()).get("/").body, "hello world");
        std::array<std::uint8_t, 16> loopback{};
        loopback[15] = 1;
        EXPECT_EQ(connect_to(net::address::v6(loopback, local->port())).get("/").body, "hello world");
    }
}

TEST(Acceptor, AnAddressInUseIsAnError) {
    serving s;
    const std::string taken = "127.0.0.1:" + std::to_string(s.port);
    EXPECT_EQ(s.pool.listen(at(taken)).error(), std::errc::address_in_use);
}

TEST(Acceptor, DescriptorsAreNotInherited) {
    serving s;
    client c(s.port);
    EXPECT_EQ(c.get("/").status, 200);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::atoi(entry.path().filename().c_str());
        const int flags = ::fcntl(fd, F_GETFD);
        std::error_code gone;
        const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
        const bool ours = what.starts_with("socket:") || what.starts_with("anon_inode:");
        EXPECT_TRUE(flags < 0 || !ours || (flags & FD_CLOEXEC) != 0) << what;
    }
}

// ---- limits

TEST(Acceptor, BeyondTheLimitOfConnectionsA503IsReallyRead) {
    net::worker_pool_options o = with_workers(2);
    o.limits.connections = 10;
    serving s(o);
    std::vector<client> inside;
    for (int i = 0; i < 10; ++i) {
        inside.emplace_back(s.port);
        ASSERT_EQ(inside.back().get("/").status, 200);
    }
    for (int i = 0; i < 50; ++i) {
        client c(s.port);
        c.send(request("/") + std::string(i % 2 == 0 ? 0 : 60'000, 'x'));
        const answer a = c.read();
        ASSERT_EQ(a.status, 503) << i << (c.was_reset() ? " reset" : "");
        EXPECT_FALSE(a.field("Retry-After").empty());
        EXPECT_EQ(a.field("Connection"), "close");
        EXPECT_TRUE(c.read_end()) << i << (c.was_reset() ? " reset" : "");
    }
    EXPECT_EQ(s.sum(&net::worker_counters::refused), 50u);
    for (client& c : inside) EXPECT_EQ(c.get("/").status, 200);
    inside.pop_back();
    EXPECT_TRUE(eventually([&] { return s.pool.open_connections() == 9; }));
    EXPECT_EQ(client(s.port).get("/").status, 200);
}

// As configured: beyond the limit they wait in the queue, in order, and nobody is told anything.
TEST(Acceptor, BeyondTheLimitOfConnectionsTheyWaitIfTheyShall) {
    for (const auto& [workers, pin] :
         {std::pair(1u, net::pin::off), std::pair(2u, net::pin::off), std::pair(2u, net::pin::on)}) {
        net::worker_pool_options o = with_workers(workers);
        o.pin = pin;
        o.limits.connections = 4;
        o.wait_when_full = true;
        serving s(o);
        std::vector<client> inside, waiting;
        for (int i = 0; i < 4; ++i) {
            inside.emplace_back(s.port);
            ASSERT_EQ(inside.back().get("/").status, 200);
        }
        for (int i = 0; i < 8; ++i) {
            waiting.emplace_back(s.port);
            ASSERT_TRUE(waiting.back().connected());
            waiting.back().send(request("/id/" + std::to_string(i)));
        }
        std::this_thread::sleep_for(net::acceptor::full_look * 5);
        for (client& c : waiting) EXPECT_EQ(c.poll(), 0u);
        EXPECT_EQ(s.pool.open_connections(), 4u);
        for (client& c : inside) EXPECT_EQ(c.get("/").status, 200);
        inside.clear();
        for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(waiting[static_cast<std::size_t>(i)].read().body, "/id/" + std::to_string(i));
            waiting[static_cast<std::size_t>(i)].close();
        }
        EXPECT_EQ(s.sum(&net::worker_counters::refused), 0u);
        EXPECT_EQ(s.pool.starved(), 0u);
    }
}

// Not even at the moment when several see the same free place.
TEST(Acceptor, NobodyWhoWaitsForAPlaceIsRefused) {
    net::worker_pool_options o = with_workers(2);
    o.pin = net::pin::on;
    o.limits.connections = 4;
    o.wait_when_full = true;
    serving s(o);
    std::atomic<unsigned> served{0};
    std::vector<std::thread> crowd;
    for (int i = 0; i < 12; ++i)
        crowd.emplace_back([&] {
            for (int n = 0; n < 20; ++n) served += client(s.port).get("/").status == 200;
        });
    for (std::thread& t : crowd) t.join();
    EXPECT_EQ(served, 12u * 20);
    EXPECT_EQ(s.sum(&net::worker_counters::refused), 0u);
}

// Who was refused and does not leave keeps nobody out.
TEST(Acceptor, TheRefusedTakeNobodysPlace) {
    net::worker_pool_options o = with_workers(2);
    o.limits.connections = 3;
    o.limits.connections_per_peer = 3;
    serving s(o);
    std::vector<client> inside, refused;
    for (int i = 0; i < 3; ++i) {
        inside.emplace_back(s.port);
        ASSERT_EQ(inside.back().get("/").status, 200);
    }
    for (int i = 0; i < 20; ++i) {
        refused.emplace_back(s.port);
        ASSERT_EQ(refused.back().read().status, 503);
    }
    inside.pop_back();
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 22; }));
    client next(s.port);
    EXPECT_EQ(next.get("/").status, 200);
    EXPECT_EQ(client(s.port).read().status, 503);
}

TEST(Acceptor, ConnectionsOfOnePeerAreLimited) {
    net::worker_pool_options o = with_workers(2);
    o.limits.connections_per_peer = 3;
    serving s(o);
    const auto other = s.pool.listen(at("127.0.0.2:0"));
    ASSERT_TRUE(other);
    std::vector<client> inside;
    for (int i = 0; i < 3; ++i) {
        inside.emplace_back(s.port);
        ASSERT_EQ(inside.back().get("/").status, 200);
    }
    EXPECT_EQ(client(s.port).read().status, 503);
    // Another peer, by its own address.
    sockaddr_in mine{}, to{};
    mine.sin_family = to.sin_family = AF_INET;
    mine.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 4);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(s.port);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&mine), sizeof mine), 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const std::string text = request("/");
    ASSERT_EQ(::send(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    char head[12];
    ASSERT_EQ(::recv(fd, head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
    EXPECT_EQ(std::string_view(head, sizeof head), "HTTP/1.1 200");
    ::close(fd);
    inside.clear();
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 0; }));
    EXPECT_EQ(client(s.port).get("/").status, 200);
}

// One IPv4 peer is the same one at a listener of both families, and no IPv6 peer is.
TEST(Acceptor, APeerIsLimitedWhicheverFamilyTheListenerIs) {
    if (!std::filesystem::exists("/proc/net/if_inet6")) {
        SUCCEED() << "this kernel has no IPv6";
        return;
    }
    net::worker_pool_options o = with_workers(2);
    o.limits.connections_per_peer = 2;
    serving s(o);
    const auto both = s.pool.listen(at("[::]:0"));
    ASSERT_TRUE(both) << both.error().message();
    client by_v4(s.port), by_mapped(both->port());
    EXPECT_EQ(by_v4.get("/").status, 200);
    EXPECT_EQ(by_mapped.get("/").status, 200);
    for (const std::uint16_t port : {s.port, both->port()}) {
        const answer a = client(port).read();
        EXPECT_EQ(a.status, 503);
        EXPECT_FALSE(a.field("Retry-After").empty());
    }
    std::array<std::uint8_t, 16> loopback{};
    loopback[15] = 1;
    const net::address v6 = net::address::v6(loopback, both->port());
    client first = connect_to(v6), second = connect_to(v6);
    EXPECT_EQ(first.get("/").status, 200);
    EXPECT_EQ(second.get("/").status, 200);
    EXPECT_EQ(connect_to(v6).read().status, 503);
    by_v4.close();
    ASSERT_TRUE(eventually([&] { return s.pool.open_connections() == 3; }));
    EXPECT_EQ(client(both->port()).get("/").status, 200);
}

// Of an answer that nobody reads, the kernel holds a part that many such peers together cannot hurt with.
TEST(Acceptor, APeerThatDoesNotReadOccupiesLittleOfTheKernel) {
    net::result<net::listener> l = net::listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(l);
    client peer(l->local().port(), 4096);
    const net::unique_fd fd(sys::accept(l->fd()).descriptor());
    const std::string part(64 * 1024, 'x');
    std::size_t taken = 0;
    for (;;) {
        const sys::io_result r = sys::send(fd.get(), part.data(), part.size());
        if (!r.ok()) {
            EXPECT_TRUE(r.would_block());
            break;
        }
        taken += static_cast<std::size_t>(r.n);
    }
    EXPECT_GT(taken, 64u * 1024);
    EXPECT_LT(taken, 512u * 1024);
}

TEST(Acceptor, ManyMoreThanOneTurnAcceptsAreTaken) {
    serving s;
    std::vector<client> clients;
    for (int i = 0; i < 500; ++i) clients.emplace_back(s.port);
    for (client& c : clients) ASSERT_EQ(c.get("/").status, 200);
    EXPECT_EQ(s.pool.open_connections(), 500u);
}

// ---- when accepting fails

TEST(Acceptor, GoesOnAfterEveryError) {
    for (const int error : {ECONNABORTED, EPROTO, EPERM, ENETDOWN, EMFILE, ENFILE, ENOMEM, ENOBUFS, EINVAL}) {
        for (const auto& [workers, how] :
             {std::pair(2u, net::placement::incoming_cpu), std::pair(2u, net::placement::bpf),
              std::pair(1u, net::placement::incoming_cpu)}) {
            net::worker_pool_options o = with_workers(workers);
            o.placement = how;
            sys::fault_plan plan;
            plan.fail(sys::call::accept, 1, error, 2);
            const sys::fault_scope installed(plan);
            serving s(o);
            std::vector<client> clients;
            for (int i = 0; i < 5; ++i) clients.emplace_back(s.port);
            for (client& c : clients) {
                // Out of descriptors, one peer is told so.
                const answer a = c.get("/");
                const bool may_refuse = error == EMFILE || error == ENFILE;
                EXPECT_TRUE(a.status == 200 || (may_refuse && a.status == 503)) << error << ": " << a.status;
            }
            EXPECT_EQ(client(s.port).get("/").status, 200) << error;
            EXPECT_EQ(plan.injected(), 2u) << error;
        }
    }
}

// An error that stays is asked about some times a second, not all the time.
TEST(Acceptor, DoesNotSpinOnAnErrorThatStays) {
    for (const auto& [error, workers] : {std::pair(EMFILE, 2u), std::pair(ENOMEM, 2u), std::pair(EINVAL, 2u),
                                         std::pair(EPERM, 2u), std::pair(EMFILE, 1u), std::pair(EPERM, 1u)}) {
        sys::fault_plan plan;
        plan.fail(sys::call::accept, 1, error, sys::fault_plan::forever);
        const sys::fault_scope installed(plan);
        serving s(with_workers(workers));
        client c(s.port);
        ASSERT_TRUE(eventually([&] { return s.pool.starved() >= 3; })) << error;
        EXPECT_LE(plan.calls(sys::call::accept), (s.pool.starved() + 1) * (error == EPERM ? 64 : 2)) << error;
    }
}

// Nor on a listener that waits for better times, and that the worker's set would not let go.
TEST(Acceptor, DoesNotSpinOnAListenerThatStaysInTheSet) {
    sys::fault_plan plan;
    plan.fail(sys::call::accept, 1, ENOMEM);
    plan.fail(sys::call::epoll_ctl, 3, ENOMEM); // after the wake-up and the listener were added
    const sys::fault_scope installed(plan);
    serving s(with_workers(1));
    EXPECT_EQ(client(s.port).get("/").status, 200);
    EXPECT_EQ(plan.injected(), 2u);
    EXPECT_LT(plan.calls(sys::call::epoll_wait), 1'000u);
}

// For real, in a process of its own, which has few descriptors.
int serve_without_descriptors(unsigned workers) {
    serving s(with_workers(workers));
    const auto local = s.pool.listen(at("127.0.0.1:0"));
    std::vector<client> inside;
    for (int i = 0; i < 10; ++i) {
        inside.emplace_back(s.port);
        if (inside.back().get("/").status != 200) return 2;
    }
    // Sockets of clients made before, because a client needs a descriptor, too.
    std::vector<int> sockets;
    for (int i = 0; i < 40; ++i) sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    const rlimit before = [] {
        rlimit l{};
        ::getrlimit(RLIMIT_NOFILE, &l);
        return l;
    }();
    // All numbers up to the highest in use are taken, and no higher one is allowed.
    std::vector<int> fill;
    for (;;) {
        const int fd = ::dup(0);
        if (fd < 0) return 3;
        if (fd > sockets.back()) {
            ::close(fd);
            const rlimit tight{static_cast<rlim_t>(fd), before.rlim_max};
            if (::setrlimit(RLIMIT_NOFILE, &tight) != 0) return 4;
            break;
        }
        fill.push_back(fd);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(s.port);
    for (const int fd : sockets)
        if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return 5;

    const double cpu = cpu_seconds();
    const auto began = std::chrono::steady_clock::now();
    if (!eventually([&] { return s.pool.starved() >= 4; })) return 6;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (cpu_seconds() - cpu > took.count() / 2) return 7; // it spins
    // The one whose turn it was has been told.
    char head[12];
    if (::recv(sockets.front(), head, sizeof head, MSG_WAITALL) != static_cast<ssize_t>(sizeof head)) return 8;
    if (std::string_view(head, sizeof head) != "HTTP/1.1 503") return 9;
    for (client& c : inside)
        if (c.get("/").status != 200) return 10;

    if (::setrlimit(RLIMIT_NOFILE, &before) != 0) return 11;
    // Who still waits is served, and so is who comes now.
    const std::string text = request("/");
    if (::send(sockets.back(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return 12;
    if (::recv(sockets.back(), head, sizeof head, MSG_WAITALL) != static_cast<ssize_t>(sizeof head)) return 13;
    if (std::string_view(head, sizeof head) != "HTTP/1.1 200") return 14;
    if (client(s.port).get("/").status != 200) return 15;
    for (const int fd : sockets) ::close(fd);
    for (const int fd : fill) ::close(fd);
    inside.clear();
    if (!eventually([&] { return s.settled(); })) return 16;
    return testing::Test::HasFailure() ? 17 : 0;
}

TEST(Acceptor, LivesThroughAShortageOfDescriptors) {
    for (const unsigned workers : {1u, 2u}) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(60);
            ::_exit(serve_without_descriptors(workers));
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), 0) << "see serve_without_descriptors, " << workers;
    }
}

TEST(Acceptor, TakesInWhoSendsNothingAllTheSame) {
    for (const net::placement how : {net::placement::incoming_cpu, net::placement::least_loaded}) {
        net::worker_pool_options o = with_workers(2);
        o.placement = how;
        o.defer_accept = true;
        serving s(o);
        client silent(s.port), asking(s.port);
        EXPECT_EQ(asking.get("/").status, 200);
        EXPECT_TRUE(eventually([&] { return s.pool.open_connections() == 2; }));
        EXPECT_EQ(silent.get("/").status, 200);
    }
}

} // namespace
