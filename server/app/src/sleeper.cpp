#include <fastserve/detail/sleeper.hpp>

#include "simulated_sleeps.hpp"

#include <fastserve/net/operation_memory.hpp>
#include <fastserve/net/system.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace fastserve::detail {

namespace asio = boost::asio;

// What Asio keeps of a wait. It owns the sleeper until that is woken.
class sleep_handler {
public:
    using executor_type = asio::any_io_executor;
    using cancellation_slot_type = asio::cancellation_slot;
    using allocator_type = net::operation_allocator<void>;

    sleep_handler(sleeper& s, const executor_type& e, cancellation_slot_type c)
        : sleeper_(&s), memory_(::new (static_cast<void*>(s.wait_)) net::operation_memory), executor_(e), slot_(c) {
        static_assert(sizeof(net::operation_memory) <= sleeper::wait_bytes &&
                      std::is_trivially_destructible_v<net::operation_memory>);
    }

    executor_type get_executor() const noexcept { return executor_; }
    cancellation_slot_type get_cancellation_slot() const noexcept { return slot_; }
    allocator_type get_allocator() const noexcept { return allocator_type(*memory_); }

    void operator()(const boost::system::error_code& e) { sleeper_.release()->wake(e); }

private:
    struct dropper {
        void operator()(sleeper* s) const noexcept { s->drop(); }
    };

    std::unique_ptr<sleeper, dropper> sleeper_;
    net::operation_memory* memory_; // of the sleeper: known also to a handler that was moved from
    executor_type executor_;
    cancellation_slot_type slot_;
};

namespace {

asio::steady_timer& timer_in(std::byte* bytes) noexcept {
    return *std::launder(reinterpret_cast<asio::steady_timer*>(bytes));
}

// Waits where time is simulated.
class simulated_nap final : public nap {
public:
    explicit simulated_nap(sleep_handler&& h) : handler_(std::move(h)) {}

    void wake(const boost::system::error_code& e) override {
        const asio::any_io_executor on = handler_.get_executor();
        asio::post(on, [h = std::move(handler_), e]() mutable { h(e); });
    }

private:
    sleep_handler handler_;
};

} // namespace

void sleeper::start(const asio::any_io_executor& executor, std::chrono::milliseconds time,
                    asio::cancellation_slot slot) {
    static_assert(sizeof(asio::steady_timer) <= timer_bytes &&
                  alignof(asio::steady_timer) <= alignof(std::max_align_t));
    sleep_handler owner(*this, executor, slot);
    if (net::sys::time_is_simulated()) [[unlikely]] {
        auto& sleeps = asio::use_service<simulated_sleeps>(asio::query(executor, asio::execution::context));
        const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
        sleeps.add(net::sys::coarse_ms(CLOCK_MONOTONIC_COARSE) + ms, std::make_unique<simulated_nap>(std::move(owner)),
                   slot);
        return;
    }
    ::new (static_cast<void*>(timer_)) asio::steady_timer(executor, time);
    has_timer_ = true;
    timer_in(timer_).async_wait(std::move(owner));
}

sleeper::~sleeper() {
    if (has_timer_) std::destroy_at(&timer_in(timer_));
}

sleep::operator awaitable_type() const {
    return [](std::chrono::milliseconds time) -> awaitable_type { co_await sleep(time); }(time_);
}

} // namespace fastserve::detail
