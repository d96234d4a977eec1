// Warm paths of the pool take nothing from the heap. A binary of its own, for it replaces operator new.
#include "../support/counted_new.hpp"

#include <fastserve/pool/buffer_pool.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

namespace fastserve::pool {
namespace {

struct small {
    void reset() noexcept {}
    int value = 0;
};

TEST(Allocation, TheCounterCounts) {
    const std::size_t before = fastserve::test::allocations.load(std::memory_order_relaxed);
    const auto one = std::make_unique<int>(1);
    EXPECT_EQ(*one, 1);
    EXPECT_EQ(fastserve::test::allocations.load(std::memory_order_relaxed), before + 1);
}

TEST(Allocation, ObjectsTakeNothingFromTheHeap) {
    object_pool<small> pool;
    ASSERT_FALSE(pool.open({.capacity = 10'000}));
    std::vector<pooled<small>> held(3000);
    // Growing and trimming included.
    const std::size_t before = fastserve::test::allocations.load(std::memory_order_relaxed);
    {
        local_cache<small> cache{pool};
        for (int round = 0; round != 3; ++round) {
            for (auto& object : held) object = cache.acquire();
            for (auto& object : held) cache.release(std::move(object));
            for (auto& object : held) object = pool.acquire();
            for (auto& object : held) object.reset();
            cache.flush();
            pool.trim();
        }
        static_cast<void>(pool.stats());
    }
    EXPECT_EQ(fastserve::test::allocations.load(std::memory_order_relaxed), before);
}

TEST(Allocation, BuffersTakeNothingFromTheHeap) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = std::size_t{32} << 20}));
    const std::size_t before = fastserve::test::allocations.load(std::memory_order_relaxed);
    {
        buffer_cache cache{pool};
        for (int round = 0; round != 3; ++round) {
            for (const std::size_t bytes : {100u, 10'000u, 50'000u, 200'000u, 1'000'000u, 3'000'000u}) {
                buffer one = cache.acquire(bytes), two = pool.acquire(bytes);
                ASSERT_TRUE(one && two);
                cache.release(std::move(one));
            }
            cache.flush();
            pool.trim();
        }
        static_cast<void>(pool.stats());
    }
    EXPECT_EQ(fastserve::test::allocations.load(std::memory_order_relaxed), before);
}

} // namespace
} // namespace fastserve::pool
