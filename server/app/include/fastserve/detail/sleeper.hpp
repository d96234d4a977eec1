// What sleep_for() is made of: an Asio operation without a coroutine of its own.
//
// A coroutine frame for it, and another one for Asio's wait, would be two allocations for each sleep of a handler: Asio
// keeps two frames a thread for reuse, and those are the handler's and the one that started it. So the wait is an
// operation that the handler's frame awaits by itself, and all it needs lies in one block, which Asio's recycling
// allocator hands out again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace fastserve::detail {

// A timer, the memory of its wait, and who waits. Owned by the wait.
class sleeper {
public:
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;

    // Once. Then one of wake() and drop() is called, once.
    void start(const boost::asio::any_io_executor&, std::chrono::milliseconds, boost::asio::cancellation_slot);

protected:
    sleeper() noexcept = default;
    ~sleeper();

private:
    friend class sleep_handler;

    // Ends the sleeper, then resumes who waits.
    virtual void wake(const boost::system::error_code&) = 0;
    // Ends both: the loop is being destroyed.
    virtual void drop() noexcept = 0;

    // A boost::asio::steady_timer, whose header is not needed here, and the net::operation_memory of its pending wait.
    static constexpr std::size_t timer_bytes = 128, wait_bytes = 288;
    alignas(std::max_align_t) std::byte timer_[timer_bytes];
    alignas(std::max_align_t) std::byte wait_[wait_bytes];
    bool has_timer_ = false;
};

template <class Handler>
class sleeper_of final : public sleeper {
    using allocator = boost::asio::recycling_allocator<sleeper_of>;

public:
    static void begin(Handler h, std::chrono::milliseconds time) {
        const boost::asio::any_io_executor executor = boost::asio::get_associated_executor(h);
        const auto slot = boost::asio::get_associated_cancellation_slot(h);
        auto* const self = ::new (allocator().allocate(1)) sleeper_of(std::move(h));
        self->start(executor, time, slot);
    }

private:
    explicit sleeper_of(Handler&& h) : handler_(std::move(h)) {}

    void wake(const boost::system::error_code& e) override {
        Handler h(std::move(handler_));
        drop();
        std::move(h)(e);
    }
    void drop() noexcept override {
        this->~sleeper_of();
        allocator().deallocate(this, 1);
    }

    Handler handler_;
};

// The operation: calls the handler that a token stands for with an error_code.
class [[nodiscard]] sleep {
public:
    using awaitable_type = boost::asio::awaitable<void>;

    explicit sleep(std::chrono::milliseconds time) noexcept : time_(time) {}

    struct initiation {
        template <class Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds time) const {
            sleeper_of<std::decay_t<Handler>>::begin(std::forward<Handler>(handler), time);
        }
    };

    // Spelled twice, so that what is no completion token is told from what is one.
    template <class Token>
    auto operator()(Token&& token) const
        -> decltype(boost::asio::async_initiate<Token, void(boost::system::error_code)>(
            std::declval<initiation>(), token, std::declval<std::chrono::milliseconds>())) {
        return boost::asio::async_initiate<Token, void(boost::system::error_code)>(initiation(), token,
                                                                                   std::chrono::milliseconds(time_));
    }

    // For what takes nothing but coroutines, such as Asio's operators && and ||.
    operator awaitable_type() const;

private:
    std::chrono::milliseconds time_;
};

} // namespace fastserve::detail
