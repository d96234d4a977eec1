#include <fastserve/server.hpp>

#include "server_impl.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <utility>

namespace fastserve {

namespace {

net::worker_pool_options net_options(const options& o) {
    return {.workers = o.workers,
            .placement = static_cast<net::placement>(o.placement),
            .pin = static_cast<net::pin>(o.pin),
            .limits = o.limits,
            .server_name = o.server_name,
            .drain_delay = o.drain_delay,
            .grace = o.grace};
}

static_assert(static_cast<int>(placement::incoming_cpu) == static_cast<int>(net::placement::incoming_cpu) &&
              static_cast<int>(placement::bpf) == static_cast<int>(net::placement::bpf) &&
              static_cast<int>(placement::least_loaded) == static_cast<int>(net::placement::least_loaded) &&
              static_cast<int>(placement::round_robin) == static_cast<int>(net::placement::round_robin));
static_assert(static_cast<int>(pin::automatic) == static_cast<int>(net::pin::automatic) &&
              static_cast<int>(pin::on) == static_cast<int>(net::pin::on) &&
              static_cast<int>(pin::off) == static_cast<int>(net::pin::off));

pool_counts counts_of(const pool::pool_stats& s) noexcept {
    return {s.hits, s.misses, s.in_use, s.high_water, s.bytes_retained};
}

} // namespace

server::impl::impl(options o, detail::route_table& routes)
    : settings(std::move(o)), app(settings, routes), workers(app, net_options(settings)) {}

server::impl::impl(options o, detail::route_table& routes, boost::asio::io_context& loop)
    : settings(std::move(o)), app(settings, routes), workers(app, net_options(settings), loop) {}

server::impl::~impl() {
    workers.abort_drain();
    workers.stop();
    app.offload().stop(); // its jobs refer to exchanges and loops
}

// Once: what listen() and start() need.
error_code server::impl::open() {
    if (opened) return {};
    if (const auto e = workers.open()) return e;
    if (const auto e = app.open(
            workers.size(), [this](unsigned i) -> auto& { return workers.at(i).context(); }))
        return e;
    opened = true;
    return {};
}

server::server(options o) : impl_(std::make_unique<impl>(std::move(o), *routes_)) {}
server::server(boost::asio::io_context& loop, options o)
    : impl_(std::make_unique<impl>(std::move(o), *routes_, loop)) {}
server::~server() = default;

result<address> server::listen(std::string_view where) {
    const result<address> at = address::parse(where);
    if (!at) return at.error();
    if (const error_code e = impl_->open()) return e;
    return impl_->workers.listen(*at);
}

error_code server::start() {
    if (const error_code e = impl_->open()) return e;
    routes_->freeze();
    return impl_->workers.start();
}

drain_report server::stop() {
    const net::drain_report r = impl_->workers.stop();
    return {r.connections_cut, r.handlers_cut};
}

void server::abort() noexcept {
    impl_->workers.abort_drain();
}
void server::request_drain() noexcept {
    impl_->workers.request_drain();
}
bool server::draining() const noexcept {
    return impl_->workers.draining();
}
const fastserve::options& server::settings() const noexcept {
    return impl_->settings;
}

unsigned worker_count(const server& s) noexcept {
    return s.workers();
}

unsigned server::workers() const noexcept {
    (void)impl_->open();
    return impl_->workers.size();
}

stats server::snapshot() const {
    const net::worker_pool& pool = impl_->workers;
    stats s;
    s.connections = pool.open_connections();
    s.starved = pool.starved();
    const auto offloaded = impl_->app.offload().now();
    s.offload_running = offloaded.running;
    s.offload_queued = offloaded.queued;
    s.offload_refused = offloaded.refused;
    s.connection_pool = counts_of(pool.connection_stats());
    s.exchange_pool = counts_of(impl_->app.exchange_stats());
    s.buffer_pool = counts_of(pool.buffer_stats());
    for (unsigned i = 0; i < pool.size(); ++i) {
        const net::worker_counters& c = pool.at(i).counters();
        s.workers.push_back({.connections = net::read(c.connections),
                             .requests = net::read(c.requests),
                             .accepted = net::read(c.accepted),
                             .closed = net::read(c.closed),
                             .refused = net::read(c.refused),
                             .timed_out = net::read(c.timed_out),
                             .moved_in = net::read(c.moved_in),
                             .moved_out = net::read(c.moved_out),
                             .suspended = net::read(c.suspended),
                             .stalled = pool.at(i).stalled(net::worker::clock_ms())});
        s.requests += s.workers.back().requests;
    }
    return s;
}

} // namespace fastserve
