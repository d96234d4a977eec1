#include <fastserve/server.hpp>

#include "server_impl.hpp"

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fastserve {

namespace {

net::worker_pool_options net_options(const options& o) {
    return {.workers = o.workers,
            .placement = static_cast<net::placement>(o.placement),
            .pin = static_cast<net::pin>(o.pin),
            .limits = o.limits,
            .wait_when_full = o.when_full == when_full::wait,
            .defer_accept = o.defer_accept,
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

// How long cancelled handlers on a user's loop have to end.
constexpr std::chrono::milliseconds last_steps{1'000};

// What coroutines on a user's loop may still use, for as long as that loop: when its services are destroyed, last come
// first, their frames have gone.
class remains final : public boost::asio::execution_context::service {
public:
    using key_type = remains;
    static inline boost::asio::execution_context::id id;

    explicit remains(boost::asio::execution_context& c) : service(c) {}
    void keep(std::shared_ptr<void> server) { kept_.push_back(std::move(server)); }

private:
    void shutdown() override {}

    std::vector<std::shared_ptr<void>> kept_;
};

pool_counts counts_of(const pool::pool_stats& s) noexcept {
    return {s.hits, s.misses, s.in_use, s.high_water, s.bytes_retained};
}

} // namespace

server::impl::impl(options o, detail::route_table& routes)
    : settings(std::move(o)), app(settings, routes), workers(app, net_options(settings)) {}

server::impl::impl(options o, detail::route_table& routes, boost::asio::io_context& loop)
    : settings(std::move(o)), users_loop(&loop), app(settings, routes), workers(app, net_options(settings), loop) {}

error_code server::impl::open() {
    if (opened) return *opened;
    opened = workers.open();
    if (!*opened)
        opened = app.open(
            workers.size(), [this](unsigned i) -> auto& { return workers.at(i); });
    return *opened;
}

drain_report server::impl::stop() {
    if (ended.exchange(true)) return {};
    const net::drain_report r = workers.stop();
    dog.stop();
    app.offload().stop(); // its jobs refer to exchanges and loops
    if (users_loop) {
        // The loop goes on without us: handlers that were cancelled come to their end while what they use is there.
        const auto until = std::chrono::steady_clock::now() + last_steps;
        while (app.coroutines_left() && std::chrono::steady_clock::now() < until) {
            if (users_loop->stopped()) users_loop->restart();
            users_loop->run_for(std::chrono::milliseconds(1));
        }
    }
    app.let_go();
    return {r.connections_cut, r.handlers_cut};
}

void server::impl::end() {
    // What still waits on our own loops goes with them, then what that referred to, then the memory of both.
    workers.end();
    app.close();
}

void server::impl::look_for_stalls() {
    const std::uint64_t now = net::worker::clock_ms();
    for (unsigned i = 0; i < workers.size(); ++i) {
        const net::worker& w = workers.at(i);
        const std::uint64_t since = net::read(w.counters().busy_since_ms);
        if (!w.stalled(now) || stalls_told[i] == since) continue;
        const detail::route* const r = app.running_on(i);
        if (!r) continue; // many events, or a coroutine between two waits
        stalls_told[i] = since;
        app.log(log_level::warning, "worker " + std::to_string(i) + " has been kept for " +
                                        std::to_string(now - since) + " ms by the handler of " + r->name +
                                        ": use blocking() or a coroutine for what waits");
    }
}

server::server(options o) : impl_(std::make_unique<impl>(std::move(o), *routes_)) {}
server::server(boost::asio::io_context& loop, options o)
    : impl_(std::make_unique<impl>(std::move(o), *routes_, loop)) {}
server::~server() {
    impl_->workers.abort_drain();
    impl_->stop();
    if (!impl_->users_loop || !impl_->app.coroutines_left()) {
        impl_->end();
        return;
    }
    impl_->app.log(log_level::warning, "a coroutine has not ended though it was cancelled: what it uses stays");
    boost::asio::io_context& loop = *impl_->users_loop;
    std::shared_ptr<detail::route_table> routes = std::move(routes_);
    boost::asio::use_service<remains>(loop).keep({impl_.release(), [routes](impl* i) {
                                                      i->end();
                                                      delete i;
                                                  }});
}

result<address> server::listen(std::string_view where) {
    const result<address> at = address::parse(where);
    if (!at) return at.error();
    if (const error_code e = impl_->open()) return e;
    if (impl_->ended) return std::make_error_code(std::errc::operation_canceled);
    return impl_->workers.listen(*at);
}

error_code server::start() {
    if (const error_code e = impl_->open()) return e;
    if (impl_->started || impl_->ended) return std::make_error_code(std::errc::operation_not_permitted);
    impl_->started = true;
    routes_->freeze(impl_->settings.limits);
    if (const error_code e = impl_->workers.start()) return e;
    impl_->stalls_told.resize(workers());
    try {
        impl_->dog.start([i = impl_.get()] { i->look_for_stalls(); });
    } catch (const std::system_error& e) {
        impl_->app.log(log_level::warning, std::string("stalled handlers will not be reported: ") + e.what());
    }
    return {};
}

drain_report server::stop() {
    return impl_->stop();
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
