// One lookup in a small and in a large table, by what the path turns out to be.
//
// Every path is checked against the route it was made from before anything is timed, and 4,096 of them rotate: a branch
// predictor learns a few dozen by heart, and then shows its memory and not the router.
#include "../tests/app/code_hosting_api.hpp"

#include <fastserve/detail/percent.hpp>
#include <fastserve/detail/route_tree.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using fastserve::detail::match_kind;
using fastserve::detail::method_index;

enum class kind { statics, parameters, misses, other_method, encoded };

struct request {
    method_index method;
    std::string path;
};

struct workload {
    fastserve::detail::route_tree tree;
    std::vector<request> requests;
    bool good = true;
};

constexpr std::size_t variants = 4096;
constexpr method_index no_such_method = 60;

workload make(std::size_t route_count, kind what) {
    workload out;
    std::mt19937_64 random(20'240'601);
    fastserve::detail::route_tree_builder builder;
    const auto routes = code_hosting_api::routes(route_count);
    for (std::uint32_t id = 0; id < routes.size(); ++id)
        out.good = out.good && builder.add(routes[id].method, routes[id].pattern, id);
    out.good = out.good && builder.route_count() == route_count;
    out.tree = builder.build();

    while (out.requests.size() < variants) {
        const auto id = static_cast<std::uint32_t>(random() % routes.size());
        const auto& route = routes[id];
        if (route.is_static() != (what == kind::statics)) continue;
        if (what == kind::misses && route.pattern.ends_with("...}")) continue;
        request r{route.method, code_hosting_api::path_for(route.pattern, random)};
        if (what == kind::misses) r.path += "/Nothing/here";
        if (what == kind::other_method) r.method = no_such_method;
        const std::string plain = r.path;
        if (what == kind::encoded) {
            const auto last = static_cast<unsigned char>(r.path.back());
            r.path.pop_back();
            r.path += {'%', fastserve::detail::hex_digits[last >> 4], fastserve::detail::hex_digits[last & 15]};
        }
        std::string scratch(r.path.size(), '\0');
        const auto path = fastserve::detail::normal_path(r.path, scratch.data());
        out.good = out.good && path == plain;
        fastserve::detail::route_params params;
        const auto m = out.tree.find(r.method, plain, params);
        switch (what) {
        case kind::misses:
            out.good = out.good && m.kind == match_kind::not_found;
            break;
        case kind::other_method:
            out.good = out.good && m.kind == match_kind::method_not_allowed;
            break;
        default:
            out.good = out.good && m.kind == match_kind::found && m.route == id;
        }
        out.requests.push_back(std::move(r));
    }
    return out;
}

void find(benchmark::State& state, kind what) {
    const workload w = make(static_cast<std::size_t>(state.range(0)), what);
    if (!w.good) {
        state.SkipWithError("a path does not find its route");
        return;
    }
    fastserve::detail::route_params params;
    std::size_t i = 0;
    for (auto _ : state) {
        const request& r = w.requests[i++ % variants];
        benchmark::DoNotOptimize(w.tree.find(r.method, r.path, params));
    }
    state.SetItemsProcessed(state.iterations());
}

// As the server calls it: the path is put into normal form first.
void find_normalised(benchmark::State& state, kind what) {
    const workload w = make(static_cast<std::size_t>(state.range(0)), what);
    if (!w.good) {
        state.SkipWithError("a path does not find its route");
        return;
    }
    fastserve::detail::route_params params;
    std::string scratch(1024, '\0');
    std::size_t i = 0;
    for (auto _ : state) {
        const request& r = w.requests[i++ % variants];
        const auto path = fastserve::detail::normal_path(r.path, scratch.data());
        benchmark::DoNotOptimize(w.tree.find(r.method, *path, params));
    }
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(find, static, kind::statics)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, parameters, kind::parameters)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, not_found, kind::misses)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find, method_not_allowed, kind::other_method)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find_normalised, parameters, kind::parameters)->Arg(10)->Arg(1000);
BENCHMARK_CAPTURE(find_normalised, encoded, kind::encoded)->Arg(10)->Arg(1000);

} // namespace
