#include <fastserve/pool/buffer_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <sys/mman.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fastserve::pool {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

static_assert(std::is_nothrow_move_constructible_v<buffer> && !std::is_copy_constructible_v<buffer>);
static_assert(buffer_class_bytes(0) == 4 * kib && buffer_class_bytes(buffer_classes - 1) == mib);
static_assert(buffer_class_of(0) == 0 && buffer_class_of(4 * kib) == 0 && buffer_class_of(4 * kib + 1) == 1);
static_assert(buffer_class_of(mib) == buffer_classes - 1 && buffer_class_of(mib + 1) == buffer_classes);

// Reads as a SIMD kernel does, so that neither compiler nor sanitizer overlooks it.
unsigned read_all(const char* data, std::size_t bytes) {
    unsigned sum = 0;
    for (std::size_t i = 0; i != bytes; ++i)
        sum += static_cast<unsigned char>(static_cast<const volatile char*>(data)[i]);
    return sum;
}

TEST(BufferPool, OpenRejectsWhatCannotBe) {
    buffer_pool pool;
    EXPECT_EQ(pool.open({.budget_bytes = 100}), std::errc::invalid_argument);
    EXPECT_EQ(pool.open({.max_buffer_bytes = std::size_t{1} << 32}), std::errc::invalid_argument);
    EXPECT_FALSE(pool.open({}));
    EXPECT_EQ(pool.open({}), std::errc::invalid_argument);
}

TEST(BufferPool, ClosedPoolIsExhausted) {
    buffer_pool pool;
    buffer_cache cache{pool};
    EXPECT_FALSE(pool.acquire(1));
    EXPECT_FALSE(cache.acquire(1));
    EXPECT_FALSE(cache.acquire(2 * mib));
    EXPECT_EQ(pool.trim(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, GivesAtLeastWhatIsAskedAndPaddingIsReadable) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 256 * mib, .max_buffer_bytes = 8 * mib}));
    buffer_cache cache{pool};
    for (const std::size_t wanted :
         {std::size_t{0}, std::size_t{1}, 4 * kib - 1, 4 * kib, 4 * kib + 1, 16 * kib, 16 * kib + 1, 64 * kib,
          64 * kib + 1, 256 * kib, 256 * kib + 1, mib, mib + 1, 4 * mib, 8 * mib}) {
        for (const bool through_cache : {true, false}) {
            // Several, so that some of them are the last of their slab.
            std::vector<buffer> held;
            for (int i = 0; i != 3; ++i) {
                buffer one = through_cache ? cache.acquire(wanted) : pool.acquire(wanted);
                ASSERT_TRUE(one) << wanted;
                ASSERT_GE(one.capacity(), wanted);
                std::memset(one.data(), 1, one.capacity());
                EXPECT_EQ(read_all(one.data(), one.capacity()), one.capacity());
                read_all(one.data() + one.capacity(), buffer_padding);
                held.push_back(std::move(one));
            }
        }
    }
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_EQ(pool.mapped_bytes(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, PaddingOfTheLastBufferOfAClassIsReadable) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 3 * mib}));
    for (std::size_t size_class = 0; size_class != buffer_classes; ++size_class) {
        std::vector<buffer> held;
        while (buffer one = pool.acquire(buffer_class_bytes(size_class))) {
            read_all(one.data() + one.capacity() - 1, 1 + buffer_padding);
            held.push_back(std::move(one));
        }
        EXPECT_EQ(held.size(), 3 * mib / buffer_class_bytes(size_class));
        held.clear();
        pool.trim();
    }
}

TEST(BufferPool, BuffersDoNotOverlap) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 16 * mib}));
    buffer_cache cache{pool};
    std::vector<buffer> held;
    std::set<std::pair<const char*, const char*>> ranges;
    for (int i = 0; i != 300; ++i) {
        held.push_back(cache.acquire(std::array{kib, 16 * kib, 60 * kib}[static_cast<std::size_t>(i) % 3]));
        ASSERT_TRUE(held.back());
        ranges.emplace(held.back().data(), held.back().data() + held.back().capacity() + buffer_padding);
    }
    const char* end = nullptr;
    for (const auto& [from, to] : ranges) {
        EXPECT_GE(from, end);
        end = to;
    }
    EXPECT_EQ(ranges.size(), 300u);
}

TEST(BufferPool, OwnerMovesAndLetsGo) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({}));
    buffer first = pool.acquire(100);
    char* const data = first.data();
    buffer second{std::move(first)};
    EXPECT_FALSE(first);
    EXPECT_EQ(first.capacity(), 0u);
    EXPECT_EQ(second.data(), data);
    first = pool.acquire(100);
    first = std::move(second);
    EXPECT_EQ(first.data(), data);
    EXPECT_EQ(pool.stats(0).in_use, 1u);
    first.reset();
    first.reset();
    EXPECT_EQ(pool.stats(0).in_use, 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, BudgetIsKept) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 2 * mib, .max_buffer_bytes = 4 * mib}));
    buffer_cache cache{pool};
    std::vector<buffer> held;
    while (buffer one = cache.acquire(256 * kib)) held.push_back(std::move(one));
    EXPECT_EQ(held.size(), 8u);
    EXPECT_EQ(pool.charged_bytes(), 2 * mib);
    EXPECT_FALSE(cache.acquire(1));
    EXPECT_FALSE(pool.acquire(1));
    EXPECT_FALSE(pool.acquire(2 * mib));
    EXPECT_EQ(pool.stats().exhausted, 4u) << "256 KiB, 4 KiB twice, 2 MiB";
    held.clear();
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, MemoryOfOneClassServesAnother) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 2 * mib, .max_buffer_bytes = 4 * mib}));
    {
        std::vector<buffer> held;
        while (buffer one = pool.acquire(64 * kib)) held.push_back(std::move(one));
        EXPECT_EQ(held.size(), 32u);
    }
    EXPECT_EQ(pool.charged_bytes(), 2 * mib) << "retained";
    EXPECT_EQ(pool.stats().bytes_retained / (2 * mib), 1u);
    buffer_cache cache{pool};
    buffer small = cache.acquire(1);
    EXPECT_TRUE(small) << "what is retained elsewhere is reclaimed";
    EXPECT_EQ(pool.stats().exhausted, 1u) << "the one that filled the budget";
    small.reset();
    cache.flush();
    EXPECT_TRUE(pool.acquire(2 * mib)) << "for mapped buffers too";
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, LargerThanTheBoundIsNothing) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 64 * mib, .max_buffer_bytes = 4 * mib}));
    buffer_cache cache{pool};
    buffer whole_body = cache.acquire(4 * mib);
    ASSERT_TRUE(whole_body);
    EXPECT_EQ(pool.mapped_bytes(), 4 * mib);
    EXPECT_FALSE(cache.acquire(4 * mib + 1));
    EXPECT_FALSE(pool.acquire(std::numeric_limits<std::size_t>::max()));
    cache.release(std::move(whole_body));
    EXPECT_EQ(pool.mapped_bytes(), 0u) << "nothing of this size is retained";
    EXPECT_EQ(pool.charged_bytes(), 0u);
}

TEST(BufferPool, TrimReturnsEverythingThatIsFree) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 64 * mib}));
    buffer_cache cache{pool};
    std::vector<buffer> held;
    for (std::size_t size_class = 0; size_class != buffer_classes; ++size_class) {
        for (int i = 0; i != 5; ++i) held.push_back(cache.acquire(buffer_class_bytes(size_class)));
    }
    buffer keep = cache.acquire(64 * kib);
    for (buffer& one : held) cache.release(std::move(one));
    EXPECT_GT(cache.size_bytes(), 0u);
    cache.flush();
    EXPECT_EQ(cache.size_bytes(), 0u);
    EXPECT_GT(pool.trim(), 5 * mib);
    EXPECT_EQ(pool.charged_bytes(), 128 * kib) << "the slab of the one in use";
    EXPECT_TRUE(pool.is_valid());
    keep.reset();
    pool.trim();
    EXPECT_EQ(pool.charged_bytes(), 0u);
    EXPECT_EQ(pool.stats().bytes_retained, 0u);
    EXPECT_TRUE(cache.acquire(mib));
}

// Whether the pages of a range take memory; false too when nothing is mapped there.
bool is_resident(const char* data, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(data) / page * page;
    std::vector<unsigned char> pages((reinterpret_cast<std::uintptr_t>(data) + bytes - first + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(first), pages.size() * page, pages.data()) != 0) return false;
    return std::any_of(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1) != 0; });
}

TEST(BufferPool, TrimGivesThePagesBackToTheSystem) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 64 * mib}));
    for (std::size_t size_class = 0; size_class != buffer_classes; ++size_class) {
        buffer one = pool.acquire(buffer_class_bytes(size_class));
        ASSERT_TRUE(one);
        const char* const data = one.data();
        std::memset(one.data(), 1, one.capacity());
        EXPECT_TRUE(is_resident(data, one.capacity()));
        one.reset();
        EXPECT_TRUE(is_resident(data, buffer_class_bytes(size_class))) << "retained";
        pool.trim();
        EXPECT_FALSE(is_resident(data, buffer_class_bytes(size_class)));
    }
}

TEST(BufferPool, CacheIsBounded) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 512 * mib}));
    buffer_cache cache{pool};
    for (std::size_t size_class = 0; size_class != buffer_classes; ++size_class) {
        std::vector<buffer> held;
        for (int i = 0; i != 100; ++i) held.push_back(cache.acquire(buffer_class_bytes(size_class)));
        for (buffer& one : held) cache.release(std::move(one));
    }
    EXPECT_LE(cache.size_bytes(), 64 * 4 * kib + 32 * 16 * kib + 8 * 64 * kib + 4 * 256 * kib + 2 * mib);
    EXPECT_TRUE(pool.is_valid());
}

TEST(BufferPool, ReleaseFromAnotherThread) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({.budget_bytes = 16 * mib, .max_buffer_bytes = 2 * mib}));
    buffer_cache cache{pool};
    std::vector<buffer> held;
    for (const std::size_t wanted : {kib, 16 * kib, 64 * kib, 256 * kib, mib, 2 * mib})
        held.push_back(cache.acquire(wanted));
    std::thread{[&held] { held.clear(); }}.join();
    EXPECT_EQ(pool.stats().in_use, 0u);
    EXPECT_EQ(pool.mapped_bytes(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

#if !defined(NDEBUG)
TEST(BufferPoolDeathTest, UseAfterReleaseIsFound) {
    buffer_pool pool;
    ASSERT_FALSE(pool.open({}));
    buffer_cache cache{pool};
    buffer one = cache.acquire(100);
    char* const data = one.data();
    cache.release(std::move(one));
    if constexpr (detail::has_asan) {
        EXPECT_DEATH(read_all(data, 1), "use-after-poison");
        EXPECT_DEATH(data[10] = 'x', "use-after-poison");
    } else {
        const char before = std::exchange(data[10], 'x');
        EXPECT_DEATH(static_cast<void>(cache.acquire(100)), "written after its release");
        data[10] = before;
    }
}
#endif

} // namespace
} // namespace fastserve::pool
