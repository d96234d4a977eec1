// How an application runs handlers, and how those that did not finish at once come to their end.
#include "answers.hpp"
#include "application.hpp"
#include "chain.hpp"
#include "overloaded.hpp"
#include "pending.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace fastserve::detail {

namespace {

bool is_overload(const std::exception_ptr& e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const overloaded&) {
        return true;
    } catch (...) {
        return false;
    }
}

} // namespace

bool application::enter(context& x) noexcept {
    const detail::route& r = *x.route_of;
    // Whoever suspends is counted when it does: workers that look at the same moment may exceed the limit by one each.
    if (r.handler->kind != handler_kind::plain && !may_suspend()) return false;
    if (r.max_in_flight == 0) [[likely]]
        return true;
    if (r.in_flight.fetch_add(1, std::memory_order_relaxed) < r.max_in_flight) {
        x.counted = true;
        return true;
    }
    r.in_flight.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void application::leave(context& x) noexcept {
    if (!x.counted) return;
    x.counted = false;
    x.route_of->in_flight.fetch_sub(1, std::memory_order_relaxed);
}

bool application::handle(net::worker& w, net::exchange& e) noexcept {
    context& x = as_context(e);
    if (!enter(x)) [[unlikely]] {
        refuse(x, 503);
        settle(x);
        return true;
    }
    bool answered = false;
    std::atomic<const detail::route*>& running = places_[w.index()]->running;
    running.store(x.route_of, std::memory_order_relaxed);
    switch (x.route_of->handler->kind) {
    case handler_kind::plain: answered = run_plain(x); break;
    case handler_kind::coroutine: answered = run_coroutine(w, x); break;
    case handler_kind::blocking: answered = run_blocking(w, x); break;
    }
    running.store(nullptr, std::memory_order_relaxed);
    if (answered) [[likely]] {
        leave(x);
        return true;
    }
    suspend(w, x);
    if (x.completed) finish(w, x);
    return false;
}

bool application::run_plain(context& x) noexcept {
    x.live = true;
    x.usable.set(usable_parts::both, x.route_of);
    try {
        x.route_of->handler->call(x.asked, x.answer);
    } catch (...) {
        handler_failed(x, std::current_exception());
    }
    x.usable.set(usable_parts::none, x.route_of);
    x.live = false;
    return !x.deferred;
}

// Called by Asio when a coroutine has ended. Where Asio finds no memory to go on with one, it destroys it instead, and
// this with it: that is its end, too.
struct application::ending {
    ending(application& a, net::worker& w, context& x) noexcept : app(&a), on(&w), of(&x) {}
    ending(ending&& other) noexcept : app(other.app), on(other.on), of(std::exchange(other.of, nullptr)) {}
    ending& operator=(ending&&) = delete;
    ~ending() {
        if (of && !app->let_go_) app->coroutine_ended(*on, *of, std::make_exception_ptr(std::bad_alloc()));
    }
    void operator()(const std::exception_ptr& failed) noexcept {
        app->coroutine_ended(*on, *std::exchange(of, nullptr), failed);
    }

    application* app;
    net::worker* on;
    context* of;
};

bool application::run_coroutine(net::worker& w, context& x) noexcept {
    x.live = x.starting = true;
    x.used = true;
    x.usable.set(usable_parts::both, x.route_of);
    try {
        // A function and not the coroutine itself: Asio keeps two frames a thread for reuse, and starting takes one
        // besides its own until the handler's is made.
        w.need_loop();
        boost::asio::co_spawn(
            w.context().get_executor(), [&x] { return x.route_of->handler->start(x.asked, x.answer); },
            boost::asio::bind_cancellation_slot(x.cancel.slot(), ending(*this, w, x)));
    } catch (...) {
        // It was not started, or not far: its ending has said so, or will.
    }
    x.starting = false;
    // One that has left another behind, which has asked for something, ends when the worker has come to it.
    return x.completed && x.net::exchange::asked == net::ask::nothing;
}

void application::coroutine_ended(net::worker& w, context& x, const std::exception_ptr& failed) noexcept {
    x.live = false;
    x.usable.set(usable_parts::none, x.route_of);
    // A coroutine of its own, which it has started and left behind: it has nothing to wait for any more.
    if (x.waits) {
        w.give_up(x);
        std::exchange(x.waits, nullptr)->drop();
    }
    if (failed) handler_failed(x, failed);
    if (x.deferred && x.deferred->current() != deferral::state::gone) return; // its responder finishes it
    settle(x);
    if (x.starting) {
        x.completed = true;
        return;
    }
    finish(w, x);
}

bool application::run_blocking(net::worker& w, context& x) noexcept {
    x.used = x.offloaded = true;
    x.deliver = [](net::worker& on, net::letter& l) noexcept {
        context& done = static_cast<context&>(static_cast<net::exchange&>(l));
        done.offloaded = false;
        if (done.failed) done.service->fail(done, std::exchange(done.failed, nullptr));
        done.service->settle(done);
        done.service->finish(on, done);
    };
    x.usable.set(usable_parts::both, x.route_of);
    bool accepted = false;
    try {
        // Made here: the handler asks for it on another thread than the one that requests the stop.
        x.stopping.emplace();
        accepted = offload_.submit([&x, mail = w.mail()](bool run) {
            // Nobody waits for a request whose peer has left while it was in the queue.
            if (run && !x.stopping->stop_requested()) {
                try {
                    x.route_of->handler->call(x.asked, x.answer);
                } catch (...) {
                    x.failed = std::current_exception();
                }
            }
            x.usable.set(usable_parts::none, x.route_of);
            mail->post(x); // once the worker has shut down, close() takes it
        });
    } catch (const std::bad_alloc&) {
    }
    if (!accepted) {
        x.offloaded = false;
        x.usable.set(usable_parts::none, x.route_of);
        refuse(x, 503);
        settle(x);
    }
    return !accepted;
}

void application::complete(net::worker& w, context& x, const fill& f) noexcept {
    if (!x.orphaned) {
        x.usable.set(x.live ? usable_parts::both : usable_parts::response, x.route_of);
        try {
            if (!f) throw std::logic_error("its responder was destroyed without an answer");
            f(x.answer);
        } catch (...) {
            fail(x, std::current_exception());
        }
        x.usable.set(x.live ? usable_parts::both : usable_parts::none, x.route_of);
    }
    x.deferred.reset();
    if (x.live) return; // its coroutine finishes it, when it has ended
    settle(x);
    finish(w, x);
}

void application::settle(context& x) noexcept {
    if (x.route_of->after.empty() || x.head_sent || x.orphaned) return;
    x.usable.set(usable_parts::both, x.route_of);
    try {
        run_hooks(x);
    } catch (...) {
        fail(x, std::current_exception());
    }
    x.usable.set(usable_parts::none, x.route_of);
}

void application::cancel(net::worker& w, net::exchange& e) noexcept {
    context& x = as_context(e);
    if (x.stopping) x.stopping->request_stop();
    try {
        if (x.live) x.cancel.emit(boost::asio::cancellation_type::terminal);
    } catch (...) { // no memory on the way to what it awaits: it goes on until that ends
    }
    // The word may not have come to it: a coroutine may refuse to be cancelled, and a group of them is told only once.
    if (x.waits) std::exchange(x.waits, nullptr)->resume_later();
    // A responder that has not answered yet will be told that it is too late; nobody else finishes this one then.
    if (x.deferred && x.deferred->end(deferral::state::gone) && !x.live) finish(w, x);
}

void application::handler_failed(context& x, const std::exception_ptr& e) noexcept {
    fail(x, e);
    if (!x.deferred) return;
    if (x.deferred->end(deferral::state::gone)) {
        x.deferred.reset();
        return;
    }
    // Its responder has answered before it failed, and that answer is on its way: it starts afresh.
    x.response.reset();
    x.typed = false;
}

void application::fail(context& x, const std::exception_ptr& e) noexcept {
    x.broken = x.head_sent; // too late for another answer
    x.response.reset();
    x.typed = false;
    if (x.orphaned) return; // the wait that was cancelled ends the handler by an exception
    if (is_overload(e)) {
        refuse(x, 503);
        return;
    }
    log_failure("handler of ", x.route_of ? std::string_view(x.route_of->name) : "?", e);
    refuse(x, 500, e);
}

void application::log_failure(std::string_view what, std::string_view of, const std::exception_ptr& e) const noexcept {
    try {
        std::string line(what);
        line.append(of).append(" failed: ");
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& known) {
            line += known.what();
        } catch (...) {
            line += "it threw something that is no std::exception";
        }
        log(log_level::error, line);
    } catch (...) { // out of memory
    }
}

// ---- answers that no handler gives
// -------------------------------------------------------------------------------------------------------

void application::refuse(context& x, int status, const std::exception_ptr& thrown) noexcept {
    // A plain handler works on borrowed bytes, which have gone once it has put off its answer.
    const bool gone = x.suspended && x.route_of->borrows;
    x.response.reset();
    answer_error(x, {.status = status,
                     .request = gone ? nullptr : &x.asked,
                     .route_name = x.route_of ? std::string_view(x.route_of->name) : std::string_view(),
                     .thrown = thrown});
}

void application::refuse_unrouted(context& x) {
    const std::string allow(x.response.get("Allow").value_or(std::string_view{}));
    answer_error(x, {.status = x.response.status(), .request = &x.asked, .route_name = {}, .thrown = {}});
    if (!allow.empty()) x.response.set("Allow", allow);
    x.usable.set(usable_parts::both, x.route_of); // what stands around it goes on
}

bool application::word_refusal(const http::exchange& refused, http::exchange& page, int status) noexcept {
    if (!routes_.on_error()) return false;
    const context& of = static_cast<const context&>(refused);
    context& x = static_cast<context&>(page);
    const bool own = &of == &x; // else its handler has the request
    x.response.reset();
    answer_error(x, {.status = status,
                     .request = own ? &x.asked : nullptr,
                     .route_name = of.route_of ? std::string_view(of.route_of->name) : std::string_view(),
                     .thrown = {}});
    return true;
}

void application::answer_error(context& x, const error_info& why) noexcept {
    http::response& r = x.response;
    try {
        r.status(why.status);
        if (const error_page* const page = routes_.on_error(); page && !x.head_sent) make_page(x, *page, why);
        if (r.kind() == http::body_kind::none) put_reason(r);
        if (why.status == 503 && !r.has("Retry-After")) r.set("Retry-After", "1");
    } catch (...) { // out of memory: one without a body will do
        r.reset();
        r.status(why.status);
    }
}

// The handler of on_error() runs in place of the one whose answer it makes.
void application::make_page(context& x, const error_page& page, const error_info& why) noexcept {
    const detail::route* const found = x.route_of;
    if (!found) {
        x.route_of = &page.as_route;
        x.params.clear();
    }
    std::atomic<const detail::route*>& running = places_[x.on_worker->index()]->running;
    const detail::route* const before = running.exchange(&page.as_route, std::memory_order_relaxed);
    x.usable.set(usable_parts::both, &page.as_route);
    x.typed = false;
    x.makes_page = true;
    try {
        page.handler(why, x.answer);
    } catch (...) {
        x.response.reset();
        log_failure("on_error", "", std::current_exception());
    }
    x.response.status(why.status);
    x.makes_page = false;
    x.usable.set(usable_parts::none, &page.as_route);
    running.store(before, std::memory_order_relaxed);
    x.route_of = found;
}

// ---- suspended ones
// ---------------------------------------------------------------------------------------------------

void application::suspend(net::worker& w, context& x) noexcept {
    context*& first = places_[w.index()]->suspended;
    x.previous_suspended = nullptr;
    x.next_suspended = first;
    if (first) first->previous_suspended = &x;
    first = &x;
    suspended_.fetch_add(1, std::memory_order_relaxed);
}

void application::resume(context& x) noexcept {
    context*& first = places_[x.on_worker->index()]->suspended;
    (x.previous_suspended ? x.previous_suspended->next_suspended : first) = x.next_suspended;
    if (x.next_suspended) x.next_suspended->previous_suspended = x.previous_suspended;
    suspended_.fetch_sub(1, std::memory_order_relaxed);
}

void application::finish(net::worker& w, context& x) noexcept {
    resume(x);
    leave(x);
    w.finish(x);
}

bool application::coroutines_left() const noexcept {
    for (const auto& p : places_)
        for (const context* x = p->suspended; x; x = x->next_suspended)
            if (x->live) return true;
    return false;
}

void application::close() noexcept {
    for (const auto& p : places_) {
        while (p->suspended) {
            context& x = *p->suspended;
            resume(x);
            leave(x);
            contexts_.release(&x);
        }
    }
}

void used_too_late(const context& x, const char* what) noexcept {
    const route* const r = x.usable.last_route();
    try {
        x.service->log(log_level::error, std::string(what) + " used after the handler of " +
                                             (r ? r->name : std::string("no route")) + " had ended");
    } catch (...) {
    }
    std::abort();
}

} // namespace fastserve::detail
