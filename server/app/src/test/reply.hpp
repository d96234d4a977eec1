// What a client's bytes say.
#pragma once

#include <fastserve/test/client.hpp>

#include <cstddef>
#include <string_view>

namespace fastserve::test {

// Reads one answer, and the interim ones before it, from the beginning of `bytes`; `ended`: this is all.
// Returns how many bytes that took; 0: it is not whole, and `r` has status 0.
std::size_t parse(std::string_view bytes, bool to_head, bool ended, reply& r);

} // namespace fastserve::test
