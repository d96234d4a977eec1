// Threads that use one pool at once. Each object carries a plain word that names its owner: a double hand-out shows as
// a wrong word in any build and as a data race under ThreadSanitizer.
#include <fastserve/pool/buffer_pool.hpp>
#include <fastserve/pool/free_list.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::pool {
namespace {

constexpr unsigned threads = 4;

std::uint32_t new_seed() {
    const auto seed = static_cast<std::uint32_t>(::testing::UnitTest::GetInstance()->random_seed());
    return seed != 0 ? seed : std::random_device{}();
}

// Runs f(number, generator) on each thread, all at once.
template <class F>
void run_all(F f) {
    const std::uint32_t seed = new_seed();
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::printf("seed %u\n", seed);
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> running;
    for (unsigned number = 1; number <= threads; ++number) {
        running.emplace_back([&, number] {
            std::mt19937 random{seed + number};
            ready.fetch_add(1, std::memory_order_acq_rel);
            while (ready.load(std::memory_order_acquire) != threads) std::this_thread::yield();
            f(number, random);
        });
    }
    for (std::thread& one : running) one.join();
}

// Where threads leave things for each other, so that releases happen on another thread than acquires.
template <class T>
class mailbox {
public:
    void put(T item) {
        const std::lock_guard lock{mutex_};
        items_.push_back(std::move(item));
    }
    T take() {
        const std::lock_guard lock{mutex_};
        if (items_.empty()) return T{};
        T item = std::move(items_.back());
        items_.pop_back();
        return item;
    }
    void clear() { items_.clear(); }

private:
    std::mutex mutex_;
    std::vector<T> items_;
};

struct owned {
    void reset() noexcept { owner = 0; }
    void claim(unsigned who) { EXPECT_EQ(std::exchange(owner, who), 0u) << "handed out twice"; }
    // What a new owner finds is what the last one left.
    void hand_over(unsigned from, unsigned to) { EXPECT_EQ(std::exchange(owner, to), from); }
    unsigned owner = 0;
    std::array<char, 1000> rest{};
};

TEST(Stress, FreeListHandsEachSlotToOneThread) {
    // Few magazines of different lengths, so that heads come back soon.
    constexpr std::uint32_t slots = 12;
    std::array<free_list<>::link, slots> next;
    std::array<free_list<>::magazine_link, slots> next_magazine{};
    std::array<unsigned, slots> owner{};
    free_list<> list;
    list.attach(next.data(), next_magazine.data());
    for (std::uint32_t slot = 0; slot != slots; ++slot) list.push(&slot, 1);

    run_all([&](unsigned number, std::mt19937& random) {
        std::vector<std::uint32_t> held;
        std::array<std::uint32_t, free_list<>::magazine_slots> some;
        for (int i = 0; i != 30'000; ++i) {
            const unsigned choice = random() % 8;
            if (choice < 4) {
                const std::uint32_t count = list.pop(some.data());
                held.insert(held.end(), some.begin(), some.begin() + count);
                for (std::uint32_t k = 0; k != count; ++k) ASSERT_EQ(std::exchange(owner[some[k]], number), 0u);
            } else if (choice == 4) {
                for (auto magazine = list.take_all(); magazine != null_index; magazine = list.next_magazine(magazine)) {
                    for (auto slot = magazine; slot != null_index; slot = list.next(slot)) {
                        ASSERT_EQ(std::exchange(owner[slot], number), 0u);
                        held.push_back(slot);
                    }
                }
            } else if (!held.empty()) {
                const auto count = static_cast<std::uint32_t>(1 + random() % held.size());
                for (std::uint32_t k = 0; k != count; ++k) {
                    some[k] = held.back();
                    held.pop_back();
                    ASSERT_EQ(std::exchange(owner[some[k]], 0u), number);
                }
                list.push(some.data(), count);
            }
        }
        for (const std::uint32_t slot : held) {
            owner[slot] = 0;
            list.push(&slot, 1);
        }
    });

    std::array<std::uint32_t, free_list<>::magazine_slots> some;
    std::uint32_t total = 0;
    while (const std::uint32_t count = list.pop(some.data())) total += count;
    EXPECT_EQ(total, slots);
}

// Caches, foreign releases, acquires without a cache, flushes and trims.
void share_a_pool_of(std::uint32_t capacity) {
    constexpr unsigned in_transit = 100;
    object_pool<owned> pool;
    ASSERT_FALSE(pool.open({.capacity = capacity}));
    mailbox<pooled<owned>> mail;

    run_all([&](unsigned number, std::mt19937& random) {
        local_cache<owned> cache{pool};
        std::vector<pooled<owned>> held;
        for (int i = 0; i != 20'000; ++i) {
            switch (const unsigned choice = random() % 16; choice) {
            default:
                if (auto object = choice == 0 ? pool.acquire() : cache.acquire()) {
                    object->claim(number);
                    ASSERT_EQ(pool.find(pool.handle_of(*object)), object.get());
                    held.push_back(std::move(object));
                }
                break;
            case 7:
            case 8:
            case 9:
            case 10:
            case 11:
                if (held.empty()) break;
                held.back()->hand_over(number, in_transit);
                if (choice == 7)
                    mail.put(std::move(held.back()));
                else if (choice == 8)
                    held.back().reset();
                else
                    cache.release(std::move(held.back()));
                held.pop_back();
                break;
            case 12:
            case 13:
                if (auto object = mail.take()) {
                    object->hand_over(in_transit, number);
                    held.push_back(std::move(object));
                }
                break;
            case 14:
                if (random() % 64 != 0) break;
                for (auto& object : held) cache.release(std::move(object));
                held.clear();
                cache.flush();
                break;
            case 15:
                if (random() % 64 == 0) pool.trim();
                break;
            }
        }
    });

    mail.clear();
    EXPECT_TRUE(pool.is_valid());
    const pool_stats now = pool.stats();
    EXPECT_EQ(now.in_use, 0u);
    EXPECT_EQ(now.bare + now.shared, capacity);
    EXPECT_GT(pool.trim() + now.bare, 0u);
    EXPECT_EQ(pool.stats().bare, capacity) << "no slot was lost";
}

TEST(Stress, PoolHandsEachObjectToOneThread) {
    share_a_pool_of(500);
}
TEST(Stress, ExhaustedPoolHandsEachObjectToOneThread) {
    share_a_pool_of(40);
}

// The list is empty most of the time: an acquire without a cache meets magazines that come back while it waits for the
// lock, of which it may take one object only.
TEST(Stress, AcquireWithoutACacheLosesNothing) {
    constexpr std::uint32_t capacity = 34;
    object_pool<owned> pool;
    ASSERT_FALSE(pool.open({.capacity = capacity}));
    run_all([&](unsigned number, std::mt19937& random) {
        local_cache<owned> cache{pool};
        for (int i = 0; i != 60'000; ++i) {
            if (number != threads) {
                if (auto object = pool.acquire()) object->claim(number);
            } else {
                cache.release(cache.acquire());
                if (random() % 2 == 0) cache.flush();
            }
        }
    });
    EXPECT_TRUE(pool.is_valid());
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_EQ(pool.stats().shared + pool.stats().bare, capacity);
}

// One thread trims all the time while the others empty and fill the pool: none of them may be told that it is
// exhausted, for there is always enough for all.
TEST(Stress, TrimNeverMakesAPoolLookExhausted) {
    constexpr std::uint32_t each = 70;
    constexpr std::uint32_t capacity = object_pool<owned>::capacity_for((threads - 1) * each, threads - 1);
    object_pool<owned> pool;
    ASSERT_FALSE(pool.open({.capacity = capacity}));
    std::atomic<unsigned> working{threads - 1};

    run_all([&](unsigned number, std::mt19937& random) {
        if (number == threads) {
            while (working.load(std::memory_order_acquire) != 0) {
                pool.trim(random() % 2 == 0 ? 1 : 1'000'000);
                std::this_thread::yield();
            }
            return;
        }
        {
            local_cache<owned> cache{pool};
            std::vector<pooled<owned>> held;
            for (int round = 0; round != 150; ++round) {
                for (std::uint32_t i = 0; i != each; ++i) {
                    held.push_back(cache.acquire());
                    EXPECT_TRUE(held.back());
                    if (held.back()) held.back()->claim(number);
                }
                for (auto& object : held) cache.release(std::move(object));
                held.clear();
                cache.flush();
            }
        }
        working.fetch_sub(1, std::memory_order_acq_rel);
    });
    EXPECT_EQ(pool.stats().exhausted, 0u);
    EXPECT_TRUE(pool.is_valid());
}

// Buffers of all classes and above within a budget that is too small for all.
TEST(Stress, BuffersAreHandedToOneThread) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = std::size_t{4} << 20, .max_buffer_bytes = std::size_t{2} << 20}));
    mailbox<buffer> mail;
    constexpr std::array<std::size_t, 6> sizes{1, 5'000, 20'000, 100'000, 300'000, 1'200'000};

    run_all([&](unsigned number, std::mt19937& random) {
        buffer_cache cache{pool};
        std::vector<buffer> held;
        const auto mark = [](const buffer& one, unsigned by) { std::memcpy(one.data(), &by, sizeof by); };
        const auto marked = [](const buffer& one) {
            unsigned by = 0;
            std::memcpy(&by, one.data(), sizeof by);
            return by;
        };
        for (int i = 0; i != 10'000; ++i) {
            const unsigned choice = random() % 8;
            if (choice < 3) {
                const std::size_t wanted = sizes[random() % (i % 50 == 0 ? 6 : 4)];
                if (buffer one = choice == 0 ? pool.acquire(wanted) : cache.acquire(wanted)) {
                    ASSERT_GE(one.capacity(), wanted);
                    mark(one, number);
                    held.push_back(std::move(one));
                }
            } else if (choice < 6 && !held.empty()) {
                ASSERT_EQ(marked(held.back()), number) << "somebody else wrote here";
                if (choice == 3) {
                    mail.put(std::move(held.back()));
                } else {
                    cache.release(std::move(held.back()));
                }
                held.pop_back();
            } else if (choice == 6) {
                if (buffer one = mail.take()) mark(one, number), held.push_back(std::move(one));
            } else if (random() % 32 == 0) {
                held.clear();
                cache.flush();
                pool.trim();
            }
        }
    });

    mail.clear();
    EXPECT_TRUE(pool.is_valid());
    pool.trim();
    EXPECT_EQ(pool.charged_bytes(), 0u);
    EXPECT_EQ(pool.stats().in_use, 0u);
}

// Statistics are read while others work; what they say at the end is exact.
TEST(Stress, StatisticsMayBeReadMeanwhile) {
    constexpr int rounds = 20'000;
    object_pool<owned> pool;
    ASSERT_FALSE(pool.open({.capacity = 1000}));
    run_all([&](unsigned number, std::mt19937&) {
        if (number == threads) {
            for (int i = 0; i != 200; ++i) {
                const pool_stats now = pool.stats();
                ASSERT_LE(now.hits + now.misses, std::uint64_t{(threads - 1) * rounds});
                ASSERT_EQ(now.capacity, 1000u);
                std::this_thread::yield();
            }
            return;
        }
        local_cache<owned> cache{pool};
        for (int i = 0; i != rounds; ++i) cache.release(cache.acquire());
    });
    EXPECT_EQ(pool.stats().hits + pool.stats().misses, std::uint64_t{(threads - 1) * rounds});
    EXPECT_EQ(pool.stats().misses, threads - 1);
}

} // namespace
} // namespace fastserve::pool
