// Which handler answers what.
#pragma once

#include <fastserve/detail/handler.hpp>
#include <fastserve/detail/middleware.hpp>
#include <fastserve/files.hpp>
#include <fastserve/middleware.hpp>
#include <fastserve/types.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve {

class route_group;

// When the handler of a route starts.
enum class body : std::uint8_t {
    whole,    // once the request's body is complete: request::body()
    streamed, // after the head: request::read(). For coroutines alone
};

// What is special about a route, or about all routes of a group. What is left out is as the group around it has it, and
// in the end as the server's limits have it.
struct route_options {
    std::optional<fastserve::body> body{};               // whole
    std::optional<std::size_t> max_body{};               // bytes; more is answered 413; streamed: no limit unless set
    std::optional<std::chrono::milliseconds> deadline{}; // for the handler; later is 503; zero: none
    std::optional<unsigned> max_in_flight{};             // requests in its handler at once; more are 503; 0: any
    std::string_view name{};                             // for logs and request::route_name(); copied
};

// Runs the handler on a thread of the offload pool, never on a worker: for code that waits or computes for long. It may
// take what other handlers take, and is alone with its request and response. When the pool's queue is full, the answer
// is 503 with Retry-After.
template <class H>
detail::blocking_handler<H> blocking(H h) {
    return {std::move(h)};
}

// Why fastserve answers in place of a handler. Good during the call that it is given to.
struct error_info {
    int status{};
    // Null where it is still its handler's, which is late, and where it has gone: a plain handler put off its answer.
    const fastserve::request* request{};
    std::string_view route_name{}; // of the route that was found; empty if none was
    std::exception_ptr thrown{};   // by its handler, with a 500: for logs, not for the peer
};

namespace detail {

class route_scope;
class route_table;

// Names the place in a router's table where routes are registered, and keeps nothing alive.
class scope_key {
protected:
    explicit scope_key(std::weak_ptr<route_scope> s) noexcept : scope_(std::move(s)) {}

    void add(std::optional<http::verb>, std::string_view pattern, std::unique_ptr<handler>, const route_options&) const;
    void add_middleware(std::unique_ptr<middleware>) const;
    std::weak_ptr<route_scope> inner(std::string_view prefix, const route_options& defaults) const;

private:
    std::shared_ptr<route_scope> scope() const;

    std::weak_ptr<route_scope> scope_;
};

// What a router and a group of it can do alike: see there. Result: what a registration returns for the next one.
template <class Self, class Result>
class registering : protected scope_key {
public:
    template <class H>
    Result get(std::string_view pattern, H h, const route_options& o = {}) {
        return on(http::verb::get, pattern, std::move(h), o);
    }
    template <class H>
    Result post(std::string_view pattern, H h, const route_options& o = {}) {
        return on(http::verb::post, pattern, std::move(h), o);
    }
    template <class H>
    Result put(std::string_view pattern, H h, const route_options& o = {}) {
        return on(http::verb::put, pattern, std::move(h), o);
    }
    template <class H>
    Result patch(std::string_view pattern, H h, const route_options& o = {}) {
        return on(http::verb::patch, pattern, std::move(h), o);
    }
    template <class H>
    Result del(std::string_view pattern, H h, const route_options& o = {}) {
        return on(http::verb::delete_, pattern, std::move(h), o);
    }
    template <class H>
    Result on(http::verb method, std::string_view pattern, H h, const route_options& o = {}) {
        add(method, pattern, make_handler(std::move(h)), o);
        return self();
    }
    // Every method that has no route of its own there, except TRACE: a handler that knows nothing of it would answer it
    // with success, and one that repeats its request hands out what clients hide from scripts (RFC 9110 9.3.8).
    template <class H>
    Result any(std::string_view pattern, H h, const route_options& o = {}) {
        add(std::nullopt, pattern, make_handler(std::move(h)), o);
        return self();
    }
    // Before, after or around the handlers of routes that are registered later, here and in groups: see
    // <fastserve/middleware.hpp>.
    template <class M>
    Result use(M m) {
        add_middleware(make_middleware(std::move(m)));
        return self();
    }
    // The files of a folder, to GET and HEAD of "prefix/...": with types, tags, conditions and ranges, a redirect to the
    // slash behind a directory's name, and its index. Nothing outside the folder is served, nor what is no regular
    // file, whatever names and links lead there. The folder is opened now, and stays the one it is.
    //
    // Throws std::system_error if it cannot be opened, std::invalid_argument for an option or a prefix that cannot be.
    Result files(std::string_view prefix, const std::string& folder, const files_options& o = {}) {
        while (prefix.ends_with('/')) prefix.remove_suffix(1);
        get(std::string(prefix) + "/{path...}", file_handler(folder, o));
        if (!prefix.empty()) get(prefix, &redirect_to_directory);
        return self();
    }
    // A group whose routes begin with `prefix`, and have `defaults` where they say nothing themselves.
    route_group group(std::string_view prefix, const route_options& defaults = {});

protected:
    explicit registering(std::weak_ptr<route_scope> s) noexcept : scope_key(std::move(s)) {}

private:
    Self& self() noexcept { return static_cast<Self&>(*this); }
};

} // namespace detail

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
// std::invalid_argument with a sentence that names both routes. Registering anything later throws std::logic_error.
class router : public detail::registering<router, router&> {
public:
    // Answers what no route matches, behind all that is used on the router. The status is 404 unless the handler sets
    // another. The last call counts.
    template <class H>
    router& not_found(H h) {
        return add_not_found(detail::make_handler(std::move(h)));
    }
    // Words the errors that are no handler's answer: 400, 404 (without not_found()), 405 and 421 for want of a route,
    // 408 and 413 of a body, 500 of a handler that threw or gave up its responder, 503 of one that cannot run now or is
    // late. `h` gets an empty response and fills it as a plain handler does: on the worker, so it must not block. The
    // status stays what it is, and so do Allow and, unless `h` sets another, Retry-After. What is left without a body
    // gets the reason as text. If `h` throws, that is logged, and the reason is all. The last call counts; an empty `h`
    // throws std::invalid_argument.
    //
    // Not asked about: what a handler answers, whatever the status, and what is refused before a route is looked for: a
    // head that is malformed, too large or late, and a connection for which there is no room. These have the reason as
    // text, as has what is refused of a body or a late handler if the page has more than some 100 KiB.
    router& on_error(std::function<void(const error_info&, response&)> h);

    router(const router&) = delete;
    router& operator=(const router&) = delete;

protected:
    router();
    ~router();

    std::shared_ptr<detail::route_table> routes_;

private:
    explicit router(std::shared_ptr<detail::route_table>);
    router& add_not_found(std::unique_ptr<detail::handler>);
};

// Routes under one prefix, made by group() of a router or of another group.
//
//     fastserve::route_group api = app.group("/api/v1", {.max_body = 64 * 1024});
//     api.get("/users", list).post("/users", create, {.max_body = 1024 * 1024});
//     api.group("/users/{id}", {.name = "user"}).get("", show).del("", remove, {.name = "remove"}); // "user.remove"
//
// A prefix is a pattern without a final '/' or {name...}; it may hold {parameters}, which handlers get like any others.
// The empty one makes a group of routes that have no more in common than options. The pattern of a route is appended as
// it is, and begins with '/'; the empty one means the prefix itself ("/api" and "/api/" are two paths).
//
// A function that registers routes takes a route_group: app.group("") makes one of a router.
//
// A route's options are its own, else its group's, else those of the group around that. max_in_flight is for each route
// by itself. The name of a group stands before its routes' names, with a dot; a route that is given none is named by
// its whole pattern, as everywhere.
//
// Lifetime: it is a key to a place in its router, to be kept, copied and thrown away as one likes; routes belong to the
// router. Registrations return a copy, so that no chain of calls ends in a reference to something that has gone. It
// keeps nothing alive: used after its server has ended, it throws std::logic_error.
//
// Thread and errors: as the router's; a prefix that is no such thing throws std::invalid_argument. Messages name whole
// patterns.
class route_group : public detail::registering<route_group, route_group> {
public:
    // Never moved from: an empty one would be of no use.
    route_group(const route_group&) = default;
    route_group& operator=(const route_group&) = default;

private:
    template <class, class>
    friend class detail::registering;
    explicit route_group(std::weak_ptr<detail::route_scope> s) noexcept : registering(std::move(s)) {}
};

template <class Self, class Result>
route_group detail::registering<Self, Result>::group(std::string_view prefix, const route_options& defaults) {
    return route_group(inner(prefix, defaults));
}

} // namespace fastserve
