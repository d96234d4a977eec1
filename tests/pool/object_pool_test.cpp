// Contracts of object_pool, pooled and local_cache on one thread, and release from another.
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace fastserve::pool {
namespace {

struct counters {
    int made = 0;
    int destroyed = 0;
    int resets = 0;
};
counters counted;

struct connection {
    explicit connection(std::uint32_t own) noexcept : index{own} { ++counted.made; }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { ++counted.destroyed; }
    void reset() noexcept {
        ++counted.resets;
        value = 0;
    }
    std::uint32_t index;
    int value = 0;
};

// Big enough that a slab of 64 KiB holds 64 of them.
struct large {
    void reset() noexcept {}
    std::array<char, 1024> bytes{};
};
constexpr std::uint32_t large_per_slab = 64;

using connection_pool = object_pool<connection>;

static_assert(sizeof(pooled<connection>) == 2 * sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<pooled<connection>>);
static_assert(!std::is_copy_constructible_v<pooled<connection>>);
static_assert(!std::is_move_constructible_v<connection_pool>);
static_assert(!std::is_move_constructible_v<local_cache<connection>>);
static_assert(connection_pool::stride % 64 == 0, "two objects never share a cache line");
static_assert(object_pool<large>::stride == 1024);
static_assert(connection_pool::capacity_for(1000, 8) == 1000 + 8 * local_cache<connection>::capacity);

class ObjectPool : public ::testing::Test {
protected:
    void SetUp() override { counted = {}; }
};

TEST_F(ObjectPool, OpenRejectsWhatCannotBe) {
    connection_pool pool;
    EXPECT_EQ(pool.open({}), std::errc::invalid_argument);
    EXPECT_EQ(pool.open({.capacity = null_index + 1}), std::errc::invalid_argument);
    EXPECT_FALSE(pool.open({.capacity = 1}));
    EXPECT_EQ(pool.open({.capacity = 1}), std::errc::invalid_argument) << "a second time";
}

TEST_F(ObjectPool, OpenReportsThatTheSystemRefuses) {
    struct huge {
        void reset() noexcept {}
        std::array<char, std::size_t{64} << 30> bytes;
    };
    object_pool<huge> pool;
    EXPECT_EQ(pool.open({.capacity = null_index}), std::errc::not_enough_memory);
    EXPECT_FALSE(pool.acquire());
}

TEST_F(ObjectPool, ClosedPoolIsExhausted) {
    connection_pool pool;
    local_cache<connection> cache{pool};
    EXPECT_FALSE(pool.acquire());
    EXPECT_FALSE(cache.acquire());
    EXPECT_EQ(pool.trim(), 0u);
    EXPECT_EQ(pool.find(handle{0, 1}), nullptr);
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, ObjectsKnowTheirIndexAndStayConstructed) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 10}));
    EXPECT_EQ(counted.made, 0) << "nothing is constructed before it is needed";
    std::uint32_t index = null_index;
    for (int round = 0; round != 5; ++round) {
        auto object = pool.acquire();
        ASSERT_TRUE(object);
        EXPECT_EQ(object->value, 0);
        object->value = 42;
        index = object->index;
        EXPECT_EQ(pool.index_of(*object), index);
        EXPECT_EQ(pool.at(index), object.get());
    }
    EXPECT_EQ(counted.made, 10);
    EXPECT_EQ(counted.destroyed, 0);
    EXPECT_EQ(counted.resets, 5);
}

TEST_F(ObjectPool, EveryObjectIsDestroyedWithThePool) {
    {
        connection_pool pool;
        ASSERT_FALSE(pool.open({.capacity = 3000}));
        local_cache<connection> cache{pool};
        cache.release(cache.acquire());
    }
    EXPECT_GT(counted.made, 0);
    EXPECT_EQ(counted.made, counted.destroyed);
}

TEST_F(ObjectPool, FactoryConstructs) {
    struct needs_context {
        explicit needs_context(int& owner, std::uint32_t own) noexcept : context{owner}, index{own} {}
        void reset() noexcept {}
        int& context;
        std::uint32_t index;
    };
    int context = 0;
    object_pool<needs_context> pool;
    EXPECT_EQ(pool.open({.capacity = 5}), std::errc::invalid_argument) << "nobody knows how to construct it";
    ASSERT_FALSE(pool.open({.capacity = 5, .construct = [&context](void* where, std::uint32_t index) {
                                ::new (where) needs_context(context, index);
                            }}));
    auto object = pool.acquire();
    ASSERT_TRUE(object);
    EXPECT_EQ(&object->context, &context);
    EXPECT_EQ(pool.index_of(*object), object->index);
}

TEST_F(ObjectPool, FactoryThatThrowsLeavesNothingBehind) {
    for (std::uint32_t fail_at = 0; fail_at != 20; ++fail_at) {
        counted = {};
        bool fail = true;
        connection_pool pool;
        ASSERT_FALSE(pool.open({.capacity = 20, .construct = [&](void* where, std::uint32_t index) {
                                    if (fail && index == fail_at) throw std::runtime_error{"no"};
                                    ::new (where) connection{index};
                                }}));
        EXPECT_FALSE(pool.acquire());
        EXPECT_EQ(counted.made, static_cast<int>(fail_at));
        EXPECT_EQ(counted.destroyed, counted.made);
        EXPECT_TRUE(pool.is_valid());
        EXPECT_EQ(pool.stats().bare, 20u);
        fail = false;
        EXPECT_TRUE(pool.acquire()) << "the next one tries again";
        EXPECT_TRUE(pool.is_valid());
    }
}

TEST_F(ObjectPool, ExhaustionIsAResult) {
    for (const std::uint32_t capacity : {1u, 2u, 31u, 32u, 33u, 64u, 65u, 1023u, 1024u, 1025u, 5000u}) {
        connection_pool pool;
        ASSERT_FALSE(pool.open({.capacity = capacity}));
        local_cache<connection> cache{pool};
        std::vector<pooled<connection>> held;
        std::set<std::uint32_t> seen;
        for (std::uint32_t i = 0; i != capacity; ++i) {
            held.push_back(cache.acquire());
            ASSERT_TRUE(held.back()) << i << " of " << capacity;
            EXPECT_TRUE(seen.insert(held.back()->index).second);
            EXPECT_LT(held.back()->index, capacity);
        }
        EXPECT_FALSE(cache.acquire());
        EXPECT_FALSE(pool.acquire());
        EXPECT_EQ(cache.take(), nullptr);
        const pool_stats full = pool.stats();
        EXPECT_EQ(full.in_use, capacity);
        EXPECT_EQ(full.high_water, capacity);
        EXPECT_EQ(full.exhausted, 3u);
        EXPECT_EQ(full.bare + full.shared + full.cached, 0u);
        EXPECT_TRUE(pool.is_valid());

        const std::uint32_t freed = held.back()->index;
        held.pop_back();
        auto again = pool.acquire();
        ASSERT_TRUE(again);
        EXPECT_EQ(again->index, freed);
    }
}

TEST_F(ObjectPool, AcquireWithoutACacheNeverHidesFreeObjects) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 40}));
    std::vector<pooled<connection>> held;
    while (auto object = pool.acquire()) held.push_back(std::move(object));
    EXPECT_EQ(held.size(), 40u);
    EXPECT_EQ(pool.stats().high_water, 40u);
    held.clear();
    EXPECT_EQ(pool.stats().shared, 40u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, OwnerMovesAndLetsGo) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 4}));
    auto first = pool.acquire();
    connection* const raw = first.get();
    pooled<connection> second{std::move(first)};
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), raw);
    auto third = pool.acquire();
    third = std::move(second);
    EXPECT_EQ(third.get(), raw);
    EXPECT_EQ(pool.stats().in_use, 1u) << "what it held before is back";
    auto& self = third;
    third = std::move(self);
    EXPECT_EQ(third.get(), raw);
    EXPECT_EQ(third.release(), raw);
    EXPECT_FALSE(third);
    EXPECT_EQ(pool.stats().in_use, 1u);
    pooled<connection> adopted{pool, raw};
    adopted.reset();
    adopted.reset();
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, HandlesGoStale) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 100}));
    local_cache<connection> cache{pool};
    auto object = cache.acquire();
    const handle first = pool.handle_of(*object);
    EXPECT_EQ(pool.find(first), object.get());
    EXPECT_EQ(pool.find(handle::from_word(first.to_word())), object.get());
    EXPECT_EQ(pool.generation(first.index()), first.tag());
    cache.release(std::move(object));
    EXPECT_EQ(pool.find(first), nullptr);
    EXPECT_EQ(pool.generation(first.index()), first.tag() + 1);

    auto again = cache.acquire();
    ASSERT_EQ(pool.index_of(*again), first.index());
    EXPECT_EQ(pool.find(first), nullptr) << "the same slot, used anew";
    EXPECT_EQ(pool.find(pool.handle_of(*again)), again.get());
    again.reset();

    cache.flush();
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(pool.find(first), nullptr) << "trimmed";
    auto after = cache.acquire();
    EXPECT_EQ(pool.find(first), nullptr) << "constructed again";

    EXPECT_EQ(pool.find(handle{}), nullptr);
    EXPECT_EQ(pool.find(handle::from_word(0)), nullptr);
    EXPECT_EQ(pool.find(handle{99, 2}), nullptr);
    EXPECT_EQ(pool.find(handle{100, 1}), nullptr) << "beyond the pool";
}

TEST_F(ObjectPool, CacheGivesBackTheHottestFirst) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 1000}));
    local_cache<connection> cache{pool};
    auto one = cache.acquire(), two = cache.acquire();
    connection* const raw_one = one.get();
    connection* const raw_two = two.get();
    cache.release(std::move(one));
    cache.release(std::move(two));
    EXPECT_EQ(cache.take(), raw_two);
    EXPECT_EQ(cache.take(), raw_one);
    cache.put(raw_one);
    cache.put(raw_two);
    cache.release({});
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, CacheIsBoundedAndMovesMagazines) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 1000}));
    local_cache<connection> cache{pool};
    std::vector<connection*> held;
    for (int i = 0; i != 300; ++i) held.push_back(cache.take());
    EXPECT_EQ(pool.stats().misses, 10u) << "one in 32 goes to the shared list";
    EXPECT_EQ(pool.stats().hits, 290u);
    for (connection* object : held) {
        cache.put(object);
        ASSERT_LE(cache.size(), cache.capacity);
        ASSERT_TRUE(pool.is_valid());
    }
    const pool_stats now = pool.stats();
    EXPECT_EQ(now.in_use, 0u);
    EXPECT_EQ(now.cached, cache.size());
    EXPECT_EQ(now.bare + now.shared + now.cached, 1000u);
    EXPECT_EQ(now.high_water, 320u);
    cache.flush();
    cache.flush();
    EXPECT_EQ(cache.size(), 0u);
    EXPECT_EQ(pool.stats().cached, 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, StatisticsOutliveTheirCaches) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 10}));
    for (int i = 0; i != 3; ++i) {
        local_cache<connection> a{pool}, b{pool}, c{pool};
        b.release(b.acquire());
        b.release(b.acquire());
    }
    EXPECT_EQ(pool.stats().hits, 3u);
    EXPECT_EQ(pool.stats().misses, 3u);
    EXPECT_EQ(pool.stats().cached, 0u);
}

TEST_F(ObjectPool, TrimReturnsWholeSlabsOnly) {
    object_pool<large> pool;
    ASSERT_FALSE(pool.open({.capacity = 10 * large_per_slab + 7}));
    std::vector<pooled<large>> held;
    while (auto object = pool.acquire()) held.push_back(std::move(object));
    ASSERT_EQ(held.size(), 10u * large_per_slab + 7);
    EXPECT_EQ(pool.trim(), 0u);

    // One object of slab 3 and one of the last, partial slab stay.
    pooled<large> keep[2];
    for (auto& object : held) {
        if (pool.index_of(*object) == 3 * large_per_slab + 5)
            keep[0] = std::move(object);
        else if (pool.index_of(*object) == 10 * large_per_slab)
            keep[1] = std::move(object);
    }
    held.clear();
    EXPECT_EQ(pool.trim(), 9u * 65536);
    pool_stats now = pool.stats();
    EXPECT_EQ(now.bare, 9u * large_per_slab);
    EXPECT_EQ(now.shared, large_per_slab - 1u + 6);
    EXPECT_EQ(now.in_use, 2u);
    EXPECT_EQ(now.bytes_retained, now.shared * 1024u);
    EXPECT_TRUE(pool.is_valid());
    EXPECT_EQ(pool.trim(), 0u) << "nothing is left to return";

    while (auto object = pool.acquire()) held.push_back(std::move(object));
    EXPECT_EQ(held.size(), 10u * large_per_slab + 5) << "trimmed slots are acquired again";
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, TrimStopsAtItsLimit) {
    object_pool<large> pool;
    ASSERT_FALSE(pool.open({.capacity = 10 * large_per_slab}));
    std::vector<pooled<large>> held;
    while (auto object = pool.acquire()) held.push_back(std::move(object));
    held.clear();
    EXPECT_EQ(pool.trim(1), 65536u);
    EXPECT_EQ(pool.stats().bare, large_per_slab);
    EXPECT_EQ(pool.trim(3 * 65536), 3u * 65536);
    EXPECT_EQ(pool.stats().bare, 4u * large_per_slab);
    EXPECT_TRUE(pool.is_valid());
}

TEST_F(ObjectPool, TrimDestroysAndAcquireConstructsAgain) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 100}));
    pool.acquire().reset();
    EXPECT_EQ(counted.made, 100);
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(counted.destroyed, 100);
    auto object = pool.acquire();
    ASSERT_TRUE(object);
    EXPECT_EQ(counted.made, 200);
    EXPECT_EQ(object->index, pool.index_of(*object));
}

TEST_F(ObjectPool, ReleaseFromAnotherThread) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 200}));
    local_cache<connection> cache{pool};
    std::vector<pooled<connection>> held;
    for (int i = 0; i != 200; ++i) held.push_back(cache.acquire());
    ASSERT_FALSE(cache.acquire());
    std::thread{[&held] { held.clear(); }}.join();
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_EQ(pool.stats().shared, 200u);
    EXPECT_TRUE(pool.is_valid());
    // One refill gathers what came back one by one.
    EXPECT_TRUE(cache.acquire());
    EXPECT_EQ(cache.size(), 31u);
}

TEST_F(ObjectPool, OverAlignedObjects) {
    struct alignas(256) aligned {
        void reset() noexcept {}
        char byte{};
    };
    object_pool<aligned> pool;
    ASSERT_FALSE(pool.open({.capacity = 100}));
    for (int i = 0; i != 100; ++i) {
        auto object = pool.acquire();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object.get()) % 256, 0u);
        static_cast<void>(object.release());
    }
    for (std::uint32_t i = 0; i != 100; ++i) pool.release(pool.at(i));
    EXPECT_TRUE(pool.is_valid());
}

#if !defined(NDEBUG)
using ObjectPoolDeathTest = ObjectPool;

TEST_F(ObjectPoolDeathTest, DoubleReleaseIsFound) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 10}));
    local_cache<connection> cache{pool};
    connection* const object = cache.take();
    cache.put(object);
    EXPECT_DEATH(cache.put(object), "released twice");
    EXPECT_DEATH(pool.release(object), "released twice");
}

TEST_F(ObjectPoolDeathTest, UseAfterReleaseIsReported) {
    connection_pool pool;
    ASSERT_FALSE(pool.open({.capacity = 10}));
    local_cache<connection> cache{pool};
    connection* const object = cache.take();
    const handle kept = pool.handle_of(*object);
    cache.put(object);
    EXPECT_EQ(pool.find(kept), nullptr) << "in any build the handle tells";
    if constexpr (detail::has_asan) {
        EXPECT_DEATH(object->value = 2, "use-after-poison");
    }
    ASSERT_EQ(cache.take(), object);
    object->value = 3;
    pool.release(object);
    if constexpr (detail::has_asan) {
        EXPECT_DEATH(object->value = 4, "use-after-poison");
    }
}

TEST_F(ObjectPoolDeathTest, ObjectsThatOutliveThePoolAreFound) {
    EXPECT_DEATH(
        {
            connection_pool pool;
            if (!pool.open({.capacity = 10})) static_cast<void>(pool.acquire().release());
        },
        "before one of its objects");
}
#endif

} // namespace
} // namespace fastserve::pool
