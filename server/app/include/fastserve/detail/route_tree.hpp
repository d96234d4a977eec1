// The table that a router is built on: from a method and a path to the number of a route, and where its parameters lie.
//
// It knows no handlers and no requests. Routes are collected, and conflicts found, by the builder in
// <fastserve/detail/route_tree_builder.hpp>; what patterns mean is said in <fastserve/detail/route_pattern.hpp>.
//
// *Which route wins.* Patterns are compared segment by segment from the left; at the first difference a literal goes
// before {name}, and {name} before {name...}. A pattern that matches the path but has no route for the method does not
// stand in the way of one that has: with POST /users/me and GET /users/{id}, "GET /users/me" finds the second. So no
// order of registration matters, and no route is hidden by another. Within one pattern the route of the exact method
// goes before the one for any method, which does not mean TRACE; HEAD uses the pattern's GET route when there is no
// HEAD route.
//
// *What a lookup costs.* The path is split once; then each segment is one probe of one hash table for all nodes, of at
// most `max_probes` slots, which building guarantees. Where a segment could be a literal as well as a parameter the
// lookup may have to come back, but it enters no node twice, since where it is in the path follows from the node:
// worst_steps(), known when the table is built, bounds the work for every path.
//
// *Thread safety.* A route_tree never changes once built: any number of threads may use its const members.
#pragma once

#include <fastserve/detail/route_pattern.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace fastserve::detail {

// A method's number: its value in boost::beast::http::verb, 0 to 62 (a test holds the four below to it).
using method_index = std::uint8_t;
inline constexpr method_index method_get = 2;
inline constexpr method_index method_head = 3;
inline constexpr method_index method_options = 7;
inline constexpr method_index method_trace = 8;
inline constexpr method_index last_method = 62;
inline constexpr method_index any_method = 63; // for registration only

constexpr std::uint64_t method_bit(method_index m) noexcept {
    return std::uint64_t{1} << m;
}

enum class match_kind : std::uint8_t { not_found, method_not_allowed, found };

struct route_match {
    match_kind kind{match_kind::not_found};
    // How often a node was looked at, for tests and for judging a table.
    std::uint32_t steps{};
    // With found: the number that was registered.
    std::uint32_t route{};
    // With method_not_allowed: one bit (method_bit) for each method that some pattern matching the path has a route
    // for, HEAD where there is GET, and OPTIONS. What to answer is the caller's: 405, or for OPTIONS 204, with Allow.
    std::uint64_t allowed{};
};

// The parameters of a match, in the order of the pattern. Values are offsets into the path that was given to find(), so
// they stay right when its bytes move; they are still encoded (percent_decode). Names are views into the route_tree and
// good as long as it lives. Fixed size, meant to be reused.
class route_params {
public:
    std::size_t size() const noexcept { return names_.size(); }
    std::string_view name(std::size_t i) const noexcept { return names_[i]; }
    std::uint32_t offset(std::size_t i) const noexcept { return extents_[i].offset; }
    std::uint32_t length(std::size_t i) const noexcept { return extents_[i].size; }

    // `path` is the one that was given to find(), or the same bytes elsewhere.
    std::string_view value(std::size_t i, std::string_view path) const noexcept {
        return {path.data() + extents_[i].offset, extents_[i].size};
    }
    std::optional<std::string_view> find(std::string_view wanted, std::string_view path) const noexcept {
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (names_[i] == wanted) return value(i, path);
        return std::nullopt;
    }
    void clear() noexcept { names_ = {}; }

private:
    friend class route_tree;
    struct extent {
        std::uint32_t offset;
        std::uint32_t size;
    };
    std::span<const std::string_view> names_;
    std::array<extent, max_route_parameters> extents_; // only the first size() are set
};

// The frozen table. An empty one (default-constructed or moved from) finds nothing.
class route_tree {
public:
    static constexpr std::size_t max_probes = 8;
    // How many octets behind a path may be read, whatever they are: looked at in whole blocks, a path costs no branch
    // on its length.
    static constexpr std::size_t path_padding = 64;

    route_tree() = default;
    route_tree(route_tree&&) noexcept = default;
    route_tree& operator=(route_tree&&) noexcept = default;

    // Looks up `path`, which should be in the form that normal_path() gives: octets are compared as they are.
    // [path.data(), path.data() + path.size() + path_padding) is readable. Fills `params` when found and empties it
    // otherwise. A method above last_method finds routes for any method only. A path that does not start with '/' (the
    // "*" of OPTIONS) is not found. Allocates nothing.
    route_match find(method_index method, std::string_view path, route_params& params) const noexcept;

    std::size_t route_count() const noexcept { return route_count_; }
    // No path makes find() take more steps.
    std::uint32_t worst_steps() const noexcept { return worst_steps_; }

private:
    friend class route_tree_builder;

    // One pattern prefix. It holds the literal that leads to it, so that a probe that hits loads what comes next, too.
    struct node {
        std::uint64_t low;  // the literal's octets 0 to 7, zero beyond its end
        std::uint64_t high; // octets 8 to 15
        std::uint32_t size; // of the literal
        std::uint32_t text; // where the whole literal lies in text_
        std::uint32_t parent;
        std::uint32_t parameter; // the child for {name}; 0: none, as the root is nobody's child
        std::uint32_t end;       // the leaf for a path that ends here; 0: none
        std::uint32_t tail;      // the leaf for {name...}; 0: none
        bool has_literals;
    };
    // One pattern. Leaf 0 belongs to none and allows nothing.
    struct leaf {
        std::uint64_t methods; // every bit but TRACE's when there is a route for any method
        std::uint32_t first;   // into routes_: HEAD filled in, any_method last
        std::uint8_t parameters;
        bool tail;
        std::array<std::uint8_t, max_route_parameters> depths; // the segment that each parameter is
    };
    struct route {
        std::uint32_t id;
        std::uint32_t names; // into names_
        method_index method;
    };
    struct segmented;
    struct segment;

    std::uint32_t literal_child(std::uint32_t parent, const segment& s) const noexcept;
    std::uint32_t accept(const leaf& l, method_index method, const segmented& path,
                         route_params& params) const noexcept;
    void index(std::span<const std::uint32_t> literals);
    bool place(std::uint32_t id);

    std::vector<node> nodes_;
    std::vector<std::uint32_t> slots_; // literal nodes by hash, open addressing, a power of two; 0: empty
    std::vector<leaf> leaves_;
    std::vector<route> routes_;
    std::vector<std::string_view> names_; // into text_
    std::vector<char> text_;              // not a string: its bytes must not move with the table
    std::uint64_t seed_{};
    unsigned shift_{63};
    std::uint32_t deepest_{}; // segments of the longest pattern
    std::uint32_t worst_steps_{};
    std::size_t route_count_{};
};

} // namespace fastserve::detail
