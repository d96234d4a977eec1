// The real worker and application over a simulated network and clock, a seed at a time.
//
// FASTSERVE_SOAK_AMOUNT seeds from FASTSERVE_SOAK_SEED on; a failing one is played again with an amount of 1.
#include "simulation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace fastserve::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const value = std::getenv(name);
    return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

volatile std::uint64_t playing = 0;

// A seed that ends the program is told, too.
void tell_seed(int signal) {
    char line[64];
    const int size =
        std::snprintf(line, sizeof line, "seed %llu ended the program\n", static_cast<unsigned long long>(playing));
    if (size > 0) (void)!::write(STDERR_FILENO, line, static_cast<std::size_t>(size));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

TEST(Simulation, EverySeed) {
    for (const int s : {SIGABRT, SIGSEGV, SIGBUS}) std::signal(s, tell_seed);
    const std::uint64_t count = from_environment("FASTSERVE_SOAK_AMOUNT", 1'200);
    const std::uint64_t first = from_environment("FASTSERVE_SOAK_SEED", 1);
    std::uint64_t wrong = 0, answers = 0;
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        playing = first + i;
        const outcome o = simulate(first + i);
        answers += o.answers;
        if (o.wrong.empty()) continue;
        if (++wrong <= 10) ADD_FAILURE() << "seed " << first + i << ": " << o.wrong;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    EXPECT_GT(answers, count / 2);
    std::printf("simulation: tried %llu wrong %llu seed %llu (%llu answers, %.0f seeds/s)\n",
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(first), static_cast<unsigned long long>(answers),
                static_cast<double>(count) / took.count());
}

} // namespace
} // namespace fastserve::test
