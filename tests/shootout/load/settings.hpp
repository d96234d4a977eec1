#pragma once

#include "answer_reader.hpp"
#include "request.hpp"
#include "target.hpp"

#include <cstdint>
#include <string>

namespace load {

// A run, as the command line describes it. Times are nanoseconds.
struct settings {
    std::string url{};
    target to{};
    request_parts request{};
    std::string usual_request{}, last_request{}; // made of `request`; the second says that the connection closes
    expectation wanted{};

    unsigned connections = 100, threads = 1;
    unsigned sources = 0;             // source addresses; 0: the kernel chooses
    unsigned pipeline = 1;            // requests of a connection that may wait for their answers
    std::uint64_t per_connection = 0; // requests after which a connection is replaced; 0: never
    std::uint64_t read_rate = 0;      // bytes a second that a connection reads; 0: as fast as it can

    double rate = 0; // requests a second, whatever the answers do; 0: closed loop
    bool poisson = false;
    std::uint64_t seed = 1;
    std::int64_t warm_up = 0, duration = 10'000'000'000, timeout = 2'000'000'000;
    std::uint64_t requests = 0; // ends the run before its duration does; 0: only the duration counts
};

// Fills `s` from the command line. Returns -1 to run, or the exit status: --help and a mistake are dealt with.
int read_command_line(int argc, char** argv, settings& s);

} // namespace load
