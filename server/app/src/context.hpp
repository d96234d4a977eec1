// One request in work, as the application layer keeps it.
#pragma once

#include "deferral.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/error.hpp>
#include <fastserve/net/exchange.hpp>
#include <fastserve/net/worker.hpp>
#include <fastserve/request.hpp>
#include <fastserve/response.hpp>
#include <fastserve/worker.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>
#include <utility>

namespace fastserve::detail {

struct route;
class application;
class multipart_reader;
class pending;

// What of a context a handler may use, in debug builds; in others nobody asks.
class usable_parts {
public:
    enum part : unsigned { none = 0, request = 1, response = 2, both = 3 };

#ifdef NDEBUG
    void set(part, const route*) noexcept {}
    bool has(part) const noexcept {
        return true;
    }
    const route* last_route() const noexcept {
        return nullptr;
    }
#else
    // Relaxed: who uses a part on the wrong thread is to be told, not to be synchronised with.
    void set(part p, const route* r) noexcept {
        parts_.store(p, std::memory_order_relaxed);
        route_.store(r, std::memory_order_relaxed);
    }
    bool has(part p) const noexcept {
        return parts_.load(std::memory_order_relaxed) & p;
    }
    // The one whose handler used it last.
    const route* last_route() const noexcept {
        return route_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<part> parts_{none};
    std::atomic<const route*> route_{nullptr};
#endif
};

class context final : public net::exchange {
public:
    explicit context(const http::limits& l) : net::exchange(l) {}

    // The one that a handler answers with this.
    static context& of(fastserve::response& a) noexcept { return a.x_; }

    // Before each request: an exchange serves many without going back to its pool.
    void begin() noexcept {
        if (used) [[unlikely]]
            forget();
        route_of = nullptr;
        live = starting = completed = counted = typed = false;
    }
    // Called by the pool on release.
    void reset() noexcept {
        forget();
        net::exchange::reset();
    }

    fastserve::request asked{*this};
    fastserve::response answer{*this};

    application* service = nullptr;
    worker* on_worker = nullptr;
    const route* route_of = nullptr;
    route_params params;
    std::string_view normal;  // the path's normal form, in the arena; empty: the path is what was matched
    bool used = false;        // something below was
    bool live = false;        // its handler, not a blocking one, has not ended
    bool starting = false;    // its coroutine runs for the first time
    bool completed = false;   // ... and had returned by then
    bool counted = false;     // in its route's requests in flight
    bool typed = false;       // the handler has set Content-Type by name
    bool offloaded = false;   // a blocking handler runs, or will, and has it to itself
    bool in_hooks = false;    // what its route runs after its handler runs
    bool makes_page = false;  // the handler of on_error() fills the response
    bool body_read = false;   // request::read() was asked
    pending* waits = nullptr; // its coroutine, in read(), write() or interim()
    net::ask waits_for{};
    std::uint64_t wait_number = 0; // tells a wait from those before it, also of other requests
    usable_parts usable;

    // In the list of its worker's suspended ones.
    context* previous_suspended = nullptr;
    context* next_suspended = nullptr;

    // What `params` index.
    std::string_view matched_path() const noexcept { return normal.empty() ? head.path() : normal; }

    // Memory for what is decoded; freed with the request.
    std::pmr::memory_resource& arena() {
        used = true;
        if (!arena_) arena_.emplace(first_block_.data(), first_block_.size());
        return *arena_;
    }
    char* allocate(std::size_t size) { return static_cast<char*>(arena().allocate(size == 0 ? 1 : size, 1)); }

    boost::asio::cancellation_signal cancel;
    std::optional<std::stop_source> stopping;
    std::shared_ptr<deferral> deferred;
    std::shared_ptr<multipart_reader> parts; // once next_part() was asked
    std::exception_ptr failed;               // what a blocking handler threw, on its way to the worker

private:
    void forget() noexcept;

    std::optional<std::pmr::monotonic_buffer_resource> arena_;
    std::array<std::byte, 512> first_block_;
};

// Every exchange of an application is one.
inline context& as_context(net::exchange& e) noexcept {
    return static_cast<context&>(e);
}

// A handler has ended, and something of it goes on to use what was lent to it: names the route and ends the program.
[[noreturn]] void used_too_late(const context&, const char* what) noexcept;

inline const context& checked_request(const context& x) noexcept {
    if (!x.usable.has(usable_parts::request)) [[unlikely]]
        used_too_late(x, "request");
    return x;
}
inline context& checked_request(context& x) noexcept {
    return const_cast<context&>(checked_request(std::as_const(x)));
}
inline context& checked_response(context& x) noexcept {
    if (!x.usable.has(usable_parts::response)) [[unlikely]]
        used_too_late(x, "response");
    return x;
}

} // namespace fastserve::detail
