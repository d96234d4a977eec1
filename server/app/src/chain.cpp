#include "chain.hpp"

#include "application.hpp"
#include "context.hpp"
#include "route_table.hpp"

#include <fastserve/awaiting.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace fastserve::detail {

namespace {

handler_kind kind_of(const middleware_list& steps, const handler& inner) noexcept {
    const bool plain = inner.kind == handler_kind::plain && std::none_of(steps.begin(), steps.end(), [](const auto& m) {
                           return m->of == middleware::kind::around;
                       });
    return plain ? handler_kind::plain : handler_kind::coroutine;
}

awaitable<> nothing() {
    co_return;
}

// As long as a blocking handler uses the request, which then has a thread of its own.
class elsewhere {
public:
    elsewhere(context& x, const request& q) : x_(x) {
        // The answer would come while the handler fills it.
        if (x.deferred) throw std::logic_error("a middleware has deferred the answer of a blocking handler");
        (void)q.stop(); // made here: the handler asks for it on another thread than the one that requests the stop
        x_.offloaded = true;
    }
    elsewhere(const elsewhere&) = delete;
    elsewhere& operator=(const elsewhere&) = delete;
    ~elsewhere() { x_.offloaded = false; }

private:
    context& x_;
};

} // namespace

chain::chain(middleware_list steps, std::unique_ptr<handler> inner)
    : handler(kind_of(steps, *inner)), steps_(std::move(steps)), inner_(std::move(inner)) {}

void chain::call(request& q, response& a) {
    context& x = context::of(a);
    try {
        const bool passed =
            std::all_of(steps_.begin(), steps_.end(), [&](const auto& m) { return m->before(q, a) == verdict::go_on; });
        if (passed) call_inner(q, a);
    } catch (...) {
        x.service->handler_failed(x, std::current_exception());
    }
    if (!x.deferred) x.service->settle(x);
}

// Not a coroutine itself, so that plain steps need no frame.
awaitable<> chain::run_from(std::size_t at, request& q, response& a) {
    for (; at != steps_.size(); ++at) {
        middleware& m = *steps_[at];
        if (m.of == middleware::kind::around) return m.around(q, a, next(*this, at + 1, q, a));
        if (m.before(q, a) == verdict::answered) return nothing();
    }
    switch (inner_->kind) {
    case handler_kind::coroutine: return inner_->start(q, a);
    case handler_kind::blocking: return offload_inner(q, a);
    case handler_kind::plain: call_inner(q, a); break;
    }
    return nothing();
}

// What it answers is not written at once: others have their word first.
void chain::call_inner(request& q, response& a) {
    inner_->call(q, a);
    if (!context::of(a).response.keep_body()) throw std::bad_alloc();
}

awaitable<> chain::offload_inner(request& q, response& a) {
    const elsewhere mark(context::of(a), q);
    co_await offload([this, &q, &a] { inner_->call(q, a); });
}

void run_hooks(context& x) {
    struct running {
        explicit running(bool& b) noexcept : flag(b) { flag = true; }
        ~running() { flag = false; }
        bool& flag;
    };
    const running mark(x.in_hooks);
    for (const auto& m : x.route_of->after) m->after(x.asked, x.answer);
}

} // namespace fastserve::detail

namespace fastserve {

awaitable<> next::operator()() {
    detail::chain* const rest = std::exchange(of_, nullptr);
    if (!rest) throw std::logic_error("a middleware has awaited the rest of its chain twice");
    return rest->run_from(at_, *q_, *a_);
}

} // namespace fastserve
