// Collects routes, finds what conflicts, and makes the frozen table of <fastserve/detail/route_tree.hpp>.
//
// *Thread safety.* A builder belongs to one thread at a time. The tables it has made are independent of it.
#pragma once

#include <fastserve/detail/route_pattern.hpp>
#include <fastserve/detail/route_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::detail {

// What became of one registration. `detail` is a sentence for the developer that names the pattern, and with
// duplicate_route the other one, too.
struct registration {
    std::error_code error;
    std::string detail;
    // With duplicate_route: the number of the route that is there already.
    std::uint32_t other{};

    explicit operator bool() const noexcept { return !error; }
};

class route_tree_builder {
public:
    route_tree_builder();

    // Adds a route for `method` (any_method: for all that have no route of their own). `id` is what find() will return;
    // it means nothing here. Two patterns that differ only in the names of their parameters are the same place, where
    // each route keeps its own names; one method twice at one place is duplicate_route. After an error nothing has
    // changed. Throws only std::bad_alloc.
    registration add(method_index method, std::string_view pattern, std::uint32_t id);

    // The table of all routes so far. The builder can go on afterwards.
    route_tree build() const;

    std::size_t route_count() const noexcept { return route_count_; }

private:
    struct route {
        method_index method;
        std::uint32_t id;
        std::string pattern; // as it was registered
        std::vector<std::string> names;
    };
    struct leaf {
        bool tail;
        std::vector<std::uint8_t> depths;
        std::vector<route> routes;
    };
    struct node {
        std::map<std::string, std::uint32_t, std::less<>> literals;
        std::uint32_t parameter{}, end{}, tail{};
    };

    std::uint32_t leaf_for(const route_pattern& pattern);
    std::uint32_t child_for(std::uint32_t parent, const pattern_segment& segment);
    std::uint32_t worst_steps(std::uint32_t at) const;
    static void add_leaf(route_tree& tree, const leaf& from);
    static std::uint32_t add_text(route_tree& tree, std::string_view text);

    std::vector<node> nodes_;
    std::vector<leaf> leaves_;
    std::size_t route_count_{};
    std::uint32_t deepest_{};
};

} // namespace fastserve::detail
