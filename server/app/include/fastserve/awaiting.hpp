// What a coroutine handler can await besides Asio's own operations.
//
// Thread: to be awaited in a coroutine that runs on a worker; it is resumed on the same worker.
//
// Errors: when the peer leaves, the deadline passes or the server cuts its drain short, a pending wait ends with
// boost::asio::error::operation_aborted: sleep_for and offload throw it as boost::system::system_error, readable and
// writable return it. From then on every co_await of the coroutine throws it, as in all of Asio's coroutines, so that a
// handler ends even if it does not look; boost::asio::this_coro::reset_cancellation_state lets one await again.
#pragma once

#include <fastserve/detail/sleeper.hpp>
#include <fastserve/types.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace fastserve {

// co_await sleep_for(50ms); it allocates nothing on a warm worker. What it returns is an Asio operation, to be started
// by whatever awaits it, and is an awaitable<> where one is asked for.
inline detail::sleep sleep_for(std::chrono::milliseconds time) noexcept {
    return detail::sleep(time);
}

// Waits until a descriptor that is not fastserve's (a database client's, say) can be read or written, or has failed. It
// stays its owner's, and must stay open until the wait has ended. Several waits for one descriptor are allowed. Errors:
// also operation_not_permitted for what epoll cannot wait for, such as a regular file.
awaitable<result<void>> readable(int fd);
awaitable<result<void>> writable(int fd);

namespace detail {
awaitable<> run_offloaded(std::function<void()> job);
}

// Runs `f` on the offload pool and resumes with what it returned, or rethrows what it threw. When the pool's queue is
// full, throws at once what, uncaught, answers 503 with Retry-After (a std::runtime_error).
//
// A job that still waits in the queue is dropped when the wait is cancelled. Once `f` runs it is not interrupted, and
// the coroutine waits for it: it may use what the coroutine holds.
template <class F>
auto offload(F f) -> awaitable<std::invoke_result_t<F>> {
    using R = std::invoke_result_t<F>;
    std::exception_ptr failed;
    if constexpr (std::is_void_v<R>) {
        co_await detail::run_offloaded([&] {
            try {
                f();
            } catch (...) {
                failed = std::current_exception();
            }
        });
        if (failed) std::rethrow_exception(failed);
    } else {
        std::optional<R> value;
        co_await detail::run_offloaded([&] {
            try {
                value.emplace(f());
            } catch (...) {
                failed = std::current_exception();
            }
        });
        if (failed) std::rethrow_exception(failed);
        co_return std::move(*value);
    }
}

} // namespace fastserve
