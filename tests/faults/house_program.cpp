// The house as a program, for soaks that come with clients of their own: default limits, or those of the command line
// as NAME=VALUE pairs with the names of the limit table. Says its port and serves until its input ends. More routes:
//   /open        how many connections are open
//   /shared      4 MiB that take no memory a connection
//   /work/{us}   takes so much CPU time of its worker
#include "house.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include <unistd.h>

namespace {

using namespace fastserve;

bool set(options& o, std::string_view pair) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = pair.substr(0, equals), text = pair.substr(equals + 1);
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return false;
    if (name == "workers") o.workers = static_cast<unsigned>(value);
    for (const http::limit_row& row : http::limit_table)
        if (row.name == name) row.set(o.limits, value);
    return true;
}

// Of this thread: work takes as much of it whatever else the machine does.
std::chrono::nanoseconds cpu_time() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

} // namespace

int main(int argc, char** argv) {
    options o{.workers = 2};
    for (int i = 1; i < argc; ++i)
        if (!set(o, argv[i])) return 2;
    test::house h(o);
    const auto shared = std::make_shared<const std::string>(test::large_body(4 << 20));
    h.app().get("/open", [&h](request&, response& a) { a.text(std::to_string(h.app().snapshot().connections)); });
    h.app().get("/shared", [shared](request&, response& a) { a.bytes(shared, "text/plain"); });
    h.app().get("/work/{us}", [](request& q, response& a) {
        const auto until = cpu_time() + std::chrono::microseconds(*q.param<int>("us"));
        while (cpu_time() < until) {
        }
        a.text("done");
    });
    h.start();
    std::printf("%u\n", h.ports[0]);
    std::fflush(stdout);
    char end;
    while (::read(0, &end, 1) > 0) {
    }
    return h.stop().empty() ? 0 : 1;
}
