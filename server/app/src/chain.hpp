// A handler and the middleware in front of it, which stand in a route where its handler would.
//
// Thread safety: as a handler's. What is between two steps of one request lies on the stack, or in its coroutines.
#pragma once

#include <fastserve/detail/handler.hpp>
#include <fastserve/detail/middleware.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace fastserve::detail {

class context;

// Shared: one middleware is for many routes.
using middleware_list = std::vector<std::shared_ptr<middleware>>;

// Plain if all of it is; else a coroutine, also around a blocking handler.
class chain final : public handler {
public:
    // From the outside inwards; nothing that is to run after the handler.
    chain(middleware_list steps, std::unique_ptr<handler> inner);

    // Throws nothing: the route's hooks are to see the answer to what was thrown.
    void call(request&, response&) override;
    awaitable<> start(request& q, response& a) override { return run_from(0, q, a); }
    // All but the first `at` steps.
    awaitable<> run_from(std::size_t at, request&, response&);

private:
    void call_inner(request&, response&); // a plain one
    awaitable<> offload_inner(request&, response&);

    const middleware_list steps_;
    const std::unique_ptr<handler> inner_;
};

// Gives the response to what the route wants to run after its handler. Throws what that throws.
void run_hooks(context&);

} // namespace fastserve::detail
