// What the program needs of the system before it serves.
#pragma once

#include <cstdint>
#include <string>

namespace fastserve::cli {

// Raises the limit of open descriptors to what `connections` need, and returns how many connections it then allows: all
// of them, unless the hard limit is in the way.
std::uint64_t raise_descriptor_limit(std::uint64_t connections, unsigned workers);

// The line that says that only `allowed` of the connections asked for can be had, and what to do.
std::string too_few_descriptors(std::uint64_t asked, std::uint64_t allowed);

} // namespace fastserve::cli
