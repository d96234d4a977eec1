// What a server is made of.
#pragma once

#include "application.hpp"
#include "watchdog.hpp"

#include <fastserve/net/worker_pool.hpp>
#include <fastserve/server.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace fastserve {

// The order is that of construction: workers refer to the application, which refers to settings and routes.
struct server::impl {
    impl(options, detail::route_table&);
    impl(options, detail::route_table&, boost::asio::io_context&);

    // What listen() and start() need. Once; the result stays.
    error_code open();
    drain_report stop();
    // Before it is destroyed, and when no coroutine of it can run any more.
    void end();
    // For the watchdog: names the routes whose handlers keep a worker from its loop.
    void look_for_stalls();

    options settings;
    boost::asio::io_context* const users_loop = nullptr;
    detail::application app;
    net::worker_pool workers;
    std::optional<error_code> opened;
    bool started = false;
    bool driven = false; // by test clients: it was not started, and will not be
    std::atomic<bool> ended{false};

    std::vector<std::uint64_t> stalls_told; // the watchdog's: when the stall began that was told last, by worker
    detail::watchdog dog;
};

} // namespace fastserve
