// What a server is made of.
#pragma once

#include "application.hpp"

#include <fastserve/net/worker_pool.hpp>
#include <fastserve/server.hpp>

namespace fastserve {

// The order is that of construction: workers refer to the application, which refers to settings and routes.
struct server::impl {
    impl(options, detail::route_table&);
    impl(options, detail::route_table&, boost::asio::io_context&);
    ~impl();

    error_code open();

    options settings;
    detail::application app;
    net::worker_pool workers;
    bool opened = false;
};

} // namespace fastserve
