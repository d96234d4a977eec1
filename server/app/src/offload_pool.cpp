#include "offload_pool.hpp"

#include <fastserve/net/signals_blocked.hpp>

#include <new>
#include <system_error>
#include <utility>

namespace fastserve::detail {

bool offload_pool::submit(job j) noexcept {
    {
        const std::lock_guard lock(mutex_);
        const std::size_t unfinished = running_ + queue_.size();
        bool accepted = !stopped_ && unfinished < most_threads_ + most_queued_;
        // Without another thread those that are there will do; without any the job cannot be promised.
        if (accepted && !by_hand_ && unfinished >= threads_.size() && threads_.size() < most_threads_)
            accepted = start_thread() || !threads_.empty();
        if (accepted) {
            try {
                queue_.push_back(std::move(j));
            } catch (const std::bad_alloc&) {
                accepted = false;
            }
        }
        if (!accepted) {
            ++refused_;
            return false;
        }
    }
    work_.notify_one();
    return true;
}

bool offload_pool::start_thread() {
    try {
        const net::all_signals_blocked inherited;
        threads_.emplace_back([this] { run(); });
        return true;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    return false;
}

void offload_pool::run() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
        if (stopped_) return;
        job j = std::move(queue_.front());
        queue_.pop_front();
        ++running_;
        lock.unlock();
        j(true);
        j = nullptr;
        lock.lock();
        --running_;
    }
}

bool offload_pool::run_one() {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return false;
    const job j = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    j(true);
    lock.lock();
    --running_;
    return true;
}

offload_pool::counts offload_pool::now() const {
    const std::lock_guard lock(mutex_);
    return {running_, queue_.size(), refused_};
}

void offload_pool::stop() {
    std::vector<std::thread> threads;
    std::deque<job> left;
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        threads.swap(threads_);
        left.swap(queue_);
    }
    work_.notify_all();
    for (const job& j : left) j(false);
    for (std::thread& t : threads) t.join();
}

} // namespace fastserve::detail
