#include "application.hpp"

#include "offload_service.hpp"

#include <fastserve/detail/percent.hpp>
#include <fastserve/http/status.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace fastserve::detail {

namespace {

context& as_context(net::exchange& e) noexcept {
    return static_cast<context&>(e);
}

unsigned offload_threads(unsigned wanted) noexcept {
    return wanted != 0 ? wanted : 8 * std::max(1u, std::thread::hardware_concurrency());
}

// An answer without a handler: the reason as text, as the wire's own errors have it.
void refuse(http::response& r, int status) {
    r.reset();
    r.status(status);
    r.content_type("text/plain; charset=utf-8");
    std::string& body = r.body_buffer();
    body = http::reason(status);
    body += '\n';
}

void set_allow(http::response& r, std::uint64_t methods) {
    std::string allow;
    for (unsigned m = 1; m <= last_method; ++m) {
        if (!(methods & method_bit(static_cast<method_index>(m)))) continue;
        const std::string_view name = http::to_string(static_cast<http::verb>(m));
        if (name.empty()) continue;
        if (!allow.empty()) allow += ", ";
        allow += name;
    }
    r.set("Allow", allow);
}

// What a server says of itself as a whole (OPTIONS *, RFC 9110 9.3.7).
constexpr std::uint64_t common_methods = method_bit(method_get) | method_bit(method_head) | method_bit(method_options) |
                                         method_bit(static_cast<method_index>(http::verb::post)) |
                                         method_bit(static_cast<method_index>(http::verb::put)) |
                                         method_bit(static_cast<method_index>(http::verb::patch)) |
                                         method_bit(static_cast<method_index>(http::verb::delete_));

} // namespace

application::application(const options& o, route_table& r)
    : options_(o), routes_(r), offload_(offload_threads(o.blocking_threads), o.blocking_queue) {}

std::error_code application::open(unsigned workers, const std::function<boost::asio::io_context&(unsigned)>& loop) {
    // Suspended ones, one in each worker's hands, and those of heads that are still arriving: one a connection at most.
    const auto most = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(options_.limits.suspended_exchanges + options_.limits.connections, (1u << 24) - 1));
    const auto make = [this](void* where, std::uint32_t) {
        auto* const x = ::new (where) context(options_.limits);
        x->service = this;
    };
    const auto capacity = std::min<std::uint32_t>(contexts_.capacity_for(most, workers), (1u << 24) - 1);
    if (const auto e = contexts_.open({.capacity = capacity, .construct = make})) return e;
    for (unsigned i = 0; i < workers; ++i) {
        boost::asio::io_context& l = loop(i);
        offload_service::install(l, offload_);
        places_.push_back(std::unique_ptr<place>(
            new place{fastserve::worker(i, l.get_executor()), pool::local_cache<context>(contexts_)}));
    }
    return {};
}

void application::log(log_level level, std::string_view message) const noexcept {
    if (!options_.log) return;
    try {
        options_.log({level, message});
    } catch (...) {
    }
}

net::exchange* application::acquire(net::worker& w) noexcept {
    place& p = *places_[w.index()];
    context* const x = p.spare.take();
    if (!x) return nullptr;
    x->on = &w;
    x->on_worker = &p.face;
    return x;
}

void application::release(net::worker& w, net::exchange& e) noexcept {
    places_[w.index()]->spare.put(&as_context(e));
}

void application::idle(net::worker& w) noexcept {
    places_[w.index()]->spare.flush();
    contexts_.trim();
}

// ---- before the body
// ---------------------------------------------------------------------------------------------------

http::decision application::route(net::worker&, net::exchange& e) noexcept {
    context& x = as_context(e);
    x.begin();
    const http::head& h = x.head;
    try {
        std::string_view path = h.path();
        if (path.find('%') != std::string_view::npos) [[unlikely]] {
            const auto normal = normal_path(path, x.allocate(path.size()));
            if (!normal) {
                refuse(x.response, 400);
                return {.answered = true};
            }
            path = x.normal = *normal;
        }
        const route_match found = routes_.find(h.method, path, x.params);
        const detail::route* r = nullptr;
        switch (found.kind) {
        case match_kind::found:
            r = &routes_.at(found.route);
            break;
        case match_kind::method_not_allowed:
            if (h.method == http::verb::options) {
                x.response.status(204);
            } else {
                refuse(x.response, 405);
            }
            set_allow(x.response, found.allowed);
            return {.answered = true};
        case match_kind::not_found:
            if (h.form == http::target_form::asterisk) {
                x.response.status(204);
                set_allow(x.response, common_methods);
                return {.answered = true};
            }
            if (h.method == http::verb::connect || h.method == http::verb::trace) {
                refuse(x.response, 405);
                set_allow(x.response, common_methods);
                return {.answered = true};
            }
            r = routes_.not_found();
            if (!r) {
                refuse(x.response, 404);
                return {.answered = true};
            }
            x.response.status(404);
            break;
        }
        x.route_of = r;
        return {.plain = r->handler->kind == handler_kind::plain,
                .body_bytes = r->max_body ? *r->max_body : options_.limits.body_bytes,
                .handler_timeout = r->deadline ? *r->deadline : options_.limits.handler_timeout};
    } catch (...) {
        fail(x, std::current_exception());
        return {.answered = true};
    }
}

// ---- handlers
// ----------------------------------------------------------------------------------------------------------

bool application::enter(context& x) noexcept {
    const detail::route& r = *x.route_of;
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
        refuse(x.response, 503);
        x.response.set("Retry-After", "1");
        return true;
    }
    bool answered = false;
    switch (x.route_of->handler->kind) {
    case handler_kind::plain:
        answered = run_plain(x);
        break;
    case handler_kind::coroutine:
        answered = run_coroutine(w, x);
        break;
    case handler_kind::blocking:
        answered = run_blocking(x);
        break;
    }
    if (answered) leave(x);
    return answered;
}

bool application::run_plain(context& x) noexcept {
    x.live = true;
    try {
        x.route_of->handler->call(x.asked, x.answer);
    } catch (...) {
        fail(x, std::current_exception());
    }
    x.live = false;
    return !x.deferred;
}

bool application::run_coroutine(net::worker& w, context& x) noexcept {
    x.live = x.starting = true;
    x.used = true;
    w.need_loop();
    try {
        boost::asio::co_spawn(
            w.context().get_executor(), x.route_of->handler->start(x.asked, x.answer),
            boost::asio::bind_cancellation_slot(x.cancel.slot(), [this, &w, &x](std::exception_ptr failed) noexcept {
                coroutine_ended(w, x, std::move(failed));
            }));
    } catch (...) {
        x.live = false;
        x.completed = true;
        fail(x, std::current_exception());
    }
    x.starting = false;
    return x.completed;
}

void application::coroutine_ended(net::worker& w, context& x, std::exception_ptr failed) noexcept {
    x.live = false;
    if (failed) fail(x, std::move(failed));
    if (x.deferred && x.deferred->now.load(std::memory_order_acquire) != deferral::state::gone)
        return; // its responder will
    if (x.starting) {
        x.completed = true;
        return;
    }
    leave(x);
    w.finish(x);
}

bool application::run_blocking(context& x) noexcept {
    // Made here: the handler asks for it on another thread than the one that requests the stop.
    x.used = true;
    try {
        x.stopping.emplace();
    } catch (...) {
        fail(x, std::current_exception());
        return true;
    }
    x.deliver = [](net::worker& w, net::letter& l) noexcept {
        context& done = static_cast<context&>(static_cast<net::exchange&>(l));
        done.service->leave(done);
        w.finish(done);
    };
    const bool accepted = offload_.submit([this, &x, mail = x.on->mail()] {
        try {
            x.route_of->handler->call(x.asked, x.answer);
        } catch (...) {
            fail(x, std::current_exception());
        }
        mail->post(x);
    });
    if (!accepted) {
        refuse(x.response, 503);
        x.response.set("Retry-After", "1");
    }
    return !accepted;
}

void application::complete(net::worker& w, context& x, const std::function<void(fastserve::response&)>& fill) noexcept {
    if (!x.orphaned) {
        try {
            fill(x.answer);
        } catch (...) {
            fail(x, std::current_exception());
        }
    }
    x.deferred.reset();
    if (x.live) return; // its coroutine has not ended: that finishes it
    leave(x);
    w.finish(x);
}

void application::cancel(net::worker& w, net::exchange& e) noexcept {
    context& x = as_context(e);
    if (x.stopping) x.stopping->request_stop();
    if (x.route_of->handler->kind == handler_kind::coroutine) x.cancel.emit(boost::asio::cancellation_type::terminal);
    // A responder that has not answered yet will be told that it is too late; nobody else finishes this one then.
    if (x.deferred && x.deferred->end(deferral::state::gone) && !x.live) {
        leave(x);
        w.finish(x);
    }
}

void application::fail(context& x, std::exception_ptr e) noexcept {
    if (x.deferred && x.deferred->end(deferral::state::gone)) x.deferred.reset();
    x.response.reset();
    x.response.status(500);
    try {
        refuse(x.response, 500);
        if (x.orphaned) return; // the wait that was cancelled ends the handler by an exception
        std::string what = "handler of ";
        what += x.route_of ? x.route_of->name : "?";
        what += " threw: ";
        try {
            std::rethrow_exception(std::move(e));
        } catch (const std::exception& known) {
            what += known.what();
        } catch (...) {
            what += "something that is no std::exception";
        }
        log(log_level::error, what);
    } catch (...) {
        // Out of memory: a 500 without a body will do.
    }
}

} // namespace fastserve::detail
