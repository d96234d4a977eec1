// The k-th system call of each kind fails or falls short, for every k: each client gets whole and right answers, or a
// closed connection after some of them, and nothing stays behind.
#include "site.hpp"

#include <fastserve/net/system.hpp>

#include <functional>
#include <random>

namespace {

using namespace fastserve;
using namespace fastserve::test;
namespace sys = fastserve::net::sys;
using sys::call;

struct step {
    std::string request;
    std::string body;
    int status = 200;
};

// A pipeline with every kind of request.
const std::vector<step>& script() {
    static const std::vector<step> steps = [] {
        std::string upload = big_body(70'000);
        return std::vector<step>{
            {request("/id/first"), "/id/first"},
            {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n" + upload, upload},
            {request("/wait/suspended"), "suspended"},
            {request("/big/400000"), big_body(400'000)},
            {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"},
            {request("/id/last"), "/id/last"},
            {"GET / HTTP/7.0\r\n\r\n", "", 505}, // the end of it, with lingering
        };
    }();
    return steps;
}

class faulty : public testing::Test {
protected:
    static constexpr int clients = 4;

    // One run of all clients under a plan. Plans live as long as the server, whose threads may be looking at one.
    sys::fault_plan& run(const std::function<void(sys::fault_plan&)>& fill, const std::string& what) {
        plans_.push_back(std::make_unique<sys::fault_plan>());
        sys::fault_plan& plan = *plans_.back();
        fill(plan);
        {
            const sys::fault_scope installed(plan);
            std::vector<client> all;
            for (int i = 0; i < clients; ++i) all.emplace_back(server_.port, i % 2 == 0 ? 4096 : 0);
            std::vector<std::thread> senders;
            for (client& c : all)
                senders.emplace_back([&c] {
                    for (const step& s : script())
                        if (!c.send(s.request)) return;
                });
            std::atomic<bool> read{false};
            std::thread handlers([&] {
                while (!read) {
                    server_.handlers.complete();
                    std::this_thread::sleep_for(1ms);
                }
            });
            for (client& c : all) follow(c, what);
            for (std::thread& t : senders) t.join();
            all.clear();
            EXPECT_TRUE(eventually([&] { return server_.settled(); })) << what;
            read = true;
            handlers.join();
        }
        EXPECT_EQ(client(server_.port).get("/").status, 200) << what;
        EXPECT_TRUE(eventually([&] { return server_.settled(); })) << what;
        return plan;
    }

    void every(call kind, const std::vector<int>& errors, std::uint64_t most = 40) {
        const std::uint64_t calls = run([](sys::fault_plan&) {}, "without faults").calls(kind);
        ASSERT_GT(calls, 0u);
        for (const int error : errors)
            for (std::uint64_t k = 1; k <= std::min(calls, most) && !HasFailure(); ++k)
                run([&](sys::fault_plan& p) { p.fail(kind, k, error); },
                    "call " + std::to_string(k) + " fails with " + std::to_string(error));
    }

private:
    static void follow(client& c, const std::string& what) {
        for (const step& s : script()) {
            const answer a = c.read();
            if (a.status == 503 && a.field("Connection") == "close") return; // refused, and told so
            if (a.status == 0) {
                EXPECT_TRUE(c.at_end()) << what << ": neither an answer nor an end";
                return;
            }
            EXPECT_EQ(a.status, s.status) << what;
            EXPECT_TRUE(a.status != 200 || a.body == s.body) << what;
        }
        c.read_end();
        EXPECT_TRUE(c.at_end()) << what;
    }

    std::vector<std::unique_ptr<sys::fault_plan>> plans_;
    serving server_;
};

using Fault = faulty;

TEST_F(Fault, EachReceiveFails) {
    every(call::recv, {ECONNRESET, ENOMEM});
}

TEST_F(Fault, EachSendFails) {
    every(call::send, {EPIPE, ECONNRESET, ENOMEM});
}

TEST_F(Fault, EachGatheredSendFails) {
    every(call::sendv, {EPIPE, ENOBUFS});
}

TEST_F(Fault, EachChangeOfTheEpollSetFails) {
    every(call::epoll_ctl, {ENOMEM, ENOSPC});
}

TEST_F(Fault, EachWaitFails) {
    every(call::epoll_wait, {EINTR, ENOMEM});
}

TEST_F(Fault, EachAcceptFails) {
    every(call::accept, {ECONNABORTED, ENOMEM, EMFILE}, 6);
}

TEST_F(Fault, EachShutdownAndEachQuestionFails) {
    every(call::shutdown, {ENOTCONN});
    every(call::get_option, {ENOMEM});
    every(call::close, {EIO});
}

TEST_F(Fault, EachCallFallsShort) {
    for (const call kind : {call::recv, call::send, call::sendv})
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}})
            for (std::uint64_t k = 1; k <= 25 && !HasFailure(); ++k)
                run([&](sys::fault_plan& p) { p.shorten(kind, k, bytes); },
                    "call " + std::to_string(k) + " moves " + std::to_string(bytes) + " bytes");
}

TEST_F(Fault, ManyThingsGoWrongAtOnce) {
    const std::uint64_t seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (std::uint64_t i = 0; i < 30 && !HasFailure(); ++i)
        run(
            [&](sys::fault_plan& p) {
                p.shorten_randomly(call::recv, seed + i, 2);
                p.shorten_randomly(call::send, seed + i, 3);
                p.shorten_randomly(call::sendv, seed + i, 3);
                p.fail_randomly(call::recv, seed + i, 60, ECONNRESET);
                p.fail_randomly(call::recv, seed + i, 10, EAGAIN);
                p.fail_randomly(call::send, seed + i, 10, EAGAIN);
                p.fail_randomly(call::send, seed + i, 60, EPIPE);
                p.fail_randomly(call::epoll_ctl, seed + i, 10, ENOMEM);
                p.fail_randomly(call::accept, seed + i, 5, ECONNABORTED);
            },
            "round " + std::to_string(i));
}

} // namespace
