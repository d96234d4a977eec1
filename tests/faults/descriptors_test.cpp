// A server that runs out of descriptors, for real: it may have 64, and 500 clients come. While it starves it uses next
// to no CPU; as soon as some leave, others get their place; and nobody is reset.
#include "amount.hpp"
#include "house.hpp"

#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t clients = 500;

// A server in a process of its own, with few descriptors.
class starving_server {
public:
    starving_server() {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            const rlimit few{64, 64};
            ::setrlimit(RLIMIT_NOFILE, &few);
            house h;
            h.start();
            if (::write(ends[1], h.ports.data(), sizeof h.ports[0]) < 0) ::_exit(1);
            for (;;) ::pause();
        }
        EXPECT_EQ(::read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~starving_server() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    starving_server(const starving_server&) = delete;
    starving_server& operator=(const starving_server&) = delete;

    double cpu_seconds() const {
        clockid_t its{};
        timespec t{};
        ::clock_getcpuclockid(pid_, &its);
        ::clock_gettime(its, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
    }
    bool alive() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

    std::uint16_t port = 0;

private:
    pid_t pid_ = -1;
};

struct crowd {
    explicit crowd(std::uint16_t port) {
        for (std::size_t i = 0; i < clients; ++i) {
            all.push_back(std::make_unique<client>(port));
            all.back()->send(request_line("GET", "/plain/" + std::to_string(i)));
        }
    }
    // Reads what has come: those served are counted, and those told that there is no room are let go.
    void look(tally& t) {
        for (std::unique_ptr<client>& c : all) {
            if (!c || c->fd() < 0) continue;
            const bool was_served = c->unread().starts_with("HTTP/1.1 200");
            c->poll();
            if (c->was_reset()) {
                t.fail("reset");
                c.reset();
            } else if (c->unread().starts_with("HTTP/1.1 503") && c->at_end()) {
                ++told;
                c.reset();
            } else if (!was_served && c->unread().starts_with("HTTP/1.1 200")) {
                ++served;
                latest = clock::now();
            }
        }
    }
    // Those served leave. How many.
    std::size_t leave() {
        std::size_t n = 0;
        for (std::unique_ptr<client>& c : all)
            if (c && c->unread().starts_with("HTTP/1.1 200")) c.reset(), ++n;
        return n;
    }

    std::vector<std::unique_ptr<client>> all;
    std::size_t served = 0, told = 0;
    clock::time_point latest = clock::now();
};

// In the suite, beside other tests and under sanitizers, the bounds are wide.
void starve_once(starving_server& server, bool alone, tally& t, double& most_cpu, double& longest) {
    crowd c(server.port);
    const auto until = clock::now() + 10s;
    while (c.served < 32 && clock::now() < until) {
        c.look(t);
        std::this_thread::sleep_for(1ms);
    }
    if (c.served < 32) return t.fail("only " + std::to_string(c.served) + " were served at first");
    std::this_thread::sleep_for(20ms);

    const double cpu = server.cpu_seconds();
    const auto began = clock::now();
    std::this_thread::sleep_for(400ms);
    const double share = (server.cpu_seconds() - cpu) / std::chrono::duration<double>(clock::now() - began).count();
    most_cpu = std::max(most_cpu, share);
    if (share > (alone ? 0.05 : 0.25))
        t.fail("it took " + std::to_string(share * 100) + " % of a CPU while it starved");

    c.look(t);
    const std::size_t before = c.served;
    const std::size_t left = c.leave();
    const auto freed = clock::now();
    while (c.served < before + left / 2 && clock::now() < freed + 10s) {
        c.look(t);
        std::this_thread::sleep_for(1ms);
    }
    const double took = std::chrono::duration<double>(clock::now() - freed).count();
    longest = std::max(longest, took);
    if (took > (alone ? 0.2 : 5)) t.fail("it took " + std::to_string(took) + " s until others were served");
    if (!server.alive()) t.fail("it died");
}

TEST(Descriptors, StarvingCostsNothingAndEndsAtOnce) {
    tally t("descriptors");
    const std::uint64_t rounds = amount(2);
    starving_server server;
    double most_cpu = 0, longest = 0;
    for (; t.tried < rounds; ++t.tried) starve_once(server, rounds > 2, t, most_cpu, longest);
    t.more = ", at most " + std::to_string(most_cpu * 100) + " % of a CPU, served again within " +
             std::to_string(longest) + " s";
}

} // namespace
} // namespace fastserve::test
