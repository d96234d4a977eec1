// What the workers of a server serve: its routes and handlers.
//
// Thread safety: the overridden calls are made by workers, several at once (net/service.hpp). Everything they write is
// either the context they were given, or per worker, or atomic.
#pragma once

#include "context.hpp"
#include "offload_pool.hpp"
#include "route_table.hpp"

#include <fastserve/net/service.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>
#include <fastserve/server.hpp>
#include <fastserve/worker.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::detail {

class application final : public net::service {
public:
    application(const options&, route_table&);

    // Once, before the workers start.
    std::error_code open(unsigned workers, const std::function<boost::asio::io_context&(unsigned)>& loop);

    net::exchange* acquire(net::worker&) noexcept override;
    void release(net::worker&, net::exchange&) noexcept override;
    http::decision route(net::worker&, net::exchange&) noexcept override;
    bool handle(net::worker&, net::exchange&) noexcept override;
    void cancel(net::worker&, net::exchange&) noexcept override;
    void peer_finished(net::worker&, net::exchange&) noexcept override {}
    void idle(net::worker&) noexcept override;

    // A responder's answer has arrived.
    void complete(net::worker&, context&, const std::function<void(fastserve::response&)>& fill) noexcept;

    offload_pool& offload() noexcept { return offload_; }
    pool::pool_stats exchange_stats() const noexcept { return contexts_.stats(); }
    void log(log_level, std::string_view) const noexcept;

private:
    // A worker's own.
    struct place {
        fastserve::worker face;
        pool::local_cache<context> spare;
    };

    bool run_plain(context&) noexcept;
    bool run_coroutine(net::worker&, context&) noexcept;
    bool run_blocking(context&) noexcept;
    void coroutine_ended(net::worker&, context&, std::exception_ptr) noexcept;
    bool enter(context&) noexcept;
    void leave(context&) noexcept;
    void fail(context&, std::exception_ptr) noexcept;

    const options& options_;
    route_table& routes_;
    offload_pool offload_;
    pool::object_pool<context> contexts_;
    std::vector<std::unique_ptr<place>> places_;
};

} // namespace fastserve::detail
