// Where routes are registered: a router itself, or a group in it.
#pragma once

#include "chain.hpp"

#include <fastserve/detail/handler.hpp>
#include <fastserve/http/verb.hpp>
#include <fastserve/router.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fastserve::detail {

// Thread safety: one thread, before the server starts. Owned by the table it refers to, as are those around it.
class route_scope {
public:
    explicit route_scope(route_table& t) noexcept : table_(t) {}
    // Throws std::invalid_argument if `prefix` is none.
    route_scope(const route_scope& around, std::string_view prefix, const route_options& defaults);

    void add(std::optional<http::verb>, std::string_view pattern, std::unique_ptr<handler>, const route_options&) const;
    void use(std::shared_ptr<middleware>);
    // What was used here and around it, from the outside inwards.
    middleware_list used() const;
    route_scope& inner(std::string_view prefix, const route_options& defaults) const;

private:
    route_table& table_;
    const route_scope* around_ = nullptr; // null: a router itself
    std::string prefix_;                  // whole
    std::string name_;                    // whole
    route_options defaults_;              // whole; without the name, which would be a view
    middleware_list used_;
};

} // namespace fastserve::detail
