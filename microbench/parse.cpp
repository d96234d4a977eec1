// Parsing request heads: ours by scan level, Boost.Beast's basic_parser with empty callbacks and its request_parser,
// and Debian's http-parser. Every parser's answer is verified on every variant of a head before it is timed.
#include "request_heads.hpp"

#include <fastserve/http/head_parser.hpp>

#include <benchmark/benchmark.h>
#include <boost/beast/http.hpp>
#include <http_parser.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

namespace http = fastserve::http;
namespace beast = boost::beast::http;
using request_heads::head_set, request_heads::require, request_heads::set_of, request_heads::variants;

// Times parse(head) over all variants in turn; `verify` has seen each first.
template <class Parse>
void rotate(benchmark::State& state, const head_set& set, Parse parse) {
    std::size_t i = 0;
    for (auto _ : state) {
        parse(std::string_view(set.heads[i].data(), set.size));
        i = (i + 1) % variants;
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(set.size));
}

void fastserve_parse(benchmark::State& state, http::scan_level level) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    const http::scan_level before = http::current_scan_level();
    if (!http::use(level)) {
        state.SkipWithError("not on this machine");
        return;
    }
    const http::limits bounds;
    std::vector<http::field_line> lines(bounds.head_fields);
    http::head head;
    head.use_storage(lines);
    const auto parse = [&](std::string_view text) {
        http::head_parser parser;
        const auto status = parser.parse(text.data(), text.size(), head, bounds);
        benchmark::DoNotOptimize(status);
        benchmark::ClobberMemory();
        return status;
    };
    for (std::size_t i = 0; i < variants; ++i)
        require(parse({set.heads[i].data(), set.size}) == http::parse_status::complete && head.size == set.size &&
                    head.path() == set.targets[i] && head.host() == set.hosts[i] && head.fields.size() == set.fields,
                "fastserve");
    rotate(state, set, parse);
    http::use(before);
}

class empty_parser : public beast::basic_parser<true> {
public:
    std::size_t fields = 0;
    std::string target; // kept while verifying only
    bool keep = false;

private:
    using error = boost::beast::error_code;
    using text = boost::beast::string_view;
    void on_request_impl(beast::verb, text, text t, int, error&) override {
        if (keep) target.assign(t.data(), t.size());
    }
    void on_response_impl(int, text, int, error&) override {}
    void on_field_impl(beast::field, text, text, error&) override { ++fields; }
    void on_header_impl(error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error&) override {}
    std::size_t on_body_impl(text body, error&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, text, error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, text body, error&) override { return body.size(); }
    void on_finish_impl(error&) override {}
};

void beast_basic_parser(benchmark::State& state) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    for (std::size_t i = 0; i < variants; ++i) {
        empty_parser parser;
        parser.keep = true;
        boost::beast::error_code error;
        parser.put(boost::asio::buffer(set.heads[i].data(), set.size), error);
        require(!error && parser.is_done() && parser.fields == set.fields && parser.target == set.targets[i], "Beast");
    }
    rotate(state, set, [](std::string_view text) {
        empty_parser parser;
        boost::beast::error_code error;
        parser.put(boost::asio::buffer(text.data(), text.size()), error);
        benchmark::DoNotOptimize(parser.fields);
    });
}

void beast_request_parser(benchmark::State& state) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    const auto parse = [](std::string_view text, auto look) {
        beast::request_parser<beast::empty_body> parser;
        boost::beast::error_code error;
        parser.put(boost::asio::buffer(text.data(), text.size()), error);
        look(parser, error);
    };
    for (std::size_t i = 0; i < variants; ++i)
        parse({set.heads[i].data(), set.size}, [&](auto& parser, auto error) {
            require(!error && parser.is_done() && parser.get().target() == set.targets[i] &&
                        parser.get()[beast::field::host] == set.hosts[i],
                    "Beast");
        });
    rotate(state, set, [&](std::string_view text) {
        parse(text, [](auto& parser, auto) { benchmark::DoNotOptimize(parser.get()); });
    });
}

void debian_http_parser(benchmark::State& state) {
    const head_set& set = set_of(static_cast<std::size_t>(state.range(0)));
    struct seen {
        std::size_t fields = 0;
        std::string_view target;
        bool complete = false;
    };
    http_parser_settings settings;
    http_parser_settings_init(&settings);
    settings.on_url = [](http_parser* p, const char* at, std::size_t n) {
        static_cast<seen*>(p->data)->target = {at, n};
        return 0;
    };
    settings.on_header_value = [](http_parser* p, const char*, std::size_t) {
        ++static_cast<seen*>(p->data)->fields;
        return 0;
    };
    settings.on_message_complete = [](http_parser* p) {
        static_cast<seen*>(p->data)->complete = true;
        return 0;
    };
    const auto parse = [&](std::string_view text) {
        seen s;
        http_parser parser;
        http_parser_init(&parser, HTTP_REQUEST);
        parser.data = &s;
        http_parser_execute(&parser, &settings, text.data(), text.size());
        benchmark::DoNotOptimize(s);
        return s;
    };
    for (std::size_t i = 0; i < variants; ++i) {
        const seen s = parse({set.heads[i].data(), set.size});
        require(s.complete && s.fields == set.fields && s.target == set.targets[i], "http-parser");
    }
    rotate(state, set, parse);
}

#define SIZES ->Arg(40)->Arg(414)->Arg(703)
#if defined(__x86_64__)
BENCHMARK_CAPTURE(fastserve_parse, avx512, http::scan_level::avx512) SIZES;
BENCHMARK_CAPTURE(fastserve_parse, avx2, http::scan_level::avx2) SIZES;
BENCHMARK_CAPTURE(fastserve_parse, ssse3, http::scan_level::ssse3) SIZES;
BENCHMARK_CAPTURE(fastserve_parse, sse2, http::scan_level::sse2) SIZES;
#elif defined(__aarch64__)
BENCHMARK_CAPTURE(fastserve_parse, neon, http::scan_level::neon) SIZES;
#endif
BENCHMARK_CAPTURE(fastserve_parse, scalar, http::scan_level::scalar) SIZES;
BENCHMARK(beast_basic_parser) SIZES;
BENCHMARK(beast_request_parser) SIZES;
BENCHMARK(debian_http_parser) SIZES;

} // namespace
