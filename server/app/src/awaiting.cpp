#include <fastserve/awaiting.hpp>

#include "offload_pool.hpp"
#include "offload_service.hpp"
#include "overloaded.hpp"
#include "resumption.hpp"

#include <fastserve/net/operation_memory.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace fastserve {

namespace asio = boost::asio;

namespace {

// A descriptor that is its owner's, lent to Asio for one wait. Whatever ends the coroutine, it is not closed.
class lent_descriptor {
public:
    explicit lent_descriptor(const asio::any_io_executor& e) : stream_(e) {}
    lent_descriptor(const lent_descriptor&) = delete;
    lent_descriptor& operator=(const lent_descriptor&) = delete;
    ~lent_descriptor() {
        if (stream_.is_open()) stream_.release();
        if (copy_ >= 0) ::close(copy_);
    }

    boost::system::error_code lend(int fd) {
        boost::system::error_code failed;
        stream_.assign(fd, failed);
        if (failed != boost::system::errc::file_exists) return failed;
        // Somebody waits for it already, and epoll knows a descriptor once: another one of the same file will do.
        copy_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (copy_ < 0) return {errno, boost::system::system_category()};
        failed.clear();
        stream_.assign(copy_, failed);
        return failed;
    }
    asio::posix::stream_descriptor& stream() noexcept { return stream_; }

private:
    asio::posix::stream_descriptor stream_;
    int copy_ = -1;
};

awaitable<result<void>> ready(int fd, asio::posix::descriptor_base::wait_type what) {
    lent_descriptor d(co_await asio::this_coro::executor);
    boost::system::error_code failed = d.lend(fd);
    if (!failed) co_await d.stream().async_wait(what, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return failed;
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

namespace {

enum class outcome { ran, refused, cancelled };

// A coroutine that waits for its job: shared by the loop, which may cancel it, and the pool. Who takes it first says
// how it ends; the other finds it taken. The job lies in the coroutine's frame, which stays because nobody resumes it
// before it was taken.
template <class Handler>
struct offloaded {
    offloaded(Handler&& h, const asio::any_io_executor& e, outcome& o) : handler(std::move(h)), work(e), how(o) {}

    // Acquire and release: what the coroutine did before it waited is seen by the job, whichever way that came.
    bool take() noexcept { return !taken.exchange(true, std::memory_order_acq_rel); }

    static void resume(const std::shared_ptr<offloaded>& self, outcome o) {
        self->how = o;
        post_in(self->memory, self->work.get_executor(), [self] {
            auto on = std::move(self->work); // the loop may end once the handler has
            self->handler();
        });
    }

    Handler handler;
    asio::executor_work_guard<asio::any_io_executor> work;
    outcome& how;
    std::atomic<bool> taken{false};
    net::operation_memory memory; // so that who was taken is resumed, whatever memory there is
};

} // namespace

awaitable<> run_offloaded(std::function<void()> job) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    offload_pool* const pool = offload_service::of(asio::query(executor, asio::execution::context));
    if (!pool) throw std::logic_error("offload() is for handlers of a fastserve::server");
    outcome how = outcome::ran;
    const auto begin = [&](auto handler) {
        using waiting = offloaded<decltype(handler)>;
        auto slot = asio::get_associated_cancellation_slot(handler);
        const auto self = std::make_shared<waiting>(std::move(handler), executor, how);
        if (slot.is_connected())
            slot.assign([self](asio::cancellation_type) {
                if (self->take()) waiting::resume(self, outcome::cancelled);
            });
        bool accepted = false;
        try {
            accepted = pool->submit([self, &job](bool run) {
                if (!self->take()) return;
                if (run) job();
                waiting::resume(self, run ? outcome::ran : outcome::cancelled);
            });
        } catch (const std::bad_alloc&) { // refused, too; the slot would keep the coroutine that nobody resumes
        }
        if (!accepted && self->take()) waiting::resume(self, outcome::refused);
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(begin, asio::use_awaitable);
    if (how == outcome::refused) throw overloaded("the offload queue is full");
    if (how == outcome::cancelled) throw boost::system::system_error(asio::error::operation_aborted);
}

} // namespace detail

} // namespace fastserve
