// One simulated afternoon of a server: some peers that behave in all ways, and handlers of all kinds, from one seed.
#pragma once

#include <cstdint>
#include <string>

namespace fastserve::test {

struct outcome {
    std::string wrong;         // empty: all that must be true was
    std::uint64_t answers = 0; // that peers have read
};

outcome simulate(std::uint64_t seed);

} // namespace fastserve::test
