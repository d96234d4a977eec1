// A worker's own stack of free slots over a slot_store.
//
// Thread safety: one thread at a time, which is the whole point; the counters alone are read by others.
//
// Invariants: `count` slots, at most twice the store's magazine; each is free (its generation is even) and in no list.
// The counters are atomic for the sake of their readers and are stored, never added to: only the owner writes them.
#pragma once

#include <fastserve/pool/detail/slot_store.hpp>

#include <atomic>
#include <cstdint>

namespace fastserve::pool::detail {

// On lines of its own: two workers' caches may lie side by side.
class alignas(64) slot_cache {
public:
    // The most any cache holds: two magazines, so that a worker that goes back and forth across a border between them
    // does not move one each time.
    static constexpr std::uint32_t max_slots = 2 * slot_store::max_magazine_slots;

    explicit slot_cache(slot_store& store) noexcept : store_{&store}, limit_{2 * store.magazine_slots()} {
        store.enrol(*this);
    }
    slot_cache(const slot_cache&) = delete;
    slot_cache& operator=(const slot_cache&) = delete;
    ~slot_cache() {
        flush();
        store_->retire(*this);
    }

    // The slot put back last, or null_index when the store is exhausted.
    std::uint32_t take() noexcept {
        const std::uint32_t count = count_.load(std::memory_order_relaxed);
        if (count == 0) [[unlikely]]
            return take_slow();
        count_.store(count - 1, std::memory_order_relaxed);
        takes_.store(takes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return slots_[count - 1];
    }

    void put(std::uint32_t slot) noexcept {
        std::uint32_t count = count_.load(std::memory_order_relaxed);
        if (count == limit_) [[unlikely]]
            count = spill();
        slots_[count] = slot;
        count_.store(count + 1, std::memory_order_relaxed);
    }

    // Gives everything to the shared list.
    void flush() noexcept;

    std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
    slot_store& store() const noexcept { return *store_; }

private:
    friend class slot_store;

    std::uint32_t take_slow() noexcept;
    std::uint32_t spill() noexcept;

    slot_store* store_;
    std::uint32_t limit_;
    std::atomic<std::uint32_t> count_{0};
    std::atomic<std::uint64_t> takes_{0};
    std::atomic<std::uint64_t> misses_{0};
    std::atomic<std::uint64_t> exhausted_{0};
    slot_cache* next_ = nullptr; // in the store's registry
    slot_cache* previous_ = nullptr;
    std::uint32_t slots_[max_slots];
};

} // namespace fastserve::pool::detail
