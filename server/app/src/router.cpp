#include <fastserve/router.hpp>

#include "route_table.hpp"

#include <stdexcept>
#include <utility>

namespace fastserve {

namespace detail {

namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

} // namespace

void route_table::add(std::optional<http::verb> method, std::string_view pattern, std::unique_ptr<handler> h,
                      const route_options& o) {
    if (frozen_) throw std::logic_error("fastserve: routes are registered before start()");
    if (o.body == body::streamed && h->kind != handler_kind::coroutine)
        throw std::invalid_argument("fastserve: " + std::string(pattern) +
                                    ": a streamed body needs a handler that is a coroutine");
    const auto number = static_cast<std::uint32_t>(routes_.size());
    const auto index = method ? static_cast<method_index>(*method) : any_method;
    const registration done = builder_.add(index, pattern, number);
    if (!done) throw std::invalid_argument("fastserve: " + done.detail);
    auto r = std::make_unique<route>();
    r->handler = std::move(h);
    r->name = o.name.empty() ? pattern : o.name;
    r->streamed = o.body == body::streamed;
    r->max_body = o.max_body;
    r->deadline = o.deadline;
    r->max_in_flight = o.max_in_flight;
    routes_.push_back(std::move(r));
}

void route_table::set_not_found(std::unique_ptr<handler> h) {
    if (frozen_) throw std::logic_error("fastserve: routes are registered before start()");
    not_found_ = std::make_unique<route>();
    not_found_->handler = std::move(h);
    not_found_->name = "not_found";
}

void route_table::freeze(const http::limits& l) {
    if (std::exchange(frozen_, true)) return;
    tree_ = builder_.build();
    for (const auto& r : routes_) decide(*r, l);
    if (not_found_) decide(*not_found_, l);
}

// What does not depend on the request is settled once.
void route_table::decide(route& r, const http::limits& l) {
    r.decision = {.plain = r.handler->kind == handler_kind::plain,
                  .streamed = r.streamed,
                  .body_bytes = r.max_body ? *r.max_body : r.streamed ? no_limit : l.body_bytes,
                  .handler_timeout = r.deadline ? *r.deadline : l.handler_timeout};
}

} // namespace detail

router::router() : routes_(std::make_unique<detail::route_table>()) {}
router::~router() = default;

router& router::add(std::optional<http::verb> method, std::string_view pattern, std::unique_ptr<detail::handler> h,
                    const route_options& o) {
    routes_->add(method, pattern, std::move(h), o);
    return *this;
}

router& router::add_not_found(std::unique_ptr<detail::handler> h) {
    routes_->set_not_found(std::move(h));
    return *this;
}

} // namespace fastserve
