#include <fastserve/router.hpp>

#include "application.hpp"
#include "route_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace fastserve {

namespace detail {

namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};
// Puts a handler into its route, among what was used.
void compose(route& r, const middleware_list& used, std::unique_ptr<handler> h) {
    middleware_list before;
    for (const auto& m : used) (m->of == middleware::kind::after ? r.after : before).push_back(m);
    std::reverse(r.after.begin(), r.after.end());
    // A plain handler has nothing of its own behind it: what runs the hooks is what stands in front of it.
    if (!before.empty() || (!r.after.empty() && h->kind == handler_kind::plain))
        h = std::make_unique<chain>(std::move(before), std::move(h));
    r.borrows = h->kind == handler_kind::plain &&
                std::none_of(r.after.begin(), r.after.end(), [](const auto& m) { return m->reads_request; });
    r.handler = std::move(h);
}

std::unique_ptr<route> without_pattern(std::string_view name, const middleware_list& used, std::unique_ptr<handler> h) {
    auto r = std::make_unique<route>();
    r->name = name;
    compose(*r, used, std::move(h));
    return r;
}

// The answer that is built in, where its status is set already.
std::unique_ptr<handler> built_in() {
    return make_handler([](request&, response& a) {
        context& x = context::of(a);
        if (a.status() != 204) x.service->refuse_unrouted(x);
    });
}

} // namespace

route_table::route_table() {
    scopes_.push_back(std::make_unique<route_scope>(*this));
}
route_table::~route_table() = default;

void route_table::expect_open() const {
    if (frozen_) throw std::logic_error("fastserve: routes are registered before start()");
}

void route_table::add(std::optional<http::verb> method, std::string_view pattern, std::unique_ptr<handler> h,
                      const route_options& o, const middleware_list& used) {
    expect_open();
    const bool streamed = o.body == body::streamed;
    if (streamed && h->kind != handler_kind::coroutine)
        throw std::invalid_argument("fastserve: " + std::string(pattern) +
                                    ": a streamed body needs a handler that is a coroutine");
    auto r = std::make_unique<route>();
    compose(*r, used, std::move(h));
    r->name = o.name.empty() ? pattern : o.name;
    r->streamed = streamed;
    r->max_body = o.max_body;
    r->deadline = o.deadline;
    r->max_in_flight = o.max_in_flight.value_or(0);
    const auto number = static_cast<std::uint32_t>(routes_.size());
    const auto index = method ? static_cast<method_index>(*method) : any_method;
    const registration done = builder_.add(index, pattern, number);
    if (!done) throw std::invalid_argument("fastserve: " + done.detail);
    routes_.push_back(std::move(r));
}

void route_table::set_not_found(std::unique_ptr<handler> h) {
    expect_open();
    for_not_found_ = std::move(h);
}

void route_table::set_on_error(std::function<void(const error_info&, response&)> h) {
    expect_open();
    if (!h) throw std::invalid_argument("fastserve: on_error() needs a handler");
    on_error_ = std::make_unique<error_page>();
    on_error_->handler = std::move(h);
    on_error_->as_route.handler = make_handler([] {});
    on_error_->as_route.name = "on_error";
}

route_scope& route_table::group(const route_scope& around, std::string_view prefix, const route_options& defaults) {
    expect_open();
    scopes_.push_back(std::make_unique<route_scope>(around, prefix, defaults));
    return *scopes_.back();
}

void route_table::freeze(const http::limits& l) {
    if (std::exchange(frozen_, true)) return;
    tree_ = builder_.build();
    const middleware_list used = root().used();
    if (!used.empty()) other_method_ = without_pattern("other_method", used, built_in());
    if (!used.empty() && !for_not_found_) for_not_found_ = built_in();
    if (for_not_found_) not_found_ = without_pattern("not_found", used, std::move(for_not_found_));
    for (const auto& r : routes_) decide(*r, l);
    if (not_found_) decide(*not_found_, l);
    if (other_method_) decide(*other_method_, l);
}

// What does not depend on the request is settled once.
void route_table::decide(route& r, const http::limits& l) {
    r.decision = {.plain = r.borrows,
                  .streamed = r.streamed,
                  .body_bytes = r.max_body ? *r.max_body : r.streamed ? no_limit : l.body_bytes,
                  .handler_timeout = r.deadline ? *r.deadline : l.handler_timeout};
}

std::shared_ptr<route_scope> scope_key::scope() const {
    if (auto s = scope_.lock()) return s;
    throw std::logic_error("fastserve: the server of this group has ended");
}

void scope_key::add(std::optional<http::verb> method, std::string_view pattern, std::unique_ptr<handler> h,
                    const route_options& o) const {
    scope()->add(method, pattern, std::move(h), o);
}

void scope_key::add_middleware(std::unique_ptr<middleware> m) const {
    scope()->use(std::move(m));
}

std::weak_ptr<route_scope> scope_key::inner(std::string_view prefix, const route_options& defaults) const {
    const auto around = scope();
    return std::shared_ptr<route_scope>(around, &around->inner(prefix, defaults));
}

} // namespace detail

router::router() : router(std::make_shared<detail::route_table>()) {}
// A key to a scope is one to its table, which owns it.
router::router(std::shared_ptr<detail::route_table> t)
    : registering(std::shared_ptr<detail::route_scope>(t, &t->root())), routes_(std::move(t)) {}
router::~router() = default;

router& router::add_not_found(std::unique_ptr<detail::handler> h) {
    routes_->set_not_found(std::move(h));
    return *this;
}

router& router::on_error(std::function<void(const error_info&, response&)> h) {
    routes_->set_on_error(std::move(h));
    return *this;
}

} // namespace fastserve
