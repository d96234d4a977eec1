// What one call of an encoder or decoder has done.
#pragma once

#include <fastserve/coding/error.hpp>

#include <cstddef>
#include <cstdint>

namespace fastserve::coding {

enum class status : std::uint8_t {
    need_input,  // all input is taken, and everything that was asked for is in the output
    need_output, // the output is full: call again with the rest of the input, for the same purpose, and new room
    done,        // the stream has ended; what was produced is its last
    error,       // and so will be every further call
};

struct progress {
    std::size_t consumed = 0; // bytes taken from the front of the input
    std::size_t produced = 0; // bytes written to the front of the output; of an error, those before it
    status state = status::need_input;
    errc error = errc::ok; // not ok exactly if state is error
};

} // namespace fastserve::coding
