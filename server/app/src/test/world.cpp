#include "world.hpp"

#include "../route_table.hpp"
#include "../simulated_sleeps.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace fastserve::test {

namespace {

// A whole number of ticks and of a wheel's revolutions.
constexpr std::uint64_t era_ms = net::worker::tick_ms * net::timer_wheel::slots * 32;

struct history {
    std::mutex mutex;
    std::weak_ptr<world> current;
    std::thread::id thread;
    std::uint64_t last_ms = 0; // the latest time that any world has seen
};

history& past() {
    static history h;
    return h;
}

// Beyond what a server that was opened earlier has seen of the real clock, too.
std::uint64_t next_era(std::uint64_t last_ms) noexcept {
    const std::uint64_t seen = std::max(last_ms, net::worker::clock_ms());
    return (seen / era_ms + 1) * era_ms;
}

detail::simulated_sleeps& sleeps_of(net::worker& w) {
    return boost::asio::use_service<detail::simulated_sleeps>(w.context());
}

} // namespace

std::shared_ptr<world> world::join(std::uint64_t seed) {
    history& h = past();
    const std::lock_guard lock(h.mutex);
    if (auto there = h.current.lock()) {
        if (h.thread != std::this_thread::get_id())
            throw std::logic_error("another thread has test clients: all of them belong on one");
        return there;
    }
    auto made = std::make_shared<world>(seed);
    h.current = made;
    h.thread = std::this_thread::get_id();
    return made;
}

world::world(std::uint64_t seed) : network_(next_era(past().last_ms)), began_ms_(network_.now_ms()) {
    network_.seed(seed);
    plan_.simulate(network_);
    installed_.emplace(plan_);
}

world::~world() {
    installed_.reset();
    past().last_ms = network_.now_ms();
}

void world::enter(server& s) {
    server::impl& i = *s.impl_;
    if (i.started && !i.driven) throw std::logic_error("a test client needs a server that was not started");
    for (driven& d : servers_) {
        if (d.of != &i) continue;
        ++d.clients;
        return;
    }
    if (!i.driven) {
        if (!i.opened && i.settings.workers == 0) i.workers.set_workers(1);
        if (const error_code e = i.open()) throw std::system_error(e, "a test client cannot open its server");
        i.started = i.driven = true;
        s.routes_->freeze(i.settings.limits);
        i.app.offload().run_by_hand();
    }
    i.workers.drive([this, &i](std::chrono::milliseconds time) { drain(i, time); });
    servers_.push_back({&i, 1, 0});
}

void world::leave(server& s) noexcept {
    const auto found =
        std::find_if(servers_.begin(), servers_.end(), [&](const driven& d) { return d.of == s.impl_.get(); });
    if (--found->clients != 0) return;
    found->of->workers.drive({});
    servers_.erase(found);
}

std::shared_ptr<net::link> world::connect(server& s, const faults& f) {
    driven& d = *std::find_if(servers_.begin(), servers_.end(), [&](const driven& x) { return x.of == s.impl_.get(); });
    net::link_options o;
    o.seed = f.seed;
    o.splits = f.splits;
    o.most_delay_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(f.delays.count(), 0));
    o.reset_after = f.reset_at.value_or(net::link_options::never);
    o.window = std::max<std::size_t>(f.window, 1);
    o.read_rate = std::max<std::size_t>(f.read_rate.value_or(net::link_options::never), 1);
    if (f.moves) o.cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    auto [made, fd] = network_.connect(o);
    net::peer_name peer;
    peer.kind = address::kind::v4;
    peer.ip = {127, 0, 0, 1};
    peer.port = static_cast<std::uint16_t>(40'000 + ++connected_ % 20'000);
    const unsigned worker = d.next_worker++ % d.of->workers.size();
    if (!d.of->workers.adopt(fd, peer, worker)) network_.close(fd); // as a listener does without a slot
    return made;
}

bool world::step() {
    bool any = false;
    for (const driven& d : servers_) {
        if (!runs(d)) continue;
        for (unsigned i = 0; i < d.of->workers.size(); ++i) {
            net::worker& w = d.of->workers.at(i);
            any |= sleeps_of(w).wake(network_.now_ms());
            any |= w.poll();
        }
    }
    any |= network_.step(); // after the workers: what they have sent is on its way
    return any || network_.has_events() || run_a_job();
}

bool world::run_a_job() {
    return std::any_of(servers_.begin(), servers_.end(), [](const driven& d) { return d.of->app.offload().run_one(); });
}

// A handler has not finished, and it does not sleep.
bool world::waits_for_others() const {
    std::uint64_t suspended = 0, asleep = 0;
    for (const driven& d : servers_) {
        if (!runs(d)) continue;
        for (unsigned i = 0; i < d.of->workers.size(); ++i) {
            suspended += net::read(d.of->workers.at(i).counters().suspended);
            asleep += sleeps_of(d.of->workers.at(i)).size();
        }
    }
    return suspended > asleep;
}

void world::settle(std::chrono::milliseconds patience) {
    using clock = std::chrono::steady_clock;
    while (step()) {
    }
    if (patience.count() <= 0 || !waits_for_others()) return;
    const auto until = clock::now() + patience;
    while (waits_for_others() && clock::now() < until) {
        if (!step()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    while (step()) {
    }
}

void world::pass(std::uint64_t until_ms) {
    const std::uint64_t now = network_.now_ms();
    // Workers look at their clocks once a tick.
    std::uint64_t next = std::min(until_ms, (now / net::worker::tick_ms + 1) * net::worker::tick_ms);
    next = std::min(next, network_.next_due());
    for (const driven& d : servers_) {
        if (!runs(d)) continue;
        for (unsigned i = 0; i < d.of->workers.size(); ++i)
            next = std::min(next, sleeps_of(d.of->workers.at(i)).next_due());
    }
    network_.advance_to(std::max(next, now));
}

void world::drain(server::impl& of, std::chrono::milliseconds time) {
    draining_ = &of;
    const std::uint64_t now = network_.now_ms();
    settle({});
    if (meanwhile_) meanwhile_();
    if (network_.now_ms() == now) pass(now + static_cast<std::uint64_t>(time.count()));
    settle({});
    draining_ = nullptr;
}

} // namespace fastserve::test
