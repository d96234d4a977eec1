// A thousand routes of a real API's shape, each found with its own parameters, at a cost that does not grow.
#include "../support/counted_new.hpp"
#include "../support/padded_text.hpp"
#include "code_hosting_api.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace fastserve::detail {
namespace {

using test::allocations;

constexpr std::size_t count = 1000;

test::padded_text padded(std::string_view path) {
    return test::padded_text(path, route_tree::path_padding);
}

route_tree build(const std::vector<code_hosting_api::route>& routes) {
    route_tree_builder builder;
    std::uint32_t id = 0;
    for (const auto& r : routes) {
        const registration done = builder.add(r.method, r.pattern, id++);
        EXPECT_TRUE(done) << done.detail;
    }
    return builder.build();
}

TEST(route_tree_api, a_thousand_routes_are_all_found_with_their_parameters) {
    const auto routes = code_hosting_api::routes(count);
    ASSERT_EQ(routes.size(), count);
    const route_tree tree = build(routes);
    const std::uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20; ++round) {
        for (std::uint32_t id = 0; id < routes.size(); ++id) {
            const std::string path = code_hosting_api::path_for(routes[id].pattern, random);
            route_params params;
            const route_match m = tree.find(routes[id].method, padded(path), params);
            ASSERT_EQ(m.kind, match_kind::found) << path;
            ASSERT_EQ(routes[m.route].pattern, routes[id].pattern) << path;
            ASSERT_EQ(m.route, id);
            // The pattern with the values in place of the names is the path again.
            std::string filled = routes[id].pattern;
            for (std::size_t i = 0; i < params.size(); ++i) {
                const std::string name(params.name(i));
                std::size_t at = filled.find("{" + name + "}");
                std::size_t size = name.size() + 2;
                if (at == std::string::npos) {
                    at = filled.find("{" + name + "...}");
                    size += 3;
                }
                ASSERT_NE(at, std::string::npos) << name;
                filled.replace(at, size, params.value(i, path));
            }
            ASSERT_EQ(filled, path);

            const route_match miss = tree.find(routes[id].method, padded(path + "/Nowhere/at/all/x"), params);
            if (routes[id].pattern.ends_with("...}"))
                ASSERT_EQ(miss.route, id);
            else
                ASSERT_EQ(miss.kind, match_kind::not_found) << path;
        }
    }
}

TEST(route_tree_api, steps_do_not_grow_with_the_number_of_routes) {
    const route_tree small = build(code_hosting_api::routes(10));
    const route_tree large = build(code_hosting_api::routes(count));
    EXPECT_LE(large.worst_steps(), small.worst_steps() + 4);
    route_params params;
    const test::padded_text path = padded("/repos/someone/thing/issues/7/comments");
    const route_match a = small.find(method_get, path, params);
    const route_match b = large.find(method_get, path, params);
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(b.steps, 7u) << "the root and one a segment";
}

TEST(route_tree_api, a_lookup_allocates_nothing) {
    const auto routes = code_hosting_api::routes(count);
    const route_tree tree = build(routes);
    std::mt19937_64 random(1);
    std::vector<test::padded_text> paths;
    for (const auto& r : routes) paths.push_back(padded(code_hosting_api::path_for(r.pattern, random)));
    route_params params;
    std::size_t found = 0;
    const std::uint64_t before = allocations;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const std::string_view path = paths[i];
        found += tree.find(routes[i].method, path, params).kind == match_kind::found;
        tree.find(40, path, params);
        tree.find(routes[i].method, path.substr(0, path.size() / 2), params);
    }
    EXPECT_EQ(allocations, before);
    EXPECT_GT(before, count) << "the counter counts";
    EXPECT_EQ(found, count);
}

} // namespace
} // namespace fastserve::detail
