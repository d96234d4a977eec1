// What a pool reports about itself.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastserve::pool {

// capacity == bare + shared + cached + in_use: every slot is in exactly one of the four places.
// Read while other threads work, the numbers are each a moment's truth, taken one after the other.
struct pool_stats {
    std::uint64_t hits = 0;          // acquires that a local cache answered by itself
    std::uint64_t misses = 0;        // acquires that went to the shared list or to fresh memory
    std::uint64_t exhausted = 0;     // acquires that got nothing
    std::size_t capacity = 0;        // slots there can be
    std::size_t bare = 0;            // slots without a constructed object: never used yet, or trimmed
    std::size_t shared = 0;          // free, in the shared list
    std::size_t cached = 0;          // free, in local caches
    std::size_t in_use = 0;          // handed out
    std::size_t high_water = 0;      // the most that were outside the shared list at once: in use and cached
    std::size_t bytes_retained = 0;  // memory of free slots that trim() has not returned to the system
    std::size_t bytes_committed = 0; // memory of all slots that are not bare
};

} // namespace fastserve::pool
