// Does one thing some thousand times within fastserve_counted(), so that a tool which counts instructions in there
// alone knows what one costs, whatever else the machine does. The benchmarks beside this verify and time the same work;
// script/budgets runs this, and holds what it finds against microbench/budgets.json.
//
//   microbench_instructions                  lists the cases
//   microbench_instructions CASE             prints how many times it was done
#include "request_heads.hpp"
#include "turn_site.hpp"

#include <fastserve/http/head_parser.hpp>
#include <fastserve/http/serializer.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// By this name, which no optimisation may take away, the tool knows where to count.
extern "C" [[gnu::noinline, gnu::used]] void fastserve_counted(const std::function<void()>& work) {
    work();
    benchmark::ClobberMemory(); // behind the call, which is then none of a tail
}

namespace {

namespace http = fastserve::http;
namespace pool = fastserve::pool;
using request_heads::head_set, request_heads::require, request_heads::set_of, request_heads::variants;

// Each variant some times, from a state that is warm.
constexpr std::size_t rounds = 8;

// How many times `one(variant)` was done while it was counted.
template <class One>
std::size_t count(One one) {
    const auto all = [&] {
        for (std::size_t i = 0; i < variants; ++i) one(i);
    };
    all();
    fastserve_counted([&] {
        for (std::size_t r = 0; r < rounds; ++r) all();
    });
    return rounds * variants;
}

std::size_t parse(std::size_t size) {
    const head_set& set = set_of(size);
    const http::limits bounds;
    std::vector<http::field_line> lines(bounds.head_fields);
    http::head head;
    head.use_storage(lines);
    return count([&](std::size_t i) {
        http::head_parser parser;
        require(parser.parse(set.heads[i].data(), size, head, bounds) == http::parse_status::complete, "the parser");
    });
}

std::size_t serialize() {
    http::response_templates templates;
    templates.refresh(turn_site::now);
    std::array<char, 4096> out;
    http::response r;
    r.content_type("text/plain");
    r.body("hello world");
    return count([&](std::size_t) {
        char* const end = http::write_head(out.data(), r, http::plan_answer(r, {}), templates);
        benchmark::DoNotOptimize(end);
        benchmark::ClobberMemory();
    });
}

std::size_t turn(std::size_t size) {
    turn_site::stream_of_heads heads(set_of(size));
    const auto site = std::make_unique<turn_site::site>();
    return count([&](std::size_t i) { require(!site->serve(heads.at(i, 1)).empty(), "a turn"); });
}

std::size_t pool_pair() {
    struct object {
        void reset() noexcept { value = 0; }
        std::uint64_t value = 0;
    };
    pool::object_pool<object> objects;
    require(!objects.open({.capacity = 8192}), "opening a pool");
    pool::local_cache<object> cache(objects);
    return count([&](std::size_t) {
        object* const o = cache.take();
        benchmark::DoNotOptimize(o);
        cache.put(o);
    });
}

struct named_case {
    std::string name;
    std::function<std::size_t()> run;
};

// Heads are scanned as every machine of the architecture can, but where scanning is all there is.
std::vector<named_case> all_cases() {
    std::vector<named_case> all;
    for (const auto& [level, name] : {std::pair{http::scan_level::sse2, "sse2"},
                                      {http::scan_level::avx2, "avx2"},
                                      {http::scan_level::neon, "neon"}}) {
        if (!http::supported(level)) continue;
        for (const std::size_t size : {40, 414, 703})
            all.push_back({"parse/" + std::to_string(size) + "/" + name, [level = level, size] {
                               http::use(level);
                               return parse(size);
                           }});
    }
    const http::scan_level common =
        http::supported(http::scan_level::sse2) ? http::scan_level::sse2 : http::scan_level::neon;
    http::use(common);
    all.push_back({"serialize", serialize});
    all.push_back({"turn/40", [] { return turn(40); }});
    all.push_back({"turn/414", [] { return turn(414); }});
    all.push_back({"pool", pool_pair});
    return all;
}

} // namespace

int main(int argc, char** argv) {
    for (const named_case& c : all_cases()) {
        if (argc < 2)
            std::printf("%s\n", c.name.c_str());
        else if (argv[1] == c.name) {
            std::printf("%zu\n", c.run());
            return 0;
        }
    }
    if (argc < 2) return 0;
    std::fprintf(stderr, "microbench_instructions: there is no case %s; without arguments all are listed\n", argv[1]);
    return 2;
}
