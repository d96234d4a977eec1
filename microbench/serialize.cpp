// "Hello world" with Server, Date, Content-Type and Content-Length, as bytes in memory: ours beside Beast.
//
// 1,024 answers that differ in the length of their body, their content type and their text; all of them are verified
// against an answer put together by hand before anything is timed. serialize_head and beast_*_serialize start from a
// response that is filled already (the latter copies the body too); serialize_answer and beast_*_answer fill it, write
// it and copy the body.
#include <fastserve/http/serializer.hpp>

#include <benchmark/benchmark.h>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/version.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

namespace beast = boost::beast;
using namespace fastserve::http;

constexpr std::size_t variant_count = 1024;
constexpr std::int64_t now = 784'111'777;
constexpr const char* date = "Sun, 06 Nov 1994 08:49:37 GMT";

struct variant {
    std::string type;
    std::string body;
};

const std::vector<variant>& variants() {
    static const std::vector<variant> made = [] {
        constexpr const char* types[] = {"text/plain", "text/html; charset=utf-8", "application/json", "image/png"};
        std::mt19937 random(1);
        std::vector<variant> list(variant_count);
        for (auto& v : list) {
            v.type = types[random() % 4];
            v.body = "hello world";
            v.body.append(random() % 120, static_cast<char>('a' + random() % 26));
        }
        return list;
    }();
    return made;
}

const response_templates& templates() {
    static const response_templates made = [] {
        response_templates t;
        t.refresh(now);
        return t;
    }();
    return made;
}

void fill(response& r, const variant& v) {
    r.content_type(v.type);
    r.body(v.body);
}

std::size_t write(char* out, const response& r) {
    char* const end = write_head(out, r, plan_answer(r, {}), templates());
    const auto body = r.body_view();
    std::memcpy(end, body.data(), body.size());
    return static_cast<std::size_t>(end - out) + body.size();
}

using beast_response = beast::http::response<beast::http::string_body>;

beast_response fill_beast(const variant& v) {
    beast_response r{beast::http::status::ok, 11};
    r.set(beast::http::field::server, "fastserve");
    r.set(beast::http::field::date, date);
    r.set(beast::http::field::content_type, v.type);
    r.body() = v.body;
    r.prepare_payload();
    return r;
}

std::size_t write_beast(char* out, beast_response& r) {
    beast::http::serializer<false, beast::http::string_body> serializer(r);
    std::size_t size = 0;
    beast::error_code error;
    while (!serializer.is_done()) {
        serializer.next(error, [&](beast::error_code&, const auto& buffers) {
            std::size_t taken = 0;
            for (const auto& buffer : beast::buffers_range_ref(buffers)) {
                std::memcpy(out + size + taken, buffer.data(), buffer.size());
                taken += buffer.size();
            }
            size += taken;
            serializer.consume(taken);
        });
        if (error) std::abort();
    }
    return size;
}

char output[4096];

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "wrong answer: %s\n", what);
    std::abort();
}

void verify_all() {
    std::set<std::string> seen;
    response r;
    for (const variant& v : variants()) {
        const std::string common = "HTTP/1.1 200 OK\r\nServer: fastserve\r\nDate: " + std::string(date) +
                                   "\r\nContent-Type: " + v.type +
                                   "\r\nContent-Length: " + std::to_string(v.body.size()) + "\r\n\r\n" + v.body;
        r.reset();
        fill(r, v);
        require(std::string(output, write(output, r)) == common, "ours");
        beast_response b = fill_beast(v);
        require(std::string(output, write_beast(output, b)) == common, "beast");
        seen.insert(common);
    }
    require(seen.size() > variant_count / 2, "variants");
}

template <class Round>
void rotate(benchmark::State& state, Round round) {
    static const bool verified = (verify_all(), true);
    benchmark::DoNotOptimize(verified);
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(round(i));
        benchmark::ClobberMemory();
        i = (i + 1) % variant_count;
    }
    state.SetItemsProcessed(state.iterations());
}

void serialize_head(benchmark::State& state) {
    std::vector<std::unique_ptr<response>> filled;
    for (const variant& v : variants()) fill(*filled.emplace_back(std::make_unique<response>()), v);
    rotate(state, [&](std::size_t i) {
        const response& r = *filled[i];
        return write_head(output, r, plan_answer(r, {}), templates());
    });
}

void serialize_answer(benchmark::State& state) {
    response r;
    rotate(state, [&](std::size_t i) {
        r.reset();
        fill(r, variants()[i]);
        return write(output, r);
    });
}

void serialize_error(benchmark::State& state) {
    constexpr int codes[] = {400, 404, 405, 413, 414, 431, 501, 503};
    rotate(state, [&](std::size_t i) {
        return write_error(output, sizeof output, codes[(i * 7) % 8], {.keep_alive = false}, templates(),
                           i % 3 == 0 ? extra_field{"Retry-After", "1"} : extra_field{});
    });
}

void beast_serialize(benchmark::State& state) {
    std::vector<beast_response> filled;
    for (const variant& v : variants()) filled.push_back(fill_beast(v));
    rotate(state, [&](std::size_t i) { return write_beast(output, filled[i]); });
}

void beast_answer(benchmark::State& state) {
    rotate(state, [&](std::size_t i) {
        beast_response r = fill_beast(variants()[i]);
        return write_beast(output, r);
    });
}

BENCHMARK(serialize_head);
BENCHMARK(serialize_answer);
BENCHMARK(serialize_error);
BENCHMARK(beast_serialize)->Name("beast_" BOOST_LIB_VERSION "_serialize");
BENCHMARK(beast_answer)->Name("beast_" BOOST_LIB_VERSION "_answer");

} // namespace
