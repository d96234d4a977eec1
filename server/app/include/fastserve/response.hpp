// The response that a handler fills.
#pragma once

#include <fastserve/http/cookie.hpp>
#include <fastserve/http/event_stream.hpp>
#include <fastserve/types.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace boost::json {
class value;
}

namespace fastserve {

class response;

namespace detail {
class context;
struct deferral;
struct lender;
} // namespace detail

// A promise to answer later, from any thread.
//
// Lifetime: its own. It refers to the request through the worker's mailbox and not through the connection: it may
// outlive the connection and the server, and then complete() returns false. Destroyed without an answer it answers 500.
//
// Thread: any, one at a time. Move-only.
class responder {
public:
    responder() noexcept = default;
    responder(responder&&) noexcept = default;
    responder& operator=(responder&&) noexcept;
    ~responder();

    // Runs `fill` on the worker, with the response as the handler left it, and sends that. False, and `fill` is not
    // run: the peer has left, the deadline has passed, the handler threw, it was answered already, or the server has
    // stopped. True is no receipt: the peer may still leave before `fill` runs. An exception of `fill` is a 500.
    bool complete(std::function<void(response&)> fill);

private:
    friend class response;
    explicit responder(std::shared_ptr<detail::deferral> d) noexcept : deferral_(std::move(d)) {}

    std::shared_ptr<detail::deferral> deferral_;
};

using same_site = http::same_site;

// What a browser does with a cookie (RFC 6265 4.1.2, SameSite, and Partitioned). Views must be good during the call.
struct cookie_options {
    // How long it is kept; for the browser's session if neither is there. `max_age` prevails where both are.
    std::optional<std::chrono::seconds> max_age{};
    std::optional<std::chrono::system_clock::time_point> expires{};
    std::string_view domain{};        // sent to this host and those below it; empty: only to the one that sets it
    std::string_view path{"/"};       // sent to it and what is below it; empty: that of the request, up to its last '/'
    bool secure{};                    // sent over encrypted connections only
    bool http_only{};                 // hidden from scripts
    fastserve::same_site same_site{}; // whether requests from other sites carry it; unset: as the browser likes
    bool partitioned{};               // where a page of another site embeds this one, kept for that alone
};

// An event for response::event(): {.data = "text", .event = "type", .id = "7"}.
using sse = http::sse;

// Lifetime: good until the handler ends; for a coroutine, until it returns. What is given as a view is copied. A debug
// build of the library names the route of who uses it later, and ends the program.
//
// Thread: the one the handler runs on.
//
// Errors: a status outside 200 to 999, a field name that is no token, or a field value with CR, LF, NUL or another
// control throws std::invalid_argument, and so answers 500: such text comes from the network, and must not get there
// again.
class response {
public:
    response(const response&) = delete;
    response& operator=(const response&) = delete;

    // 200 unless set.
    response& status(int code);
    int status() const noexcept;
    // In place of all lines of that name. Framing fields are the server's: see http/response.hpp.
    response& set(std::string_view name, std::string_view value);
    // Beside those that are there.
    response& add(std::string_view name, std::string_view value);

    // Has the browser keep a cookie: one more Set-Cookie line. Of two with the same name, domain and path it keeps the
    // last. What a browser would drop or take for something else throws std::invalid_argument, which says what to do: a
    // name that is no token; a value that must be encoded first (for blanks, quotes, commas, semicolons, controls, what
    // is not ASCII); SameSite=None or Partitioned without secure; "__Host-" or "__Secure-" in front of the name without
    // what they promise; and what is too long.
    response& set_cookie(std::string_view name, std::string_view value, const cookie_options& = {});
    // Has the browser drop it: domain and path must be those it was set with, and a prefix keeps its promise here, too.
    response& clear_cookie(std::string_view name, const cookie_options& = {});

    // A body with its Content-Type, unless the handler sets or has set that field itself. The last call counts. Not
    // sent where there is none: to HEAD, with 204 and 304 (RFC 9110 6.4.1).
    void text(std::string_view);
    void text(std::string&&);
    void text(const char* s) { text(std::string_view(s)); }
    void html(std::string_view);
    void json(const boost::json::value&);
    // Moved or shared, never copied. Null is an empty body.
    void bytes(std::string&&, std::string_view type);
    void bytes(std::shared_ptr<const std::string>, std::string_view type);
    // application/problem+json (RFC 9457).
    void problem(int status, std::string_view detail);
    // 301, 302, 303, 307 or 308. The location is sent as it is.
    void redirect(std::string_view location, int status = 302);

    // A body in pieces, for coroutines: sends one and waits until it is on its way, while the peer is slow. The view
    // must be good until then. The first one, which may be empty, sends the head, with which status, fields and the
    // kind of the body are settled: to change them afterwards throws std::logic_error. Chunked unless content_length()
    // was said; to HTTP/1.0 clients until the connection closes; not sent where there is no body. The handler's return
    // is the end of it. A handler that throws, or returns before it has sent what it announced, cuts the connection, so
    // that the peer does not take what it got for the whole.
    //
    // Errors, never thrown: disconnected, busy, too_long.
    //
    // g++ 12 miscompiles a co_await that is a condition by itself: if (co_await a.write(x)) may crash, also with Asio
    // alone, and while (more() && !co_await a.write(x)) may send one piece too many. Give the error a name:
    //     if (const error_code failed = co_await a.write(x)) co_return;
    awaitable<error_code> write(std::string_view);
    // The length of a body in pieces, if it is known.
    response& content_length(std::uint64_t bytes);
    // A field behind the last chunk (RFC 9110 6.5): for chunked bodies, else it is not sent.
    void trailer(std::string_view name, std::string_view value);
    // Sends an event to a browser's EventSource (HTML Standard, 9.2) as write() sends a piece: waits, and returns its
    // errors. Copied at once: nothing of it must outlive the call. If it sends the head, that has Content-Type
    // text/event-stream and Cache-Control no-store, unless the handler has set these fields. An empty one, event({}),
    // reaches no listener: sent now and then it keeps proxies from closing a connection that is quiet, and finds out
    // that the peer has left. When a browser connects again, the field Last-Event-ID of its request is the id of the
    // last event it got. A deadline of the route (route_options::deadline) ends a stream, too.
    //
    // Throws std::invalid_argument, at the call, if type or id have CR, LF or NUL in them, or if retry is negative.
    awaitable<error_code> event(const sse&);
    // Sends an interim response (RFC 9110 15.2) with the fields set so far, which stay set: 103 with Link, for example.
    // HTTP/1.0 clients are spared it. Errors: disconnected, busy, head_sent. Throws std::invalid_argument unless the
    // status is 100 or 102 to 199.
    awaitable<error_code> interim(int status);

    // The answer comes later: the handler may return without one. The request's views end with the handler. Once, and
    // not in a blocking handler, else throws std::logic_error. Over limits::suspended_exchanges it throws something
    // that, uncaught, answers 503 with Retry-After.
    responder defer();

private:
    friend class detail::context;
    friend struct detail::lender;
    explicit response(detail::context& x) noexcept : x_(x) {}

    detail::context& x_;
};

} // namespace fastserve
