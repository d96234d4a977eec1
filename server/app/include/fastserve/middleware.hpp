// What many routes have in common, before and after their handlers: use() of a router or of a group.
//
// A middleware is one of these, told by its signature:
//
//     verdict(request&, response&)        before the handler: says go_on, or answered, having filled the response
//     void(request&, response&)           the same, and always goes on
//     after(void(request&, response&))    when the response is filled and before it is sent: may add to it, log it, ...
//     after(void(response&))              the same, of less cost
//     awaitable<>(request&, response&, next)
//                                         a coroutine around the rest: awaits next to have it run, or answers itself
//
//     app.use([](request& q, response& a) {
//         if (q.field("Authorization") == secret) return go_on;
//         a.problem(401, "who are you?");
//         return answered;
//     });
//     app.use(after([](response& a) { a.set("X-Content-Type-Options", "nosniff"); }));
//     app.use([](request& q, response& a, next rest) -> awaitable<> {
//         const auto begun = std::chrono::steady_clock::now();
//         co_await rest();
//         a.set("Server-Timing", timing_since(begun));
//     });
//
// Which routes. A route runs what was used before it was registered, in its own group and in those around it, also if
// the group itself was made earlier. What is used later is for later routes: the order of the lines is the order of the
// run. For routes that need one more, make a group without a prefix: app.group("").use(audit).get(...).
//
// What no route answers, which is not_found() and the router's own 404, 405 and answers to OPTIONS, runs all that was
// used on the router itself, at any time, and nothing of groups. So one use() can answer the preflights of CORS. The
// response has its status and Allow already, and the body of an error is put in at the end, in the words of on_error() if
// it has any. Nothing runs for what is refused before a route is looked for (400, 421), for OPTIONS *, and for TRACE and
// CONNECT where nothing is.
//
// In which order. From the outside inwards: the router's, then the group's, each as they were used, then the handler.
// Who answers, or does not await next, ends it there. At last what was given to after(), from the inside outwards.
//
// after() is for every answer of the route: the handler's, that of a middleware, a 500 because one of them threw, a 503
// because too many are in work. An exception drops what was set until then, so a field that must be on every answer is
// set there. It runs when a deferred answer has come, and when the first piece of a body in pieces is about to be sent,
// which is when the fields still count. It does not run where nobody waits for the answer any more, and not for what
// the connection says by itself: a body that is too large or too slow (413, 408), a deadline that has passed (503).
//
// When. With the handler: once the body is complete, or after the head if the route is streamed (route_options::body).
//
// Cost. None for routes without. Middleware that is not a coroutine leaves a plain handler plain: a call each, and no
// allocation. A coroutine makes its routes coroutines; so does any middleware, except after(), in front of a blocking
// handler, which alone runs on the offload pool. after() with a request keeps a copy of the head, since a plain handler
// works on borrowed bytes, which are gone when it defers.
//
// Lifetime: owned by the router, and called on several workers at once, for several routes: like a handler. Thread: the
// worker's, so it must not block; a coroutine may await offload().
//
// Errors: an exception is one of the handler: a 500, and logged with the route; one of after() too, of whose answer
// after() does not run again.
#pragma once

#include <fastserve/types.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fastserve {

class request;
class response;

namespace detail {

class chain;

template <class F>
struct after_hook {
    F call;
};

} // namespace detail

// What a middleware before the handler has found.
enum class verdict : std::uint8_t {
    go_on,    // the rest may run
    answered, // the response is filled, or deferred: nothing more runs but after()
};
using enum verdict;

// The middleware that `f` is, to be used: it sees the response last.
template <class F>
detail::after_hook<F> after(F f) {
    return {std::move(f)};
}

// All that comes behind a coroutine middleware, to be taken by value. Good until that returns. Move-only: it runs once.
class next {
public:
    next(next&& other) noexcept : of_(std::exchange(other.of_, nullptr)), at_(other.at_), q_(other.q_), a_(other.a_) {}
    next& operator=(next&&) = delete;

    // Runs it; to be awaited at once. Ends when the handler has returned, with the response filled, unless it has put
    // off its answer. Throws what the handler throws, and std::logic_error if it has run already.
    [[nodiscard]] awaitable<> operator()();

private:
    friend class detail::chain;
    next(detail::chain& of, std::size_t at, request& q, response& a) noexcept : of_(&of), at_(at), q_(&q), a_(&a) {}

    detail::chain* of_; // null: it has run
    std::size_t at_;
    request* q_;
    response* a_;
};

} // namespace fastserve
