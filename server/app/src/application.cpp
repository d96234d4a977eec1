#include "application.hpp"

#include "offload_service.hpp"

#include <fastserve/http/percent.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace fastserve::detail {

namespace {

unsigned offload_threads(unsigned wanted) noexcept {
    return wanted != 0 ? wanted : 8 * std::max(1u, std::thread::hardware_concurrency());
}

void set_allow(http::response& r, std::uint64_t methods) {
    std::string allow;
    for (unsigned m = 1; m <= last_method; ++m) {
        if (!(methods & method_bit(static_cast<method_index>(m)))) continue;
        const std::string_view name = http::to_string(static_cast<http::verb>(m));
        if (name.empty()) continue;
        if (!allow.empty()) allow += ", ";
        allow += name;
    }
    r.set("Allow", allow);
}

// What a server says of itself as a whole (OPTIONS *, RFC 9110 9.3.7).
constexpr std::uint64_t common_methods = method_bit(method_get) | method_bit(method_head) | method_bit(method_options) |
                                         method_bit(static_cast<method_index>(http::verb::post)) |
                                         method_bit(static_cast<method_index>(http::verb::put)) |
                                         method_bit(static_cast<method_index>(http::verb::patch)) |
                                         method_bit(static_cast<method_index>(http::verb::delete_));

} // namespace

application::application(const options& o, route_table& r)
    : options_(o), routes_(r), offload_(offload_threads(o.blocking_threads), o.blocking_queue) {}

std::error_code application::open(unsigned workers, const std::function<net::worker&(unsigned)>& at) {
    // Suspended ones, one in each worker's hands, and those of heads that are still arriving: one a connection at most.
    const auto most = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(options_.limits.suspended_exchanges + options_.limits.connections, (1u << 24) - 1));
    const auto make = [this](void* where, std::uint32_t) {
        auto* const x = ::new (where) context(options_.limits);
        x->service = this;
    };
    const auto capacity = std::min<std::uint32_t>(contexts_.capacity_for(most, workers), (1u << 24) - 1);
    if (const auto e = contexts_.open({.capacity = capacity, .construct = make})) return e;
    for (unsigned i = 0; i < workers; ++i) {
        net::worker& w = at(i);
        offload_service::install(w.context(), offload_);
        const auto handed_out = [](void* of) noexcept { static_cast<net::worker*>(of)->need_loop(); };
        places_.push_back(
            std::unique_ptr<place>(new place{fastserve::worker(i, w.context().get_executor(), handed_out, &w),
                                             pool::local_cache<context>(contexts_)}));
    }
    return {};
}

void application::log(log_level level, std::string_view message) const noexcept {
    if (!options_.log) return;
    try {
        options_.log({level, message});
    } catch (...) {
    }
}

net::exchange* application::acquire(net::worker& w) noexcept {
    place& p = *places_[w.index()];
    context* const x = p.spare.take();
    if (!x) return nullptr;
    x->on = &w;
    x->on_worker = &p.face;
    return x;
}

void application::release(net::worker& w, net::exchange& e) noexcept {
    places_[w.index()]->spare.put(&as_context(e));
}

void application::idle(net::worker& w) noexcept {
    places_[w.index()]->spare.flush();
    contexts_.trim();
    if (options_.idle) options_.idle();
}

// ---- before the body
// ---------------------------------------------------------------------------------------------------

http::decision application::route(net::worker&, net::exchange& e) noexcept {
    context& x = as_context(e);
    x.begin();
    const http::head& h = x.head;
    try {
        if (h.secure_target) [[unlikely]] { // meant for a connection that is encrypted (RFC 9110 7.4)
            refuse(x, 421);
            return {.answered = true};
        }
        std::string_view path = h.path();
        if (h.has_percent && path.find('%') != std::string_view::npos) [[unlikely]] {
            const auto normal = http::normal_path(path, x.allocate(path.size() + route_tree::path_padding));
            if (!normal) {
                refuse(x, 400);
                return {.answered = true};
            }
            path = x.normal = *normal;
        }
        const route_match found = routes_.find(h.method, path, x.params);
        const detail::route* r = nullptr;
        switch (found.kind) {
        case match_kind::found:
            r = &routes_.at(found.route);
            break;
        case match_kind::method_not_allowed:
            r = routes_.other_method();
            if (h.method == http::verb::options) {
                x.response.status(204);
            } else if (r) {
                x.response.status(405);
            } else {
                refuse(x, 405);
            }
            set_allow(x.response, found.allowed);
            if (!r) return {.answered = true};
            break;
        case match_kind::not_found:
            if (path == "*") { // of OPTIONS alone: as an asterisk, or as a whole URI without a path
                x.response.status(204);
                set_allow(x.response, common_methods);
                return {.answered = true};
            }
            if (h.method == http::verb::connect || h.method == http::verb::trace) {
                refuse(x, 405);
                set_allow(x.response, common_methods);
                return {.answered = true};
            }
            r = routes_.not_found();
            if (!r) {
                refuse(x, 404);
                return {.answered = true};
            }
            x.response.status(404);
            break;
        }
        x.route_of = r;
        return r->decision;
    } catch (...) {
        fail(x, std::current_exception());
        return {.answered = true};
    }
}

} // namespace fastserve::detail
