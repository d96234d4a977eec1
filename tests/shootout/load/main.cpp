// fastserve-load: requests that do not wait for answers, and an account of both. --help tells all.
#include "crowd.hpp"
#include "results.hpp"
#include "settings.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

namespace {

load::results run(const load::settings& s) {
    load::common shared(s.threads);
    std::vector<load::results> parts(s.threads);
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < s.threads; ++i)
            threads.emplace_back([&, i] {
                const std::uint64_t share = s.requests / s.threads + (i < s.requests % s.threads ? 1 : 0);
                const std::uint64_t quota = s.requests == 0 ? std::numeric_limits<std::uint64_t>::max() : share;
                parts[i] = load::crowd(s, shared, i, quota).run();
            });
    }
    load::results all;
    for (const load::results& part : parts) all.merge(part);
    return all;
}

} // namespace

int main(int argc, char** argv) {
    load::settings s;
    if (const int status = load::read_command_line(argc, argv, s); status >= 0) return status;
    struct sigaction action {};
    action.sa_handler = [](int) { load::common::interrupted.store(true, std::memory_order_relaxed); };
    action.sa_flags = static_cast<int>(SA_RESETHAND); // a second one ends the program
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    const load::results all = run(s);
    std::puts(load::to_json(s, all).c_str());
    return all.errors_total() == 0 && all.requests > 0 ? 0 : 1;
}
