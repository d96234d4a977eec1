// Handlers of each kind that take as long as they are told to.
#pragma once

#include "site.hpp"

#include <chrono>
#include <thread>
#include <vector>

namespace fastserve::test {

// A route of each kind that answers after the time in its path.
inline void add_slow_routes(router& app, std::vector<std::thread>& threads) {
    app.get("/co/{ms}", [](request& q, response& a) -> awaitable<> {
        co_await sleep_for(std::chrono::milliseconds(*q.param<int>("ms")));
        a.text("co");
    });
    app.get("/blocking/{ms}", blocking([](request& q, response& a) {
                const std::stop_token stop = q.stop();
                const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(*q.param<int>("ms"));
                while (std::chrono::steady_clock::now() < until && !stop.stop_requested())
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                a.text("blocking");
            }));
    app.get("/deferred/{ms}", [&threads](request& q, response& a) {
        const std::chrono::milliseconds time(*q.param<int>("ms"));
        threads.emplace_back([time, r = a.defer()]() mutable {
            std::this_thread::sleep_for(time);
            r.complete([](response& b) { b.text("deferred"); });
        });
    });
    app.get("/offload/{ms}", [](request& q, response& a) -> awaitable<> {
        const std::chrono::milliseconds time(*q.param<int>("ms"));
        co_await offload([time] { std::this_thread::sleep_for(time); });
        a.text("offload");
    });
}

struct joiner {
    ~joiner() {
        for (std::thread& t : threads) t.join();
    }
    std::vector<std::thread> threads;
};

} // namespace fastserve::test
