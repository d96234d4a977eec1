// Bodies in pieces, as coroutines await them.
#include "application.hpp"
#include "chain.hpp"
#include "multipart_reader.hpp"
#include "pending.hpp"
#include "resumption.hpp"

#include <fastserve/error.hpp>
#include <fastserve/net/operation_memory.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/recycling_allocator.hpp>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace fastserve {

namespace asio = boost::asio;

namespace detail {

namespace {

template <class Handler>
class pending_of final : public pending {
    using allocator = asio::recycling_allocator<pending_of>;

public:
    static pending_of* make(Handler&& h) { return ::new (allocator().allocate(1)) pending_of(std::move(h)); }

    void resume() override {
        Handler h(std::move(handler_));
        drop();
        std::move(h)();
    }
    void resume_later() noexcept override {
        // A copy: who is posted may end before post_in() has returned.
        const asio::any_io_executor executor = asio::get_associated_executor(handler_);
        try {
            post_in(memory_, executor, [self = owner(this)]() mutable { self.release()->resume(); });
        } catch (const std::bad_alloc&) { // of an executor on top of the loop's: the coroutine has gone
        }
    }
    void drop() noexcept override {
        this->~pending_of();
        allocator().deallocate(this, 1);
    }

private:
    struct dropper {
        void operator()(pending_of* p) const noexcept { p->drop(); }
    };
    using owner = std::unique_ptr<pending_of, dropper>;

    explicit pending_of(Handler&& h) : handler_(std::move(h)) {}

    Handler handler_;
    net::operation_memory memory_; // of the resumption
};

// Asks the worker and waits until it has answered, or is given up. An operation and not a coroutine: Asio keeps two
// frames a thread for reuse, and those are the handler's and the one that started it. `given_up` outlives the wait.
auto wait_for(context& x, net::ask what, bool& given_up) {
    auto begin = [&x, &given_up, what](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        const std::uint64_t number = ++x.wait_number;
        // First what may find no memory: nobody would resume a coroutine that waits and has not asked.
        if (slot.is_connected())
            slot.assign([&x, &given_up, what, number](asio::cancellation_type) {
                // The slot may keep this for longer than the wait.
                if (!x.waits || x.wait_number != number) return;
                // What is being sent is lent to the worker until it is sent or the connection has gone.
                if (what != net::ask::body && !x.orphaned) return;
                given_up = true;
                x.on->give_up(x);
                // Later, because the frame that is resumed may end, and with it what is being called.
                std::exchange(x.waits, nullptr)->resume_later();
            });
        x.waits = pending_of<decltype(handler)>::make(std::move(handler));
        x.waits_for = what;
        x.on->ask(x, what);
    };
    return asio::async_initiate<const asio::deferred_t, void()>(std::move(begin), asio::deferred);
}

error_code disconnected(const context& x) noexcept {
    if (x.body_error != http::errc::ok) return make_error_code(x.body_error);
    return make_error_code(errc::disconnected);
}

} // namespace

void application::wake(net::worker& w, context& x) noexcept {
    std::atomic<const detail::route*>& running = places_[w.index()]->running;
    running.store(x.route_of, std::memory_order_relaxed);
    try {
        std::exchange(x.waits, nullptr)->resume();
    } catch (...) {
        // It goes on no further, and its ending has said so (net::worker::run_loop).
    }
    running.store(nullptr, std::memory_order_relaxed);
}

void application::body_ready(net::worker& w, net::exchange& e) noexcept {
    wake(w, as_context(e)); // a read that was cancelled has been given up
}

void application::written(net::worker& w, net::exchange& e) noexcept {
    context& x = as_context(e);
    if (x.waits && x.waits_for != net::ask::body) wake(w, x);
}

} // namespace detail

using detail::checked_request;
using detail::checked_response;

awaitable<result<chunk>> detail::read_body(context& of, bool for_parts) {
    context& x = checked_request(of);
    if (!x.route_of->streamed) co_return make_error_code(errc::not_streamed);
    if (!for_parts) {
        if (x.parts) co_return make_error_code(errc::taken);
        x.body_read = true;
    }
    if (x.orphaned) co_return detail::disconnected(x);
    if (x.waits) co_return make_error_code(errc::busy);
    if (!x.body_open && !x.body_waits) {
        x.body = {};
        co_return chunk{};
    }
    bool given_up = false;
    co_await detail::wait_for(x, net::ask::body, given_up);
    if (x.orphaned) co_return detail::disconnected(x);
    if (given_up) co_return make_error_code(errc::cancelled);
    co_return chunk{x.body};
}

awaitable<result<chunk>> request::read() {
    return detail::read_body(x_, false);
}

awaitable<error_code> response::write(std::string_view piece) {
    detail::context& x = checked_response(x_);
    if (x.orphaned) co_return detail::disconnected(x);
    if (x.waits) co_return make_error_code(errc::busy);
    const auto length = x.response.content_length();
    if (length && piece.size() > (x.head_sent ? x.outgoing_left : *length)) co_return make_error_code(errc::too_long);
    if (!x.head_sent && !x.route_of->after.empty()) detail::run_hooks(x);
    x.outgoing = piece;
    bool given_up = false; // of no consequence: only if its peer has left
    co_await detail::wait_for(x, net::ask::write, given_up);
    if (x.orphaned) co_return detail::disconnected(x);
    co_return error_code();
}

namespace {

constexpr http::ready_line event_stream_line("Content-Type", "text/event-stream");

awaitable<error_code> write_own(response& to, std::string piece) {
    const error_code failed = co_await to.write(piece);
    co_return failed;
}

} // namespace

// No coroutine, so that neither the event nor what it refers to has to live until it is awaited.
awaitable<error_code> response::event(const sse& e) {
    detail::context& x = checked_response(x_);
    std::string lines;
    if (!http::append_event(lines, e))
        throw std::invalid_argument("server-sent event: give it a type and an id of one line each, without NUL, and a "
                                    "retry that is not negative");
    if (!x.head_sent && !x.waits) {
        if (!x.typed) x.response.content_type(event_stream_line);
        if (!x.response.has("Cache-Control")) x.response.set("Cache-Control", "no-store");
    }
    return write_own(*this, std::move(lines));
}

awaitable<error_code> response::interim(int status) {
    detail::context& x = checked_response(x_);
    if (status < 100 || status > 199 || status == 101)
        throw std::invalid_argument("interim response with a status outside 100 and 102 to 199");
    if (x.orphaned) co_return detail::disconnected(x);
    if (x.waits) co_return make_error_code(errc::busy);
    if (x.head_sent) co_return make_error_code(errc::head_sent);
    x.interim_status = static_cast<std::uint16_t>(status);
    bool given_up = false;
    co_await detail::wait_for(x, net::ask::interim, given_up);
    if (x.orphaned) co_return detail::disconnected(x);
    co_return error_code();
}

} // namespace fastserve
