// Random tables and paths against a matcher that is too simple to be wrong: it tries every route.
#include "../support/padded_text.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastserve::detail {
namespace {

using segments = std::vector<std::string>;
using captures = std::vector<std::pair<std::string, std::string>>;

segments split(std::string_view path) {
    segments out;
    path.remove_prefix(1);
    for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos; path.remove_prefix(slash + 1))
        out.emplace_back(path.substr(0, slash));
    out.emplace_back(path);
    return out;
}

struct reference_route {
    method_index method;
    std::uint32_t id;
    segments pattern;
    std::string rank; // one letter a segment, the preferred one lowest: l < p < t

    reference_route(method_index m, std::uint32_t i, std::string_view text) : method(m), id(i), pattern(split(text)) {
        for (const std::string& s : pattern) rank += !s.starts_with('{') ? 'l' : s.ends_with("...}") ? 't' : 'p';
    }

    bool matches(const segments& path, captures& out) const {
        out.clear();
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            if (i >= path.size()) return false;
            if (rank[i] == 't') {
                std::string rest = path[i];
                for (std::size_t j = i + 1; j < path.size(); ++j) rest.append("/").append(path[j]);
                out.emplace_back(pattern[i].substr(1, pattern[i].size() - 5), rest);
                return true;
            }
            if (rank[i] == 'p') {
                if (path[i].empty()) return false;
                out.emplace_back(pattern[i].substr(1, pattern[i].size() - 2), path[i]);
            } else if (pattern[i] != path[i]) {
                return false;
            }
        }
        return pattern.size() == path.size();
    }

    // Where it stands for `asked`: 0 exact, 1 HEAD by GET, 2 any, 3 not at all.
    int fit(method_index asked) const {
        if (method == asked) return 0;
        if (asked == method_head && method == method_get) return 1;
        return method == any_method && asked != method_trace ? 2 : 3;
    }
};

struct answer {
    match_kind kind{match_kind::not_found};
    std::uint32_t route{};
    std::uint64_t allowed{};
    captures params;
    bool operator==(const answer&) const = default;
};

answer reference(const std::vector<reference_route>& routes, method_index method, std::string_view path) {
    answer out;
    std::pair<std::string, int> best;
    captures found;
    const segments cut = split(path);
    for (const reference_route& r : routes) {
        if (!r.matches(cut, found)) continue;
        if (r.fit(method) == 3) {
            out.allowed |= r.method == any_method ? ~method_bit(method_trace) : method_bit(r.method);
            out.allowed |= method_bit(method_options);
            if (r.method == method_get) out.allowed |= method_bit(method_head);
            continue;
        }
        std::pair<std::string, int> rank(r.rank, r.fit(method));
        if (out.kind == match_kind::found && best <= rank) continue;
        best = std::move(rank);
        out.kind = match_kind::found;
        out.route = r.id;
        out.params = found;
    }
    if (out.kind == match_kind::found)
        out.allowed = 0;
    else if (out.allowed != 0)
        out.kind = match_kind::method_not_allowed;
    return out;
}

answer ask(const route_tree& tree, method_index method, std::string_view path) {
    // What stands behind the path makes no difference.
    const test::padded_text slashes(path, route_tree::path_padding), letters(path, route_tree::path_padding, "a");
    const std::string_view view = slashes;
    route_params params, same;
    const route_match m = tree.find(method, view, params), again = tree.find(method, letters, same);
    EXPECT_TRUE(m.kind == again.kind && m.route == again.route && m.steps == again.steps);
    EXPECT_EQ(params.size(), same.size());
    EXPECT_LE(m.steps, tree.worst_steps());
    answer out{m.kind, m.route, m.allowed, {}};
    for (std::size_t i = 0; i < params.size(); ++i) out.params.emplace_back(params.name(i), params.value(i, view));
    return out;
}

class source {
public:
    explicit source(std::uint64_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
    bool one_in(std::size_t n) { return below(n) == 0; }

    // Few words, so that random paths meet random patterns; lengths on both sides of the words of eight octets.
    std::string word() {
        static const std::vector<std::string> words = {"a",         "b",
                                                       "ab",        "",
                                                       "issues",    "comments",
                                                       "comment_s", "a-longer-segment",
                                                       "a-longer",  "a-longer-segment-than-two-words"};
        return words[below(words.size())];
    }
    method_index method() {
        static constexpr method_index methods[] = {method_get,   method_get, method_head, method_options,
                                                   method_trace, 0,          4,           62};
        return methods[below(std::size(methods))];
    }
    std::string pattern() {
        std::string out;
        const std::size_t size = 1 + below(6);
        for (std::size_t i = 0; i < size; ++i) {
            std::string name(1, "xyz"[below(3)]);
            name += std::to_string(i);
            out += '/';
            if (i + 1 == size && one_in(5))
                out.append("{").append(name).append("...}");
            else if (one_in(3))
                out.append("{").append(name).append("}");
            else
                out += word();
        }
        return out;
    }
    std::string path() {
        std::string out;
        const std::size_t size = 1 + below(8);
        for (std::size_t i = 0; i < size; ++i) {
            out += '/';
            out += one_in(6) ? std::string("other").append(std::to_string(below(99))) : word();
        }
        return out;
    }

private:
    std::mt19937_64 random_;
};

// The shape of a pattern: names do not tell two places apart.
std::string shape(const std::string& pattern) {
    std::string out;
    for (const std::string& s : split(pattern)) {
        const std::string_view plain = s.ends_with("...}") ? "{...}" : "{}";
        out.append("/").append(s.starts_with('{') ? plain : s);
    }
    return out;
}

void run(std::uint64_t seed) {
    source random(seed);
    route_tree_builder builder;
    std::vector<reference_route> routes;
    std::map<std::pair<std::string, method_index>, std::uint32_t> places;
    const std::size_t size = 1 + random.below(60);
    for (std::uint32_t id = 1; id <= size; ++id) {
        const std::string pattern = random.pattern();
        const method_index method = random.one_in(6) ? any_method : random.method();
        const registration r = builder.add(method, pattern, id);
        const auto [place, fresh] = places.try_emplace({shape(pattern), method}, id);
        ASSERT_EQ(static_cast<bool>(r), fresh) << "seed " << seed << ' ' << r.detail;
        if (fresh)
            routes.emplace_back(method, id, pattern);
        else
            ASSERT_EQ(r.other, place->second) << "seed " << seed;
    }
    const route_tree tree = builder.build();
    ASSERT_EQ(tree.route_count(), routes.size());
    for (int i = 0; i < 100; ++i) {
        const std::string path = random.path();
        const method_index method = random.method();
        ASSERT_EQ(ask(tree, method, path), reference(routes, method, path))
            << "seed " << seed << " method " << int{method} << " path " << path;
    }
}

TEST(route_tree_property, agrees_with_a_matcher_that_tries_every_route) {
    const std::uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    for (std::uint64_t i = 0; i < 1000; ++i) {
        run(seed + i);
        if (HasFatalFailure()) return;
    }
}

// Any octets at all: nothing to agree on but that it neither crashes nor reads outside.
TEST(route_tree_property, takes_any_octets) {
    const std::uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    source random(seed);
    for (int round = 0; round < 2000; ++round) {
        std::string pattern, path = "/";
        for (std::size_t i = random.below(40); i > 0; --i) pattern += "/{}.a%2"[random.below(8)];
        for (std::size_t i = random.below(150); i > 0; --i)
            path += random.one_in(4) ? '/' : static_cast<char>(random.below(256));
        route_tree_builder builder;
        const registration r = builder.add(method_get, pattern, 1);
        EXPECT_EQ(!r, !r.detail.empty());
        ASSERT_TRUE(builder.add(4, "/{a}/{b}", 2));
        const std::vector<reference_route> routes = {{method_index{4}, 2, "/{a}/{b}"}};
        const route_tree tree = builder.build();
        ask(tree, method_get, path);
        // The random route may match too, but then the method is another.
        const bool found = ask(tree, 4, path).kind == match_kind::found;
        ASSERT_EQ(found, reference(routes, 4, path).kind == match_kind::found) << "seed " << seed;
    }
}

} // namespace
} // namespace fastserve::detail
