// What the program needs of the system before it serves.
#pragma once

#include <cstdint>
#include <string>

namespace fastserve::cli {

// Sees to it that descriptors 0 to 2 are open (on /dev/null if they were not), so that no socket gets such a number and
// log lines go to a peer; and that a closed pipe behind stderr is no reason to end.
void prepare_standard_streams() noexcept;

// Signals that end or reload wait from now on, in this thread and those it starts, until server::run() takes them: one
// that comes between listening and serving must not cut those who have connected.
void hold_signals() noexcept;

struct descriptor_limit {
    std::uint64_t needed = 0;      // by the connections asked for, and all else
    std::uint64_t open = 0;        // what there is now
    std::uint64_t connections = 0; // how many connections that is enough for: no more than were asked for
};

// Raises the limit of open descriptors to what `connections` on `workers` workers (0: one a CPU) need, as far as the
// hard limit lets it.
descriptor_limit raise_descriptor_limit(std::uint64_t connections, unsigned workers) noexcept;

// The line that says that the connections asked for cannot be had, and what to do.
std::string too_few_descriptors(std::uint64_t asked, const descriptor_limit&);

// On the calling thread: what the allocator keeps for reuse goes back to the system.
void give_memory_back() noexcept;

} // namespace fastserve::cli
