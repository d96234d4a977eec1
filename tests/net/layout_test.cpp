// What lies on a cache line with what: nothing that one worker writes at every request may share one with what another
// worker uses (docs/scaling.md).
#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/connection.hpp>
#include <fastserve/net/counters.hpp>
#include <fastserve/net/mailbox.hpp>
#include <fastserve/net/worker.hpp>
#include <fastserve/pool/local_cache.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace {

using namespace fastserve;

constexpr std::size_t line = 64;

// Two lines, since some processors fetch them in pairs.
static_assert(alignof(net::worker_counters) == 2 * line && sizeof(net::worker_counters) % (2 * line) == 0);
static_assert(alignof(net::worker) >= alignof(net::worker_counters));

// A slot begins a line and ends one, so that two connections, or two exchanges, of two workers never share one.
static_assert(net::connection_pool::alignment >= line && net::connection_pool::stride % line == 0);
static_assert(net::connection_pool::stride == sizeof(net::connection), "no slot is larger than what lies in it");

// What other threads write: the head of a worker's mail, and the numbers of all connections.
static_assert(alignof(net::mail_queue) >= line && sizeof(net::mail_queue) == line);
static_assert(alignof(net::gate) >= line);

// A cache is its worker's own.
static_assert(alignof(pool::local_cache<net::connection>) >= line);

TEST(layout, the_counters_of_a_worker_are_on_lines_of_their_own) {
    struct worker_like {
        char before = 0;
        net::worker_counters counters;
        char behind = 0;
    };
    worker_like w;
    const auto at = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) / line; };
    EXPECT_LT(at(&w.before), at(&w.counters));
    EXPECT_GT(at(&w.behind), at(&w.counters.busy_since_ms));
}

} // namespace
