#include <fastserve/pool/buffer_pool.hpp>

#include <fastserve/pool/detail/mapping.hpp>

#include <algorithm>
#include <cstring>

namespace fastserve::pool {

namespace {

// What moves at once between a cache and the shared list, by class: 128 KiB to 1 MiB.
constexpr std::array<std::uint32_t, buffer_classes> magazine_slots{32, 16, 4, 2, 1};

// Once a search for free memory has found none, the next one waits until an eighth more is free or this many acquires
// were refused: a server at its budget must not walk its lists for each request that it refuses.
constexpr std::uint32_t reclaim_interval = 256;

// The distance of buffers in a class. 4 KiB buffers stand 64 bytes further apart, so that their first lines do not all
// fall into one set of the L1 cache. Larger ones get a page for the padding that is never written and thus never
// resident; a slab may then be as small as one buffer, and is trimmed the more easily.
std::size_t stride_of(std::size_t size_class) noexcept {
    return buffer_class_bytes(size_class) + (size_class == 0 ? buffer_padding : detail::page_size());
}

// The pattern covers the beginning, where a stray write through a kept view most likely goes; all of it would make a
// debug build touch every page of a 1 MiB buffer.
constexpr std::size_t pattern_bytes = 256;
constexpr unsigned char pattern = 0xDB;

} // namespace

void buffer_pool::cover(char* data, std::size_t bytes) noexcept {
    std::memset(data, pattern, pattern_bytes);
    detail::poison(data, bytes + buffer_padding);
}

void buffer_pool::uncover(char* data, std::size_t bytes) noexcept {
    detail::unpoison(data, bytes + buffer_padding);
    const auto* const first = reinterpret_cast<const unsigned char*>(data);
    if (!std::all_of(first, first + pattern_bytes, [](unsigned char byte) { return byte == pattern; })) {
        detail::misuse("a buffer was written after its release");
    }
}

bool buffer_pool::class_store::fill(std::uint32_t first, std::uint32_t count) noexcept {
    if constexpr (detail::checks) {
        for (std::uint32_t i = 0; i != count; ++i) cover(at(first + i), bytes);
    }
    return true;
}

std::error_code buffer_pool::open(const options& wanted) noexcept {
    const auto invalid = std::make_error_code(std::errc::invalid_argument);
    constexpr std::size_t max_capacity = std::numeric_limits<std::uint32_t>::max();
    if (classes_[0].is_open() || wanted.budget_bytes < min_buffer_bytes || wanted.max_buffer_bytes > max_capacity) {
        return invalid;
    }
    options_ = wanted;
    for (std::size_t i = 0; i != buffer_classes; ++i) {
        const std::size_t bytes = buffer_class_bytes(i);
        const auto fitting =
            static_cast<std::uint32_t>(std::min<std::size_t>(wanted.budget_bytes / bytes, tagged_index::null_index));
        if (fitting == 0) break;
        classes_[i].pool = this;
        classes_[i].bytes = bytes;
        const auto failed = classes_[i].open({.capacity = fitting,
                                              .stride = stride_of(i),
                                              .magazine_slots = magazine_slots[i],
                                              .slab_bytes = std::size_t{128} << 10});
        if (failed) return failed;
    }
    return {};
}

bool buffer_pool::charge(std::size_t bytes) noexcept {
    std::size_t charged = charged_.load(std::memory_order_relaxed);
    do {
        if (bytes > options_.budget_bytes - charged) return false;
    } while (!charged_.compare_exchange_weak(charged, charged + bytes, std::memory_order_relaxed,
                                             std::memory_order_relaxed));
    return true;
}

// Looks for memory that is free but retained, in any class. Whether asking again is worth it. Two threads may search at
// the same time; the numbers they leave are advice.
bool buffer_pool::reclaim(std::size_t bytes) noexcept {
    std::size_t free = 0;
    for (const class_store& store : classes_) free += store.shared() * store.bytes;
    const std::size_t futile = futile_bytes_.load(std::memory_order_relaxed);
    const std::uint32_t refused = refusals_.load(std::memory_order_relaxed);
    if (free <= futile + futile / 8 && refused < reclaim_interval) {
        refusals_.store(refused + 1, std::memory_order_relaxed);
        return false;
    }
    const bool found = trim(std::max(bytes, max_pooled_bytes)) != 0;
    futile_bytes_.store(found ? 0 : free, std::memory_order_relaxed);
    refusals_.store(0, std::memory_order_relaxed);
    return found;
}

buffer buffer_pool::acquire(std::size_t min_bytes) noexcept {
    const std::size_t size_class = buffer_class_of(min_bytes);
    if (size_class == buffer_classes) return map(min_bytes);
    class_store& store = classes_[size_class];
    if (!store.is_open()) return {};
    std::uint32_t slot = store.pop_one();
    if (slot == null_index && reclaim(store.bytes)) {
        store.retries.fetch_add(1, std::memory_order_relaxed);
        slot = store.pop_one();
    }
    return slot == null_index ? buffer{} : begin_use(size_class, store.at(slot), slot);
}

// Relaxed suffices for the counters; the pages come from the system and return to it.
buffer buffer_pool::map(std::size_t bytes) noexcept {
    const std::size_t capacity = detail::round_to_pages(bytes);
    const bool fits = bytes <= options_.max_buffer_bytes && capacity <= std::numeric_limits<std::uint32_t>::max();
    if (fits && (charge(capacity) || (reclaim(capacity) && charge(capacity)))) {
        if (char* const data = detail::map_pages(capacity + buffer_padding); data != nullptr) {
            mapped_.fetch_add(capacity, std::memory_order_relaxed);
            map_count_.fetch_add(1, std::memory_order_relaxed);
            return {*this, data, capacity, null_index};
        }
        refund(capacity);
    }
    map_failures_.fetch_add(1, std::memory_order_relaxed);
    return {};
}

void buffer_pool::release(char* data, std::size_t capacity, std::uint32_t slot) noexcept {
    const std::size_t size_class = buffer_class_of(capacity);
    if (size_class == buffer_classes) {
        detail::unmap_pages(data, capacity + buffer_padding);
        mapped_.fetch_sub(capacity, std::memory_order_relaxed);
        refund(capacity);
        return;
    }
    end_use(size_class, data, slot);
    classes_[size_class].push(&slot, 1);
}

std::size_t buffer_pool::trim(std::size_t max_bytes) noexcept {
    std::size_t returned = 0;
    for (std::size_t i = buffer_classes; i-- != 0 && returned < max_bytes;) {
        returned += classes_[i].trim(max_bytes - returned);
    }
    return returned;
}

pool_stats buffer_pool::stats(std::size_t size_class) const noexcept {
    pool_stats result = classes_[size_class].stats();
    result.exhausted -= std::min(result.exhausted, classes_[size_class].retries.load(std::memory_order_relaxed));
    return result;
}

pool_stats buffer_pool::stats() const noexcept {
    pool_stats sum;
    for (std::size_t i = 0; i != buffer_classes; ++i) {
        const pool_stats one = stats(i);
        sum.hits += one.hits;
        sum.misses += one.misses;
        sum.exhausted += one.exhausted;
        sum.capacity += one.capacity;
        sum.bare += one.bare;
        sum.shared += one.shared;
        sum.cached += one.cached;
        sum.in_use += one.in_use;
        sum.high_water += one.high_water;
        sum.bytes_retained += one.bytes_retained;
        sum.bytes_committed += one.bytes_committed;
    }
    sum.misses += map_count_.load(std::memory_order_relaxed);
    sum.exhausted += map_failures_.load(std::memory_order_relaxed);
    sum.bytes_committed += mapped_bytes();
    return sum;
}

bool buffer_pool::is_valid() const noexcept {
    std::size_t constructed = mapped_bytes();
    for (const class_store& store : classes_) {
        if (!store.is_valid()) return false;
        const pool_stats one = store.stats();
        constructed += (one.capacity - one.bare) * store.bytes;
    }
    return constructed == charged_bytes() && charged_bytes() <= options_.budget_bytes;
}

buffer_cache::buffer_cache(buffer_pool& pool) noexcept
    : pool_{&pool}, caches_{{detail::slot_cache{pool.classes_[0]}, detail::slot_cache{pool.classes_[1]},
                             detail::slot_cache{pool.classes_[2]}, detail::slot_cache{pool.classes_[3]},
                             detail::slot_cache{pool.classes_[4]}}} {}

buffer buffer_cache::acquire_slow(std::size_t size_class) noexcept {
    buffer_pool::class_store& store = pool_->classes_[size_class];
    if (!store.is_open() || !pool_->reclaim(store.bytes)) return {};
    store.retries.fetch_add(1, std::memory_order_relaxed);
    const detail::slot_cache::entry taken = caches_[size_class].take();
    return taken.data == nullptr ? buffer{} : pool_->begin_use(size_class, taken.data, taken.slot);
}

void buffer_cache::flush() noexcept {
    for (detail::slot_cache& cache : caches_) cache.flush();
}

std::size_t buffer_cache::size_bytes() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i != buffer_classes; ++i) bytes += caches_[i].size() * buffer_class_bytes(i);
    return bytes;
}

} // namespace fastserve::pool
