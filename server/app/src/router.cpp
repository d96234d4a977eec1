#include <fastserve/router.hpp>

#include "route_table.hpp"

#include <stdexcept>
#include <utility>

namespace fastserve {

namespace detail {

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

void route_table::freeze() {
    if (std::exchange(frozen_, true)) return;
    tree_ = builder_.build();
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
