// Byte buffers of five sizes, each followed by readable padding, within one budget.
//
// Thread safety: buffer_pool's acquire, stats and trim, and the destruction of a buffer, may be called from any thread.
// open and the pool's destructor are for one thread while nobody else uses it. A buffer_cache belongs to one thread at
// a time; buffers taken from it may be released anywhere.
//
// Invariants: each class is a detail::slot_store, with its accounting equation. `charged` == the capacities of the
// buffers in constructed slabs of all classes + those of the mapped buffers, and never exceeds the budget.
#pragma once

#include <fastserve/pool/detail/poison.hpp>
#include <fastserve/pool/detail/slot_cache.hpp>
#include <fastserve/pool/detail/slot_store.hpp>
#include <fastserve/pool/stats.hpp>
#include <fastserve/pool/tagged_index.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

namespace fastserve::pool {

class buffer_pool;
class buffer_cache;

// Bytes behind every buffer's capacity that may be read: a SIMD kernel may load a whole 64-byte block that begins at
// the last byte. What is read there means nothing, and nobody writes it.
inline constexpr std::size_t buffer_padding = 64;

// 4 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB.
inline constexpr std::size_t buffer_classes = 5;
inline constexpr std::size_t min_buffer_bytes = std::size_t{4} << 10;
inline constexpr std::size_t max_pooled_bytes = std::size_t{1} << 20;
constexpr std::size_t buffer_class_bytes(std::size_t size_class) noexcept {
    return min_buffer_bytes << 2 * size_class;
}
// The smallest class that holds `bytes`; buffer_classes when none does.
constexpr std::size_t buffer_class_of(std::size_t bytes) noexcept {
    const auto width =
        static_cast<std::size_t>(std::bit_width(bytes > min_buffer_bytes ? bytes - 1 : min_buffer_bytes - 1));
    const std::size_t size_class = (width - 11) / 2;
    return size_class < buffer_classes ? size_class : buffer_classes;
}

// Owns a buffer, or nothing. Move-only; destroying it releases the buffer to the shared list, from any thread. A worker
// gives it to its buffer_cache instead. The content of a fresh buffer means nothing. The pool must outlive it.
class [[nodiscard]] buffer {
public:
    buffer() noexcept = default;
    buffer(buffer&& other) noexcept
        : data_{std::exchange(other.data_, nullptr)}, pool_{other.pool_}, capacity_{std::exchange(other.capacity_, 0)},
          slot_{other.slot_} {}
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            reset();
            data_ = std::exchange(other.data_, nullptr);
            pool_ = other.pool_;
            capacity_ = std::exchange(other.capacity_, 0);
            slot_ = other.slot_;
        }
        return *this;
    }
    ~buffer() { reset(); }

    // False when the pool was exhausted.
    explicit operator bool() const noexcept { return data_ != nullptr; }
    char* data() const noexcept { return data_; }
    // Bytes that may be written; buffer_padding more may be read. At least what was asked for.
    std::size_t capacity() const noexcept { return capacity_; }
    // Releases the buffer now.
    inline void reset() noexcept;

private:
    friend class buffer_pool;
    friend class buffer_cache;

    buffer(buffer_pool& pool, char* data, std::size_t capacity, std::uint32_t slot) noexcept
        : data_{data}, pool_{&pool}, capacity_{static_cast<std::uint32_t>(capacity)}, slot_{slot} {}

    // Told by the capacity, which is known long before the slot comes out of a cache. buffer_classes: mapped.
    std::size_t size_class() const noexcept { return buffer_class_of(capacity_); }

    char* data_ = nullptr;
    buffer_pool* pool_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t slot_ = 0;
};
static_assert(sizeof(buffer) == 24, "small enough to lie in every connection");

class buffer_pool {
public:
    struct options {
        // The most memory that buffers, handed out and retained together, may take: their capacities, without the
        // padding. Memory is charged a slab at a time (64 buffers of 4 KiB, 8 of 16 KiB, 2 of 64 KiB, single larger
        // ones), so that less may be usable when the classes are mixed.
        std::size_t budget_bytes = std::size_t{256} << 20;
        // Larger requests than this get nothing. Between 1 MiB and this each buffer is mapped from the system and
        // unmapped when it is released. At most 4 GiB - 1.
        std::size_t max_buffer_bytes = std::size_t{16} << 20;
    };

    // A closed pool, which is exhausted.
    buffer_pool() noexcept = default;
    buffer_pool(const buffer_pool&) = delete;
    buffer_pool& operator=(const buffer_pool&) = delete;

    // Once. Fails with invalid_argument for numbers out of range, otherwise with the system's error.
    [[nodiscard]] std::error_code open(const options& wanted) noexcept;

    // A buffer of at least `min_bytes` for a thread without a cache; empty when the budget is spent or `min_bytes` is
    // above max_buffer_bytes. Takes a lock.
    buffer acquire(std::size_t min_bytes) noexcept;

    // Returns memory of free buffers to the system, whole slabs, up to about `max_bytes`; the bytes returned. What
    // caches hold is not free: flush them.
    std::size_t trim(std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) noexcept;

    // Of one class (slots are buffers), and the sum over all.
    pool_stats stats(std::size_t size_class) const noexcept;
    pool_stats stats() const noexcept;
    // Bytes charged to the budget now, and the part of them in buffers above 1 MiB.
    std::size_t charged_bytes() const noexcept { return charged_.load(std::memory_order_relaxed); }
    std::size_t mapped_bytes() const noexcept { return mapped_.load(std::memory_order_relaxed); }
    // The equations, by counting; only while nobody uses the pool.
    bool is_valid() const noexcept;

private:
    friend class buffer;
    friend class buffer_cache;

    class class_store final : public detail::slot_store {
    public:
        ~class_store() { close(); }
        buffer_pool* pool = nullptr;
        std::size_t bytes = 0;                 // capacity of each
        std::atomic<std::uint64_t> retries{0}; // acquires that failed, and were tried again after a reclaim

    private:
        bool fill(std::uint32_t first, std::uint32_t count) noexcept override;
        void drain(std::uint32_t, std::uint32_t) noexcept override {}
        bool charge(std::uint32_t slots) noexcept override { return pool->charge(slots * bytes); }
        void refund(std::uint32_t slots) noexcept override { pool->refund(slots * bytes); }
    };

    buffer begin_use(std::size_t size_class, char* data, std::uint32_t slot) noexcept {
        classes_[size_class].begin_use(slot);
        const std::size_t bytes = buffer_class_bytes(size_class);
        if constexpr (detail::checks) uncover(data, bytes);
        return {*this, data, bytes, slot};
    }
    void end_use(std::size_t size_class, char* data, std::uint32_t slot) noexcept {
        classes_[size_class].end_use(slot);
        if constexpr (detail::checks) cover(data, buffer_class_bytes(size_class));
    }
    // In checked builds: writes a pattern over a free buffer and forbids its use; looks whether the pattern is whole.
    static void cover(char* data, std::size_t bytes) noexcept;
    static void uncover(char* data, std::size_t bytes) noexcept;

    // What a buffer consists of, so that the owner itself can live in registers.
    void release(char* data, std::size_t capacity, std::uint32_t slot) noexcept;
    buffer map(std::size_t bytes) noexcept;
    bool reclaim(std::size_t bytes) noexcept;
    bool charge(std::size_t bytes) noexcept;
    void refund(std::size_t bytes) noexcept { charged_.fetch_sub(bytes, std::memory_order_relaxed); }

    options options_{.budget_bytes = 0, .max_buffer_bytes = 0};
    std::atomic<std::size_t> charged_{0};
    std::atomic<std::size_t> mapped_{0};
    std::atomic<std::uint64_t> map_count_{0};
    std::atomic<std::uint64_t> map_failures_{0};
    // The last search for memory that found none: how much was free then, how many acquires it has refused since.
    std::atomic<std::size_t> futile_bytes_{0};
    std::atomic<std::uint32_t> refusals_{0};
    std::array<class_store, buffer_classes> classes_;
};

inline void buffer::reset() noexcept {
    if (data_ == nullptr) return;
    pool_->release(std::exchange(data_, nullptr), std::exchange(capacity_, 0), slot_);
}

// A worker's own buffers. Holds at most 64 of 4 KiB, 32 of 16 KiB, 8 of 64 KiB, 4 of 256 KiB and 2 of 1 MiB: 4.25 MiB.
class buffer_cache {
public:
    // The pool is open and outlives the cache. The destructor flushes.
    explicit buffer_cache(buffer_pool& pool) noexcept;
    buffer_cache(const buffer_cache&) = delete;
    buffer_cache& operator=(const buffer_cache&) = delete;

    // A buffer of at least `min_bytes`; empty when the budget is spent or `min_bytes` is above max_buffer_bytes.
    buffer acquire(std::size_t min_bytes) noexcept {
        const std::size_t size_class = buffer_class_of(min_bytes);
        if (size_class == buffer_classes) [[unlikely]]
            return pool_->map(min_bytes);
        const detail::slot_cache::entry taken = caches_[size_class].take();
        if (taken.data == nullptr) [[unlikely]]
            return acquire_slow(size_class);
        return pool_->begin_use(size_class, taken.data, taken.slot);
    }
    // Keeps the buffer for the next acquire; it comes from the same pool, by whichever way. Nothing happens to an empty
    // one.
    void release(buffer&& released) noexcept {
        if (released) keep(std::move(released));
    }

    // Gives every buffer to the shared lists. For a worker that is about to sleep.
    void flush() noexcept;
    // Bytes of the buffers held now.
    std::size_t size_bytes() const noexcept;
    buffer_pool& pool() const noexcept { return *pool_; }

private:
    buffer acquire_slow(std::size_t size_class) noexcept;
    void keep(buffer&& released) noexcept {
        const std::size_t size_class = released.size_class();
        if (size_class == buffer_classes) [[unlikely]]
            return released.reset();
        char* const data = std::exchange(released.data_, nullptr);
        released.capacity_ = 0;
        pool_->end_use(size_class, data, released.slot_);
        caches_[size_class].put(data, released.slot_);
    }

    buffer_pool* pool_;
    std::array<detail::slot_cache, buffer_classes> caches_;
};

} // namespace fastserve::pool
