#include "watchdog.hpp"

#include <fastserve/net/signals_blocked.hpp>

#include <utility>

namespace fastserve::detail {

void watchdog::start(std::function<void()> look) {
    const net::all_signals_blocked inherited;
    stopped_ = false;
    thread_ = std::thread([this, f = std::move(look)] { run(f); });
}

void watchdog::run(const std::function<void()>& look) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, period, [this] { return stopped_; })) {
        lock.unlock();
        look();
        lock.lock();
    }
}

void watchdog::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

} // namespace fastserve::detail
