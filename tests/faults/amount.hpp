// How much a test tries: little in the suite, all of it in a soak, which says so in the environment.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace fastserve::test {

// FASTSERVE_SOAK_AMOUNT, or what the suite has time for.
inline std::uint64_t amount(std::uint64_t in_the_suite) {
    const char* const asked = std::getenv("FASTSERVE_SOAK_AMOUNT");
    return asked ? std::strtoull(asked, nullptr, 10) : in_the_suite;
}

// FASTSERVE_SOAK_SEED, or another one each time.
inline std::uint64_t seed() {
    const char* const asked = std::getenv("FASTSERVE_SOAK_SEED");
    return asked ? std::strtoull(asked, nullptr, 10) : std::random_device{}();
}

// What was tried under a name, printed when it ends: a line that a soak looks for, and that names the seed of a
// failure.
class tally {
public:
    explicit tally(std::string name) : name_(std::move(name)) {}
    tally(const tally&) = delete;
    tally& operator=(const tally&) = delete;
    ~tally() {
        std::printf("%s: tried %llu wrong %llu seed %llu%s\n", name_.c_str(), static_cast<unsigned long long>(tried),
                    static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(seed), more.c_str());
        std::fflush(stdout);
    }
    // One thing that is not as it should be. The first few are told.
    void fail(const std::string& why) {
        if (++wrong <= 10) ADD_FAILURE() << name_ << ", seed " << seed << ": " << why;
    }

    std::uint64_t tried = 0;
    std::uint64_t wrong = 0;
    const std::uint64_t seed = test::seed();
    std::string more; // said at the end of the line

private:
    const std::string name_;
};

} // namespace fastserve::test
