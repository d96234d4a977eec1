// What is thrown where a request cannot be taken now: it is answered 503 with Retry-After, and not logged.
#pragma once

#include <stdexcept>

namespace fastserve::detail {

struct overloaded : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace fastserve::detail
