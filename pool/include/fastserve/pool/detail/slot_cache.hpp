// A worker's own stack of free slots over a slot_store.
//
// Thread safety: one thread at a time, which is the whole point; the counters alone are read by others.
//
// Invariants: `count` slots, at most twice the store's magazine; each is free and in no list.
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

    // A slot with its address: what is put is taken as it was, without a multiplication on the way that the next user
    // of the object has to wait for.
    struct entry {
        char* data = nullptr;
        std::uint32_t slot = null_index;
    };

    // The slot put back last; data is null when the store is exhausted.
    entry take() noexcept {
        const std::uint32_t count = count_.load(std::memory_order_relaxed);
        if (count == 0) [[unlikely]]
            return take_slow();
        count_.store(count - 1, std::memory_order_relaxed);
        takes_.store(takes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        // Member by member, as they were stored: one wide load would have to wait for two narrow stores to retire.
        return {entries_[count - 1].data, entries_[count - 1].slot};
    }

    void put(char* data, std::uint32_t slot) noexcept {
        std::uint32_t count = count_.load(std::memory_order_relaxed);
        if (count == limit_) [[unlikely]]
            count = spill();
        entries_[count].data = data;
        entries_[count].slot = slot;
        count_.store(count + 1, std::memory_order_relaxed);
    }

    // Gives everything to the shared list.
    void flush() noexcept;

    std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
    slot_store& store() const noexcept { return *store_; }

private:
    friend class slot_store;

    entry take_slow() noexcept;
    void give(std::uint32_t count) noexcept;
    std::uint32_t spill() noexcept;

    slot_store* store_;
    std::uint32_t limit_;
    std::atomic<std::uint32_t> count_{0};
    std::atomic<std::uint64_t> takes_{0};
    std::atomic<std::uint64_t> misses_{0};
    std::atomic<std::uint64_t> exhausted_{0};
    slot_cache* next_ = nullptr; // in the store's registry
    slot_cache* previous_ = nullptr;
    entry entries_[max_slots];
};

} // namespace fastserve::pool::detail
