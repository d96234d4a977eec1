// What a coroutine handler can await besides Asio's own operations.
//
// Thread: to be awaited in a coroutine that runs on a worker; it is resumed on the same worker. Errors: when the peer
// leaves, the deadline passes or the server cuts its drain short, pending waits end with operation_aborted: sleep_for
// and offload throw it as boost::system::system_error, which ends the handler; readable and writable return it.
#pragma once

#include <fastserve/types.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace fastserve {

awaitable<> sleep_for(std::chrono::milliseconds);

// Waits until a descriptor that is not fastserve's (a database client's, say) can be read or written. It stays its
// owner's, and must stay open until the wait has ended.
awaitable<result<void>> readable(int fd);
awaitable<result<void>> writable(int fd);

namespace detail {
awaitable<> run_offloaded(std::function<void()> job);
}

// Runs `f` on the offload pool and resumes with what it returned, or rethrows what it threw. When the pool's queue is
// full, throws std::system_error with resource_unavailable_try_again at once.
//
// Once `f` runs it is not interrupted; it may use what the coroutine holds, because the coroutine waits for it.
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
