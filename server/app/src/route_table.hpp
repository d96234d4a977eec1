// The routes of a server: the tree of patterns, and what each pattern's number stands for.
#pragma once

#include "chain.hpp"
#include "route_scope.hpp"

#include <fastserve/detail/handler.hpp>
#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>
#include <fastserve/http/exchange.hpp>
#include <fastserve/http/limits.hpp>
#include <fastserve/http/verb.hpp>
#include <fastserve/router.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::detail {

struct route {
    // For every request.
    std::unique_ptr<detail::handler> handler; // with what stands in front of it
    http::decision decision;                  // about each of its requests, once the table is frozen
    unsigned max_in_flight = 0;
    // Requests in its handler, on all workers; counted only where there is a limit.
    mutable std::atomic<unsigned> in_flight{0};

    middleware_list after; // hooks, in the order of their run
    std::string name;      // or the pattern
    bool borrows = false;  // needs head and body no longer than it runs
    bool streamed = false;
    std::optional<std::size_t> max_body;
    std::optional<std::chrono::milliseconds> deadline;
};

// How errors are worded that are not a handler's.
struct error_page {
    std::function<void(const error_info&, response&)> handler;
    route as_route; // where it runs for a request that has none, and what it is called
};

// Thread safety: filled by one thread, then frozen; const afterwards.
class route_table {
public:
    route_table();
    route_table(const route_table&) = delete;
    route_table& operator=(const route_table&) = delete;
    ~route_table();

    void add(std::optional<http::verb>, std::string_view pattern, std::unique_ptr<handler>, const route_options&,
             const middleware_list& used = {});
    void set_not_found(std::unique_ptr<handler>);
    void set_on_error(std::function<void(const error_info&, response&)>);
    // The router's own scope, and a group's; they stay where they are.
    route_scope& root() noexcept { return *scopes_.front(); }
    route_scope& group(const route_scope& around, std::string_view prefix, const route_options& defaults);
    void expect_open() const; // throws std::logic_error
    // With the limits of the server, which count where a route has none of its own.
    void freeze(const http::limits&);

    route_match find(http::verb method, std::string_view path, route_params& params) const noexcept {
        return tree_.find(static_cast<method_index>(method), path, params);
    }
    const route& at(std::uint32_t number) const noexcept { return *routes_[number]; }
    // What runs where no route matches, and where none has the method. Null: the answer that is built in.
    const route* not_found() const noexcept { return not_found_.get(); }
    const route* other_method() const noexcept { return other_method_.get(); }
    // Null: the built-in pages.
    const error_page* on_error() const noexcept { return on_error_.get(); }
    std::size_t size() const noexcept { return routes_.size(); }

private:
    static void decide(route&, const http::limits&);

    route_tree_builder builder_;
    route_tree tree_;
    std::vector<std::unique_ptr<route>> routes_;
    std::unique_ptr<handler> for_not_found_; // until it is frozen
    std::unique_ptr<route> not_found_;
    std::unique_ptr<route> other_method_;
    std::vector<std::unique_ptr<route_scope>> scopes_;
    std::unique_ptr<error_page> on_error_;
    bool frozen_ = false;
};

} // namespace fastserve::detail
