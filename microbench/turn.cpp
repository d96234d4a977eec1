// One turn of a connection without its socket: the bytes of one request, or of 16 pipelined ones, go in; the machine
// parses them, the application routes them and runs a plain handler, and the answers lie in the turn's output, as
// net::worker does it. `parse` does nothing but parse the same bytes: the difference is what the rest of a turn costs.
//
// Both walk through one text of 1,024 different heads and begin one head further each time. Every answer is verified
// on every variant before it is timed.
#include "turn_site.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

namespace http = fastserve::http;
using request_heads::head_set, request_heads::require, request_heads::set_of, request_heads::variants;
using turn_site::expected, turn_site::site, turn_site::stream_of_heads;

template <class Work>
void rotate(benchmark::State& state, stream_of_heads& heads, std::size_t pipelined, Work work) {
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(work(heads.at(i, pipelined)));
        benchmark::ClobberMemory();
        i = (i + 1) % variants;
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pipelined));
}

void turn(benchmark::State& state) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    const auto pipelined = static_cast<std::size_t>(state.range(1));
    stream_of_heads heads(set);
    const auto s = std::make_unique<site>();
    for (std::size_t i = 0; i < variants; ++i) {
        std::string answers;
        for (std::size_t k = 0; k < pipelined; ++k) answers += expected(set.targets[(i + k) % variants]);
        require(s->serve(heads.at(i, pipelined)) == answers, "a turn");
    }
    rotate(state, heads, pipelined, [&](std::span<char> received) { return s->serve(received); });
}

void parse(benchmark::State& state) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    const auto pipelined = static_cast<std::size_t>(state.range(1));
    stream_of_heads heads(set);
    const http::limits bounds;
    std::vector<http::field_line> lines(bounds.head_fields);
    http::head head;
    head.use_storage(lines);
    const auto parse_all = [&](std::span<char> received, auto look) {
        std::size_t at = 0, complete = 0;
        while (at < received.size()) {
            http::head_parser parser;
            if (parser.parse(received.data() + at, received.size() - at, head, bounds) != http::parse_status::complete)
                break;
            look(complete++);
            at += head.size;
        }
        return complete;
    };
    for (std::size_t i = 0; i < variants; ++i) {
        const auto look = [&](std::size_t k) {
            const std::size_t v = (i + k) % variants;
            require(head.size == set.size && head.path() == set.targets[v] && head.host() == set.hosts[v] &&
                        head.fields.size() == set.fields,
                    "the parser");
        };
        require(parse_all(heads.at(i, pipelined), look) == pipelined, "the parser");
    }
    rotate(state, heads, pipelined, [&](std::span<char> received) {
        return parse_all(received, [&](std::size_t) { benchmark::ClobberMemory(); });
    });
}

// Bytes of a head, and how many of them are pipelined.
void sizes(benchmark::internal::Benchmark* b) {
    for (const int pipelined : {1, 16})
        for (const int size : {40, 414}) b->Args({size, pipelined});
}
BENCHMARK(turn)->Apply(sizes);
BENCHMARK(parse)->Apply(sizes);

} // namespace
