// One lookup in a small and in a large table, by what the path turns out to be.
//
// Every path is checked against the route it was made from before anything is timed, and 4,096 of them rotate: a branch
// predictor learns a few dozen by heart, and then shows its memory and not the router.
#include "../tests/app/code_hosting_api.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>
#include <fastserve/http/percent.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using fastserve::detail::match_kind;
using fastserve::detail::method_index;
using fastserve::detail::route_tree;

enum class kind { statics, parameters, misses, other_method, encoded };

struct request {
    method_index method;
    std::string text; // the path, and the octets that may be read behind it

    std::string_view path() const { return std::string_view(text).substr(0, text.size() - route_tree::path_padding); }
};

struct workload {
    fastserve::detail::route_tree tree;
    std::vector<request> requests;
    bool good = true;
};

constexpr std::size_t variants = 4096;
constexpr method_index no_such_method = 60;

// A table of `route_count` routes, asked for paths of its first `asked_for`.
workload make(std::size_t route_count, std::size_t asked_for, kind what) {
    workload out;
    std::mt19937_64 random(20'240'601);
    fastserve::detail::route_tree_builder builder;
    const auto routes = code_hosting_api::routes(route_count);
    for (std::uint32_t id = 0; id < routes.size(); ++id)
        out.good = out.good && builder.add(routes[id].method, routes[id].pattern, id);
    out.good = out.good && builder.route_count() == route_count;
    out.tree = builder.build();

    while (out.requests.size() < variants) {
        const auto id = static_cast<std::uint32_t>(random() % asked_for);
        const auto& route = routes[id];
        if (route.is_static() != (what == kind::statics)) continue;
        if (what == kind::misses && route.pattern.ends_with("...}")) continue;
        std::string path = code_hosting_api::path_for(route.pattern, random);
        if (what == kind::misses) path += "/Nothing/here";
        const std::string plain = path + std::string(route_tree::path_padding, '/');
        if (what == kind::encoded) {
            const auto last = static_cast<unsigned char>(path.back());
            path.pop_back();
            path += {'%', fastserve::http::hex_digits[last >> 4], fastserve::http::hex_digits[last & 15]};
        }
        const request r{what == kind::other_method ? no_such_method : route.method,
                        path + std::string(route_tree::path_padding, '/')};
        std::string scratch(r.text.size(), '\0');
        const auto normal = fastserve::http::normal_path(r.path(), scratch.data());
        out.good = out.good && normal && plain.starts_with(*normal) &&
                   normal->size() + route_tree::path_padding == plain.size();
        fastserve::detail::route_params params;
        const auto m = out.tree.find(r.method, std::string_view(plain).substr(0, normal->size()), params);
        switch (what) {
        case kind::misses: out.good = out.good && m.kind == match_kind::not_found; break;
        case kind::other_method: out.good = out.good && m.kind == match_kind::method_not_allowed; break;
        default: out.good = out.good && m.kind == match_kind::found && m.route == id;
        }
        out.requests.push_back(r);
    }
    return out;
}

template <class Lookup>
void time(benchmark::State& state, const workload& w, Lookup lookup) {
    if (!w.good) {
        state.SkipWithError("a path does not find its route");
        return;
    }
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(lookup(w.requests[i++ % variants]));
    state.SetItemsProcessed(state.iterations());
}

void find_in(benchmark::State& state, const workload& w) {
    fastserve::detail::route_params params;
    time(state, w, [&](const request& r) { return w.tree.find(r.method, r.path(), params); });
}

void find(benchmark::State& state, kind what) {
    const auto size = static_cast<std::size_t>(state.range(0));
    find_in(state, make(size, size, what));
}

// The same requests of larger and larger tables: what the number of routes alone costs.
void find_same(benchmark::State& state, kind what) {
    find_in(state, make(static_cast<std::size_t>(state.range(0)), 10, what));
}

// As a server does it: the path is put into normal form first.
void find_normalised(benchmark::State& state, kind what) {
    const auto size = static_cast<std::size_t>(state.range(0));
    const workload w = make(size, size, what);
    fastserve::detail::route_params params;
    std::string scratch(1024, '\0');
    time(state, w, [&](const request& r) {
        return w.tree.find(r.method, *fastserve::http::normal_path(r.path(), scratch.data()), params);
    });
}

BENCHMARK_CAPTURE(find, static, kind::statics)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, parameters, kind::parameters)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, not_found, kind::misses)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, method_not_allowed, kind::other_method)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find_same, parameters, kind::parameters)->Arg(10)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(find_normalised, parameters, kind::parameters)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find_normalised, encoded, kind::encoded)->Arg(10)->Arg(1000);

} // namespace
