// The simulated network behaves as the kernel's, as far as a server can see: one script is played on a TCP connection
// of loopback and on a simulated one, and what the server's end sees is compared.
#include <fastserve/net/simulated_network.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace fastserve::net {
namespace {

// A connection, and what happens at its server's end, written down.
class stage {
public:
    virtual ~stage() = default;
    virtual void client_sends(std::string_view) = 0;
    virtual void client_finishes() = 0;
    virtual void client_resets() = 0;
    virtual std::string client_reads() = 0;

    void add(std::uint32_t events) { note("add", sys::epoll_add(set_.get(), fd_, events, 7)); }
    void modify(std::uint32_t events) { note("modify", sys::epoll_modify(set_.get(), fd_, events, 7)); }
    void remove() { note("remove", sys::epoll_remove(set_.get(), fd_)); }
    void wait(bool expected = true) {
        std::array<epoll_event, 4> events;
        if (!expected) arrive();
        const auto got = sys::epoll_wait(set_.get(), events, expected ? patience_ms_ : 0);
        log_ += "events:";
        for (ssize_t i = 0; i < got.n; ++i) {
            const std::uint32_t e = events[static_cast<std::size_t>(i)].events;
            for (const auto& [bit, name] :
                 {std::pair(EPOLLIN, " in"), std::pair(EPOLLOUT, " out"), std::pair(EPOLLRDHUP, " rdhup"),
                  std::pair(EPOLLHUP, " hup"), std::pair(EPOLLERR, " err")})
                if (e & static_cast<std::uint32_t>(bit)) log_ += name;
        }
        log_ += "\n";
    }
    void receive(std::size_t size = 100) {
        std::string area(size, ' ');
        const auto got = sys::recv(fd_, area.data(), size);
        if (got.ok())
            log_ += "received " + area.substr(0, static_cast<std::size_t>(got.n)) + (got.filled ? " filled\n" : "\n");
        else
            note("receive", got.error);
    }
    void send(std::string_view a, std::string_view b = "") {
        const std::array parts{iovec{const_cast<char*>(a.data()), a.size()},
                               iovec{const_cast<char*>(b.data()), b.size()}};
        const auto got = b.empty() ? sys::send(fd_, a.data(), a.size()) : sys::sendv(fd_, parts);
        note("send", got.error);
        log_ += std::to_string(got.n) + "\n";
    }
    void shut_down() { note("shut down", sys::shutdown(fd_, SHUT_WR)); }
    void reset_on_close() {
        const linger at_once{1, 0};
        note("set option", sys::set_option(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
    }
    void close() { note("close", sys::close(std::exchange(fd_, -1))); }
    void client_looks() { log_ += "client: " + client_reads() + "\n"; }
    const std::string& log() const { return log_; }

protected:
    virtual void arrive() = 0;

    void note(std::string_view what, int error) {
        log_.append(what).append(error == 0 ? " ok" : std::string(" ") + strerrorname_np(error)).append("\n");
    }

    unique_fd set_{sys::epoll_create().descriptor()};
    int fd_ = -1;
    int patience_ms_ = 10'000;
    std::string log_;
};

class real_stage final : public stage {
public:
    real_stage() {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof at;
        auto* const name = reinterpret_cast<sockaddr*>(&at);
        const unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        client_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(listener.get(), name, size), 0);
        EXPECT_EQ(::listen(listener.get(), 1), 0);
        EXPECT_EQ(::getsockname(listener.get(), name, &size), 0);
        EXPECT_EQ(::connect(client_.get(), name, size), 0);
        fd_ = sys::accept(listener.get()).descriptor();
    }
    ~real_stage() override {
        if (fd_ >= 0) sys::close(fd_);
    }
    void client_sends(std::string_view s) override {
        EXPECT_EQ(::send(client_.get(), s.data(), s.size(), MSG_NOSIGNAL), static_cast<ssize_t>(s.size()));
    }
    void client_finishes() override { ::shutdown(client_.get(), SHUT_WR); }
    void client_resets() override {
        const linger hard{1, 0};
        ::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        client_.reset();
    }
    std::string client_reads() override {
        std::string all;
        char part[256];
        for (;;) {
            const ssize_t n = ::recv(client_.get(), part, sizeof part, all.empty() ? 0 : MSG_DONTWAIT);
            if (n == 0) return all + " end";
            if (n < 0) return all + (errno == ECONNRESET ? " reset" : "");
            all.append(part, static_cast<std::size_t>(n));
        }
    }

private:
    void arrive() override {} // loopback delivers before send() returns

    unique_fd client_;
};

class simulated_stage final : public stage {
public:
    simulated_stage() {
        plan_.simulate(net_);
        installed_.emplace(plan_);
        std::tie(client_, fd_) = net_.connect({});
        patience_ms_ = 0;
    }
    ~simulated_stage() override {
        if (fd_ >= 0) sys::close(fd_);
        set_.reset();
    }
    void client_sends(std::string_view s) override {
        client_->send(s);
        arrive();
    }
    void client_finishes() override {
        client_->finish();
        arrive();
    }
    void client_resets() override { client_->reset(); }
    std::string client_reads() override {
        arrive();
        std::string all = std::exchange(client_->received(), "");
        if (client_->broken()) return all + " reset";
        return client_->ended() ? all + " end" : all;
    }

private:
    void arrive() override {
        while (net_.step()) {
        }
    }

    simulated_network net_{1000};
    sys::fault_plan plan_;
    std::optional<sys::fault_scope> installed_;
    std::shared_ptr<link> client_;
};

constexpr std::uint32_t quiet = EPOLLIN | EPOLLRDHUP | EPOLLET;

struct script {
    const char* name;
    std::function<void(stage&)> play;
};

const script scripts[] = {
    {"BytesComeOnce",
     [](stage& s) {
         s.add(quiet);
         s.wait(false);
         s.client_sends("abc");
         s.wait();
         s.wait(false); // the edge is gone, though the bytes are there
         s.receive(2);
         s.wait(false);
         s.receive(2);
         s.receive();
         s.client_sends("d");
         s.client_sends("e");
         s.wait();
         s.receive();
     }},
    {"WhatIsThereBeforeIsReportedWhenAdded",
     [](stage& s) {
         s.client_sends("abc");
         s.client_finishes();
         s.add(quiet);
         s.wait();
         s.receive();
         s.receive();
         s.wait(false);
         s.modify(quiet | EPOLLOUT);
         s.wait();
         s.add(quiet);
         s.remove();
         s.remove();
         s.modify(quiet);
         s.wait(false);
     }},
    {"AHalfCloseComesAfterTheBytes",
     [](stage& s) {
         s.add(quiet);
         s.client_sends("abc");
         s.wait();
         s.client_finishes();
         s.wait();
         s.receive();
         s.receive();
         s.send("the answer");
         s.send("in", " parts");
         s.client_looks();
         s.shut_down();
         s.client_looks();
         s.wait();
         s.send("too late");
         s.close();
     }},
    {"AReset",
     [](stage& s) {
         s.add(quiet | EPOLLOUT);
         s.wait();
         s.client_sends("abc");
         s.wait();
         s.client_resets();
         s.wait();
         s.receive();
         s.receive();
         s.receive();
         s.shut_down();
         s.close();
     }},
    {"AResetMetByASend",
     [](stage& s) {
         s.add(quiet);
         s.client_resets();
         s.wait();
         s.send("x");
         s.send("x");
         s.receive();
         s.close();
     }},
    {"ClosingAfterAllWasRead",
     [](stage& s) {
         s.client_sends("abc");
         s.receive();
         s.send("answer");
         s.close();
         s.client_looks();
     }},
    {"ClosingWithUnreadBytesResets",
     [](stage& s) {
         s.client_sends("abc");
         s.receive(1);
         s.close();
         s.client_looks();
     }},
    {"ClosingResetsWhenToldTo",
     [](stage& s) {
         s.client_sends("abc");
         s.receive();
         s.send("half of the ans");
         s.client_looks();
         s.reset_on_close();
         s.close();
         s.client_looks();
     }},
};

class Network : public testing::TestWithParam<script> {};

TEST_P(Network, BehavesAsTheKernelDoes) {
    real_stage real;
    GetParam().play(real);
    simulated_stage simulated;
    GetParam().play(simulated);
    EXPECT_EQ(simulated.log(), real.log());
}

INSTANTIATE_TEST_SUITE_P(Simulated, Network, testing::ValuesIn(scripts),
                         [](const auto& of) { return std::string(of.param.name); });

// What loopback has no fixed numbers for.
TEST(SimulatedNetwork, AFullWindowBlocksAndHalfOfItIsAnEdge) {
    simulated_network n(0);
    sys::fault_plan plan;
    plan.simulate(n);
    const sys::fault_scope installed(plan);
    auto [client, fd] = n.connect({.window = 10});
    const unique_fd server(fd), set(sys::epoll_create().descriptor());
    ASSERT_EQ(sys::epoll_add(set.get(), fd, quiet | EPOLLOUT, 1), 0);
    std::array<epoll_event, 4> events;
    ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1);
    client->read(false);
    EXPECT_EQ(sys::send(fd, "0123456789abcdef", 16).n, 10);
    EXPECT_TRUE(sys::send(fd, "abcdef", 6).would_block());
    while (n.step()) {
    }
    EXPECT_EQ(sys::epoll_wait(set.get(), events, 0).n, 0);
    client->read(true);
    while (n.step()) {
    }
    EXPECT_EQ(client->received(), "0123456789");
    ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1);
    EXPECT_TRUE(events[0].events & EPOLLOUT);
    EXPECT_EQ(sys::send(fd, "abcdef", 6).n, 6);
    // The other way.
    client->send("0123456789abcdef");
    while (n.step()) {
    }
    std::array<char, 100> area;
    EXPECT_EQ(sys::recv(fd, area.data(), area.size()).n, 10);
    while (n.step()) {
    }
    EXPECT_EQ(sys::recv(fd, area.data(), area.size()).n, 6);
}

TEST(SimulatedNetwork, PiecesTakeTheirTimeAndArriveInOrder) {
    simulated_network n(0);
    sys::fault_plan plan;
    plan.simulate(n);
    const sys::fault_scope installed(plan);
    auto [client, fd] = n.connect({.seed = 5, .splits = true, .most_delay_ms = 50});
    const unique_fd server(fd);
    std::string all, got;
    for (int i = 0; i < 1000; ++i) all += std::to_string(i);
    client->send(all);
    client->finish();
    std::size_t times = 0;
    for (;;) {
        while (n.step()) {
        }
        std::array<char, 4096> area;
        const auto r = sys::recv(fd, area.data(), area.size());
        if (r.ok() && r.n == 0) break;
        if (r.ok()) got.append(area.data(), static_cast<std::size_t>(r.n));
        if (n.next_due() == simulated_network::never) continue;
        n.advance_to(n.next_due());
        ++times;
    }
    EXPECT_EQ(got, all);
    EXPECT_GT(times, 1U);
    EXPECT_LE(n.now_ms(), 50U + 50U);
    std::uint64_t ms = 0;
    EXPECT_TRUE(n.clock(CLOCK_MONOTONIC_COARSE, ms));
    EXPECT_EQ(ms, n.now_ms());
    EXPECT_EQ(sys::coarse_ms(CLOCK_REALTIME_COARSE) - n.now_ms(), 1'700'000'000'000U);
}

TEST(SimulatedNetwork, FaultsCanBeHadBesides) {
    simulated_network n(0);
    sys::fault_plan plan;
    plan.simulate(n);
    plan.fail(sys::call::recv, 1, EINTR).fail(sys::call::recv, 2, ENOBUFS).shorten(sys::call::send, 1, 2);
    const sys::fault_scope installed(plan);
    auto [client, fd] = n.connect({});
    const unique_fd server(fd);
    client->send("abc");
    while (n.step()) {
    }
    char area[10];
    EXPECT_EQ(sys::recv(fd, area, sizeof area).error, ENOBUFS);
    EXPECT_EQ(sys::recv(fd, area, sizeof area).n, 3);
    EXPECT_EQ(sys::send(fd, "abc", 3).n, 2);
    EXPECT_EQ(plan.calls(sys::call::recv), 3U);
}

} // namespace
} // namespace fastserve::net
