#include "offload_pool.hpp"

#include <fastserve/net/signals_blocked.hpp>

#include <system_error>
#include <utility>

namespace fastserve::detail {

bool offload_pool::submit(std::function<void()> job) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        const bool full = idle_ == 0 && threads_.size() >= most_threads_ && queue_.size() >= most_queued_;
        if (stopped_ || full) {
            ++refused_;
            return false;
        }
        queue_.push_back(std::move(job));
        if (idle_ < queue_.size() && threads_.size() < most_threads_) {
            try {
                const net::all_signals_blocked inherited;
                threads_.emplace_back([this] { run(); });
            } catch (const std::system_error&) {
                // Those that are there will do; with none, the job cannot be promised.
                if (threads_.empty()) {
                    queue_.pop_back();
                    ++refused_;
                    return false;
                }
            }
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    work_.notify_one();
    return true;
}

void offload_pool::run() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        work_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
        --idle_;
        if (stopped_) return;
        std::function<void()> job = std::move(queue_.front());
        queue_.pop_front();
        ++running_;
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
        --running_;
    }
}

offload_pool::counts offload_pool::now() const {
    const std::lock_guard lock(mutex_);
    return {running_, queue_.size(), refused_};
}

void offload_pool::stop() {
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        threads.swap(threads_);
    }
    work_.notify_all();
    for (std::thread& t : threads) t.join();
    const std::lock_guard lock(mutex_);
    queue_.clear();
}

} // namespace fastserve::detail
