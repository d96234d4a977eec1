// One request in work, as the application layer keeps it.
#pragma once

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/net/exchange.hpp>
#include <fastserve/net/worker.hpp>
#include <fastserve/request.hpp>
#include <fastserve/response.hpp>
#include <fastserve/worker.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>

namespace fastserve::detail {

struct route;
class application;
class context;

// What a responder and its request share. The state decides who answers: exactly one change away from `open` wins.
struct deferral {
    enum class state : int { open, answered, gone };

    explicit deferral(std::shared_ptr<net::mailbox> m, context& x) noexcept : mail(std::move(m)), target(&x) {}

    std::atomic<state> now{state::open};
    const std::shared_ptr<net::mailbox> mail;
    // Touched on the worker's thread alone, and only while the state is not `gone`.
    context* const target;

    // True for the one who ends it.
    bool end(state how) noexcept {
        state expected = state::open;
        return now.compare_exchange_strong(expected, how, std::memory_order_acq_rel, std::memory_order_acquire);
    }
};

class context final : public net::exchange {
public:
    explicit context(const http::limits& l) : net::exchange(l) {}

    // Before each request: an exchange serves many without going back to its pool.
    void begin() noexcept {
        if (used) [[unlikely]]
            forget();
        route_of = nullptr;
        live = starting = completed = counted = false;
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
    std::string_view normal; // the path's normal form, in the arena; empty: the path is what was matched
    bool used = false;       // something below was
    bool live = false;       // its handler has not ended
    bool starting = false;   // its coroutine runs for the first time
    bool completed = false;  // ... and had returned by then
    bool counted = false;    // in its route's requests in flight

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

private:
    void forget() noexcept;

    std::optional<std::pmr::monotonic_buffer_resource> arena_;
    std::array<std::byte, 512> first_block_;
};

} // namespace fastserve::detail
