// What the workers of a server serve: its routes and handlers.
//
// Thread safety: the overridden calls are made by workers, several at once (net/service.hpp). Everything they write is
// either the context they were given, or per worker, or atomic.
#pragma once

#include "context.hpp"
#include "offload_pool.hpp"
#include "route_table.hpp"

#include <fastserve/http/machine.hpp>
#include <fastserve/net/service.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>
#include <fastserve/router.hpp>
#include <fastserve/server.hpp>
#include <fastserve/worker.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::detail {

class application final : public net::service, private http::refusal_writer {
public:
    using fill = std::function<void(fastserve::response&)>;

    application(const options&, route_table&);

    // Once, before the workers start.
    std::error_code open(unsigned workers, const std::function<net::worker&(unsigned)>& at);

    net::exchange* acquire(net::worker&) noexcept override;
    void release(net::worker&, net::exchange&) noexcept override;
    http::decision route(net::worker&, net::exchange&) noexcept override;
    bool handle(net::worker&, net::exchange&) noexcept override;
    void body_ready(net::worker&, net::exchange&) noexcept override;
    void written(net::worker&, net::exchange&) noexcept override;
    void cancel(net::worker&, net::exchange&) noexcept override;
    void peer_finished(net::worker&, net::exchange&) noexcept override {} // request::peer_finished() looks itself
    void idle(net::worker&) noexcept override;
    http::refusal_writer* refusals() noexcept override { return this; }

    std::size_t workers() const noexcept { return places_.size(); }
    // The answer is an error that is not a handler's: in the words of on_error(), or its reason as text.
    void refuse(context&, int status, const std::exception_ptr& thrown = nullptr) noexcept;
    // The same for a 404 or 405 behind middleware, which keeps what that has set: status and Allow are there already.
    void refuse_unrouted(context&);
    // A responder's answer has arrived. Without a fill it was destroyed unanswered.
    void complete(net::worker&, context&, const fill&) noexcept;
    // On the thread of the handler: it has thrown, or, for a plain one, what stands in front of it.
    void handler_failed(context&, const std::exception_ptr&) noexcept;
    // The answer is complete: runs the hooks of its route, unless it is on its way already, or nobody waits for it.
    void settle(context&) noexcept;

    // *Any thread*: whether one more handler may be left unfinished.
    bool may_suspend() const noexcept {
        return suspended_.load(std::memory_order_relaxed) < options_.limits.suspended_exchanges;
    }

    // On the loop's thread, or after it: whether a coroutine has not ended.
    bool coroutines_left() const noexcept;
    // When no loop runs any more: coroutines that have not ended may now be destroyed without that being their end.
    void let_go() noexcept { let_go_ = true; }
    // After the workers, the offload pool and the loops have ended: takes back what handlers kept that never did.
    void close() noexcept;

    // *Any thread*: whose handler keeps a worker now; null: nobody's.
    const detail::route* running_on(unsigned worker) const noexcept {
        return places_[worker]->running.load(std::memory_order_relaxed);
    }
    const fastserve::options& settings() const noexcept { return options_; }
    offload_pool& offload() noexcept { return offload_; }
    pool::pool_stats exchange_stats() const noexcept { return contexts_.stats(); }
    void log(log_level, std::string_view) const noexcept;

private:
    struct ending;
    // A worker's own.
    struct place {
        fastserve::worker face;
        pool::local_cache<context> spare;
        context* suspended = nullptr; // all whose handlers have not finished
        std::atomic<const detail::route*> running{nullptr};
    };

    bool run_plain(context&) noexcept;
    bool run_coroutine(net::worker&, context&) noexcept;
    bool run_blocking(net::worker&, context&) noexcept;
    void coroutine_ended(net::worker&, context&, const std::exception_ptr&) noexcept;
    bool enter(context&) noexcept;
    void leave(context&) noexcept;
    void suspend(net::worker&, context&) noexcept;
    void resume(context&) noexcept;
    void wake(net::worker&, context&) noexcept;
    void finish(net::worker&, context&) noexcept;
    void fail(context&, const std::exception_ptr&) noexcept;
    void log_failure(std::string_view what, std::string_view of, const std::exception_ptr&) const noexcept;
    bool word_refusal(const http::exchange& refused, http::exchange& page, int status) noexcept override;
    // Into a response without a body.
    void answer_error(context&, const error_info&) noexcept;
    void make_page(context&, const error_page&, const error_info&) noexcept;

    const options& options_;
    route_table& routes_;
    offload_pool offload_;
    pool::object_pool<context> contexts_;
    std::vector<std::unique_ptr<place>> places_;
    bool let_go_ = false;
    alignas(64) std::atomic<std::size_t> suspended_{0};
};

} // namespace fastserve::detail
