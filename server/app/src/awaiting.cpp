#include <fastserve/awaiting.hpp>

#include "offload_pool.hpp"
#include "offload_service.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace fastserve {

namespace asio = boost::asio;

awaitable<> sleep_for(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

namespace {

awaitable<result<void>> ready(int fd, asio::posix::descriptor_base::wait_type what) {
    boost::system::error_code failed;
    asio::posix::stream_descriptor d(co_await asio::this_coro::executor);
    d.assign(fd, failed);
    if (!failed) {
        co_await d.async_wait(what, asio::redirect_error(asio::use_awaitable, failed));
        d.release(); // the descriptor is not ours to close
    }
    if (failed) co_return std::error_code(failed);
    co_return result<void>();
}

} // namespace

awaitable<result<void>> readable(int fd) {
    return ready(fd, asio::posix::descriptor_base::wait_read);
}
awaitable<result<void>> writable(int fd) {
    return ready(fd, asio::posix::descriptor_base::wait_write);
}

namespace detail {

awaitable<> run_offloaded(std::function<void()> job) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    offload_pool* const pool = offload_service::of(asio::query(executor, asio::execution::context));
    if (!pool) throw std::logic_error("offload() is for handlers of a fastserve::server");
    bool refused = false;
    const auto begin = [&](auto handler) {
        // A std::function wants a copyable job; the handler of a coroutine is not.
        auto resume = std::make_shared<decltype(handler)>(std::move(handler));
        auto work = std::make_shared<asio::executor_work_guard<asio::any_io_executor>>(executor);
        refused = !pool->submit([&job, executor, resume, work] {
            job();
            asio::post(executor, [resume, work] { (*resume)(); });
        });
        if (refused) asio::post(executor, [resume] { (*resume)(); });
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(begin, asio::use_awaitable);
    if (refused)
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                "offload queue is full");
}

} // namespace detail

} // namespace fastserve
