// What the tests of workers serve, and the server around it: a net::service without the library above.
#pragma once

#include "../support/client.hpp"

#include <fastserve/net/service.hpp>
#include <fastserve/net/worker_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::test {

using namespace std::chrono_literals;

// Waits for a condition, with a deadline that only a failure reaches.
template <class F>
bool eventually(F&& condition, std::chrono::milliseconds patience = 20s) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// The body of /big/N.
inline std::string big_body(std::size_t size) {
    std::string s(size, '\0');
    for (std::size_t i = 0; i < size; ++i) s[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
    return s;
}

// Routes:
//   /        "hello world"
//   /id/...  its own path
//   /echo    the body of the request
//   /big/N   N bytes
//   /finished  whether the peer is known to have finished sending
//   /wait    suspended until complete(): "waited", or with a second part: /wait/x, "x"
//   /stall   holds its worker until let_go()
class site final : public net::service {
public:
    explicit site(const http::limits& l) : limits_(l) {}

    net::exchange* acquire(net::worker& w) noexcept override {
        const std::lock_guard lock(mutex_);
        if (exhausted) return nullptr;
        if (free_.empty()) {
            all_.push_back(std::make_unique<net::exchange>(limits_));
            free_.push_back(all_.back().get());
        }
        net::exchange* const x = free_.back();
        free_.pop_back();
        x->on = &w;
        return x;
    }
    void release(net::worker&, net::exchange& x) noexcept override {
        x.reset();
        const std::lock_guard lock(mutex_);
        free_.push_back(&x);
    }

    http::decision route(net::worker&, net::exchange& x) noexcept override {
        return {.plain = !x.head.path().starts_with("/wait"),
                .body_bytes = limits_.body_bytes,
                .handler_timeout = limits_.handler_timeout};
    }

    bool handle(net::worker&, net::exchange& x) noexcept override {
        const std::string_view path = x.head.path();
        if (path == "/") {
            x.response.body("hello world");
        } else if (path.starts_with("/id/")) {
            x.response.body(path);
        } else if (path == "/echo") {
            x.response.body(x.body);
        } else if (path.starts_with("/big/")) {
            std::size_t size = 0;
            std::from_chars(path.data() + 5, path.data() + path.size(), size);
            x.response.body(big_body(size));
        } else if (path == "/finished") {
            x.response.body(x.peer_finished.load(std::memory_order_relaxed) ? "yes" : "no");
        } else if (path.starts_with("/wait")) {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(&x);
            return false;
        } else if (path == "/stall") {
            const int number = ++stalled;
            while (hold && number > let_through) std::this_thread::sleep_for(1ms);
            x.response.body("stalled");
        } else {
            x.response.status(404);
        }
        return true;
    }

    // Its handlers take no bodies in pieces: that is the application's.
    void body_ready(net::worker&, net::exchange&) noexcept override { std::abort(); }
    void written(net::worker&, net::exchange&) noexcept override { std::abort(); }
    void cancel(net::worker& w, net::exchange& x) noexcept override {
        ++cancelled;
        if (finish_when_cancelled && take(x)) w.finish(x);
    }
    void peer_finished(net::worker&, net::exchange&) noexcept override { ++told_finished; }
    void idle(net::worker&) noexcept override { ++idles; }

    // How many handlers wait.
    std::size_t waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_.size();
    }
    // Lets all of them answer, from the calling thread, in the order given by `last_first`. How many their workers
    // took.
    std::size_t complete(bool last_first = false) {
        std::vector<net::exchange*> ready;
        {
            const std::lock_guard lock(mutex_);
            ready.swap(waiting_);
        }
        if (last_first) std::reverse(ready.begin(), ready.end());
        std::size_t taken = 0;
        for (net::exchange* x : ready) {
            const std::string_view path = x->head.path();
            x->response.body(path.size() > 6 ? path.substr(6) : "waited");
            x->deliver = [](net::worker& w, net::letter& l) noexcept { w.finish(static_cast<net::exchange&>(l)); };
            taken += x->on->mail()->post(*x) ? 1 : 0;
        }
        return taken;
    }
    // Exchanges that are not in the pool.
    std::size_t lent() const {
        const std::lock_guard lock(mutex_);
        return all_.size() - free_.size();
    }

    std::atomic<bool> exhausted{false};
    std::atomic<bool> finish_when_cancelled{false};
    std::atomic<bool> hold{false};
    std::atomic<int> stalled{0};
    std::atomic<int> let_through{0}; // so many of the stalled, in spite of `hold`
    std::atomic<int> cancelled{0};
    std::atomic<int> told_finished{0};
    std::atomic<int> idles{0};

private:
    bool take(net::exchange& x) {
        const std::lock_guard lock(mutex_);
        return std::erase(waiting_, &x) != 0;
    }

    const http::limits limits_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<net::exchange>> all_;
    std::vector<net::exchange*> free_;
    std::vector<net::exchange*> waiting_;
};

inline net::worker_pool_options with_workers(unsigned n) {
    net::worker_pool_options o;
    o.workers = n;
    o.pin = net::pin::off;
    return o;
}

// A started server on 127.0.0.1.
struct serving {
    explicit serving(net::worker_pool_options o = with_workers(2)) : pool(handlers, o), handlers(o.limits) {
        EXPECT_FALSE(pool.open());
        const auto at = pool.listen(*net::address::parse("127.0.0.1:0"));
        EXPECT_TRUE(at) << at.error().message();
        if (at) port = at->port();
        EXPECT_FALSE(pool.start());
    }
    ~serving() {
        handlers.hold = false;
        pool.end();
        EXPECT_EQ(handlers.lent(), left_behind) << "exchanges";
        EXPECT_EQ(pool.open_connections(), 0u);
        EXPECT_EQ(pool.connection_stats().in_use, 0u);
    }

    template <class F>
    std::uint64_t sum(F counter) const {
        std::uint64_t n = 0;
        for (unsigned i = 0; i < pool.size(); ++i) n += net::read(pool.at(i).counters().*counter);
        return n;
    }
    // Every connection has ended, and every handler.
    bool settled() const {
        return pool.open_connections() == 0 && sum(&net::worker_counters::connections) == 0 &&
               sum(&net::worker_counters::suspended) == 0 && handlers.lent() <= pool.size();
    }

    // Exchanges of handlers that never ended hold memory of the pool: they go first, after pool.end().
    net::worker_pool pool;
    site handlers;
    std::uint16_t port = 0;
    std::size_t left_behind = 0; // exchanges of handlers that the test lets never end
};

inline std::string request(std::string_view path, std::string_view more_fields = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more_fields) + "\r\n";
}

} // namespace fastserve::test
