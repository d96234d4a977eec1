// A server in this process, listening on a port of loopback, and what it says.
#pragma once

#include "../support/client.hpp"
#include "request_line.hpp"

#include <fastserve/fastserve.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::test {

// Whether `f` becomes true before anybody's patience ends.
template <class F>
bool eventually(F f) {
    const auto until = std::chrono::steady_clock::now() + client::patience;
    while (!f()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// What a server logs.
class log_book {
public:
    void operator()(const log_record& r) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(r.message);
    }
    // How many lines have all of these words in them.
    template <class... Words>
    std::size_t count(const Words&... words) const {
        const std::lock_guard lock(mutex_);
        std::size_t n = 0;
        for (const std::string& line : lines_) n += ((line.find(words) != std::string::npos) && ...);
        return n;
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return lines_.size();
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

// Register routes on `app`, then start(). Stops with the test.
class site {
public:
    explicit site(options o = {.workers = 1}) : app(with_log(std::move(o))) {}
    ~site() { app.stop(); }

    void start() {
        const auto at = app.listen("127.0.0.1:0");
        ASSERT_TRUE(at) << at.error().message();
        port = at->port();
        const error_code e = app.start();
        ASSERT_FALSE(e) << e.message();
    }
    client connect() const { return client(port); }
    // On a connection of its own.
    answer get(std::string_view path) const { return client(port).get(path); }
    answer send(std::string_view request) const {
        client c(port);
        c.send(request);
        return c.read();
    }
    // Handlers that have not finished.
    std::uint64_t suspended() const {
        std::uint64_t sum = 0;
        for (const worker_counts& w : app.snapshot().workers) sum += w.suspended;
        return sum;
    }

    log_book log;
    server app;
    std::uint16_t port = 0;

private:
    options with_log(options o) {
        o.log = [this](const log_record& r) { log(r); };
        return o;
    }
};

inline constexpr route_options streamed{.body = body::streamed};

// Where handlers leave their responders for the test.
class shelf {
public:
    void put(responder r) {
        const std::lock_guard lock(mutex_);
        held_.push_back(std::move(r));
        more_.notify_all();
    }
    responder take() {
        std::unique_lock lock(mutex_);
        if (!more_.wait_for(lock, client::patience, [this] { return !held_.empty(); })) return {};
        responder r = std::move(held_.front());
        held_.erase(held_.begin());
        return r;
    }

private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<responder> held_;
};

} // namespace fastserve::test
