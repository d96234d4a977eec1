// Parsing request heads: ours by scan level, Boost.Beast's basic_parser with empty callbacks and its request_parser,
// and Debian's http-parser. Each head comes in 1,024 variants of equal size whose bytes and inner lengths differ, since
// a branch predictor learns a small set by heart. Every parser's answer is verified on every variant before it is
// timed.
#include <fastserve/http/head_parser.hpp>

#include <benchmark/benchmark.h>
#include <boost/beast/http.hpp>
#include <http_parser.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace http = fastserve::http;
namespace beast = boost::beast::http;

constexpr std::size_t variants = 1024;

struct head_set {
    std::vector<std::string> heads; // each with parse_padding bytes behind it
    std::size_t size = 0;           // of each head
    std::size_t fields = 0;
    std::vector<std::string> targets, hosts;
};

class text_source {
public:
    explicit text_source(std::uint32_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return random_() % n; }
    std::string letters(std::size_t n) {
        std::string s(n, ' ');
        for (char& c : s) c = "abcdefghijklmnopqrstuvwxyz0123456789"[below(36)];
        return s;
    }
    template <std::size_t N>
    std::string one_of(const char* const (&texts)[N]) {
        return texts[below(N)];
    }

private:
    std::mt19937 random_;
};

// Fills the last field up to `size` in all, so that variants differ inside and not in sum.
std::string with_filler(std::string head, std::string_view name, std::size_t size, text_source& source) {
    head.append(name).append(": ");
    if (head.size() + 4 > size) std::abort();
    head += source.letters(size - head.size() - 4);
    return head + "\r\n\r\n";
}

std::string browser_head(text_source& s, const std::string& target, const std::string& host, std::size_t size,
                         bool long_one) {
    std::string h = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n";
    h += "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:" + std::to_string(90 + s.below(30)) +
         ".0) Gecko/20100101 Firefox/" + s.letters(1 + s.below(5)) + "\r\n";
    h +=
        "Accept: " + s.one_of({"text/html,*/*;q=0.8", "*/*", "image/avif,image/webp,*/*", "application/json"}) + "\r\n";
    h += "Accept-Language: " + s.one_of({"en-US,en;q=0.5", "de,en;q=0.7", "fr", "en-GB"}) + "\r\n";
    h += "Accept-Encoding: " + s.one_of({"gzip, deflate, br", "gzip, deflate", "gzip"}) + "\r\n";
    h += "Connection: keep-alive\r\n";
    if (long_one) {
        h += "Referer: http://" + host + "/" + s.letters(10 + s.below(30)) + "\r\n";
        h += "Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n";
        h += "Sec-Fetch-Site: " + s.one_of({"none", "same-origin", "cross-site"}) + "\r\nSec-Fetch-User: ?1\r\n";
        h += "X-" + s.letters(4 + s.below(8)) + ": " + s.letters(1 + s.below(20)) + "\r\n";
        h += "If-None-Match: \"" + s.letters(8 + s.below(16)) + "\"\r\nCache-Control: max-age=0\r\n";
    } else {
        h += "Cache-Control: " + s.one_of({"max-age=0", "no-cache"}) + "\r\n";
    }
    return with_filler(std::move(h), "Cookie", size, s);
}

head_set make_set(std::size_t size) {
    head_set set;
    set.size = size;
    set.fields = size < 100 ? 1 : size < 500 ? 8 : 16;
    text_source s(static_cast<std::uint32_t>(size));
    for (std::size_t i = 0; i < variants; ++i) {
        std::string target(1, '/'), head, host;
        target += s.letters(s.below(size < 100 ? 7 : 30));
        if (size < 100) {
            host = s.letters(size - 4 - target.size() - 17 - 4 - 3) + ".de";
            head = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
        } else {
            host = s.letters(3 + s.below(12)) + ".example.com";
            head = browser_head(s, target, host, size, size > 500);
        }
        if (head.size() != size) std::abort();
        set.heads.push_back(head + std::string(http::parse_padding, '\0'));
        set.targets.push_back(target);
        set.hosts.push_back(host);
    }
    return set;
}

const head_set& set_of(std::size_t size) {
    static const head_set small = make_set(40), browser = make_set(414), large = make_set(703);
    return size == 40 ? small : size == 414 ? browser : large;
}

void require(bool right, const char* who) {
    if (right) return;
    std::fprintf(stderr, "%s gave a wrong answer\n", who);
    std::abort();
}

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
