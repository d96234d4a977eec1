// Which handler answers what.
#pragma once

#include <fastserve/detail/handler.hpp>
#include <fastserve/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace fastserve {

// When the handler of a route starts.
enum class body : std::uint8_t {
    whole,    // once the request's body is complete: request::body()
    streamed, // after the head: request::read(). For coroutines alone
};

// What is special about a route. Members that are left out take the server's limits.
struct route_options {
    fastserve::body body{};
    std::optional<std::size_t> max_body{};               // bytes; more is answered 413; streamed: no limit unless set
    std::optional<std::chrono::milliseconds> deadline{}; // for the handler; later is 503; zero: none
    unsigned max_in_flight{};                            // requests in its handler at once; more are 503; 0: any
    std::string_view name{};                             // for logs and request::route_name(); copied
};

// Runs the handler on a thread of the offload pool, never on a worker: for code that waits or computes for long. It may
// take what other handlers take, and is alone with its request and response. When the pool's queue is full, the answer
// is 503 with Retry-After.
template <class H>
detail::blocking_handler<H> blocking(H h) {
    return {std::move(h)};
}

namespace detail {
class route_table;
}

// Routes by method and path.
//
// A pattern is literals, {name} for one whole segment, and a final {name...} for the rest; which of several matches is
// taken does not depend on the order of registration (detail/route_tree.hpp has the rules). HEAD is answered by GET,
// OPTIONS and 405 with Allow by themselves.
//
// A handler is called on several workers at once. It is one of
//     T() or T(const request&)                        T: std::string, std::string_view, const char*, boost::json::value
//     void(request&, response&)                       plain: runs on the worker, must not block
//     awaitable<>(request&, response&) and the like   a coroutine: may await any Asio operation
//     blocking(any of the plain ones)                 runs on the offload pool
//
// Thread: all routes are registered before the server starts, by one thread.
//
// Errors: a malformed pattern, a method and place taken already, or a streamed body for what is no coroutine, throws
// std::invalid_argument with a sentence that names both routes.
class router {
public:
    template <class H>
    router& get(std::string_view pattern, H h, route_options o = {}) {
        return on(http::verb::get, pattern, std::move(h), o);
    }
    template <class H>
    router& post(std::string_view pattern, H h, route_options o = {}) {
        return on(http::verb::post, pattern, std::move(h), o);
    }
    template <class H>
    router& put(std::string_view pattern, H h, route_options o = {}) {
        return on(http::verb::put, pattern, std::move(h), o);
    }
    template <class H>
    router& patch(std::string_view pattern, H h, route_options o = {}) {
        return on(http::verb::patch, pattern, std::move(h), o);
    }
    template <class H>
    router& del(std::string_view pattern, H h, route_options o = {}) {
        return on(http::verb::delete_, pattern, std::move(h), o);
    }
    template <class H>
    router& on(http::verb method, std::string_view pattern, H h, route_options o = {}) {
        return add(method, pattern, detail::make_handler(std::move(h)), o);
    }
    // Every method that has no route of its own there, except TRACE: a handler that knows nothing of it would answer it
    // with success, and one that repeats its request hands out what clients hide from scripts (RFC 9110 9.3.8).
    template <class H>
    router& any(std::string_view pattern, H h, route_options o = {}) {
        return add(std::nullopt, pattern, detail::make_handler(std::move(h)), o);
    }
    // Answers what no route matches. The status is 404 unless the handler sets another.
    template <class H>
    router& not_found(H h) {
        return add_not_found(detail::make_handler(std::move(h)));
    }

    router(const router&) = delete;
    router& operator=(const router&) = delete;

protected:
    router();
    ~router();

    std::unique_ptr<detail::route_table> routes_;

private:
    router& add(std::optional<http::verb>, std::string_view pattern, std::unique_ptr<detail::handler>,
                const route_options&);
    router& add_not_found(std::unique_ptr<detail::handler>);
};

} // namespace fastserve
