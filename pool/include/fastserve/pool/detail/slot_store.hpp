// What every pool of this library is made of: numbered slots of one size in reserved address space, the shared list of
// the free ones, and the arrays beside them. It knows nothing of what lies in a slot.
//
// Thread safety: at, generation, begin_use, end_use, pop, push, stats and trim may be called from any thread. open and
// close are for one thread while nobody else uses the store. A slot's owner alone calls begin_use and end_use for it.
//
// Invariants:
// - capacity == bare + shared + cached + in_use. bare: no object, in no list; shared: in the list; cached: in a
//   slot_cache; in_use: handed out.
// - `outside` == cached + in_use, and constructed == capacity - bare == shared + outside, whenever no call is under
// way.
// - Slabs (a power of two of slots, whole pages) are constructed and trimmed as a whole, under `mutex_`. A slab is
// fresh
//   (beyond `committed_`), bare (in the stack of bare slabs) or constructed.
// - The arrays of a slot begin to exist with its slab's first commit and end with the store: generations survive a
// trim.
//
// Memory order: A2/R2 `committed_` is stored with release after the arrays of a slab were made, and read with acquire
// by contains(), so that a handle may be looked up by any thread. Generations are relaxed: they tell a stale handle to
// the thread that would know it anyway (the object's owner), and are a hint to all others. Counters are relaxed.
#pragma once

#include <fastserve/pool/detail/mapping.hpp>
#include <fastserve/pool/detail/poison.hpp>
#include <fastserve/pool/free_list.hpp>
#include <fastserve/pool/stats.hpp>
#include <fastserve/pool/tagged_index.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>

namespace fastserve::pool::detail {

class slot_cache; // a worker's stack of free slots: slot_cache.hpp

class slot_store {
public:
    static constexpr std::uint32_t max_magazine_slots = free_list<>::magazine_slots;

    struct layout {
        std::uint32_t capacity = 0;                        // slots, 1 to null_index
        std::size_t stride = 0;                            // bytes from slot to slot, a multiple of 8
        std::uint32_t magazine_slots = max_magazine_slots; // what moves at once, 1 to max_magazine_slots
        std::size_t slab_bytes = std::size_t{64} * 1024;   // a slab is at least this big
    };

    slot_store() noexcept = default;
    slot_store(const slot_store&) = delete;
    slot_store& operator=(const slot_store&) = delete;

    std::error_code open(const layout& wanted) noexcept;
    bool is_open() const noexcept { return base_ != nullptr; }

    std::uint32_t capacity() const noexcept { return layout_.capacity; }
    std::uint32_t magazine_slots() const noexcept { return layout_.magazine_slots; }
    char* base() const noexcept { return base_; }
    char* at(std::uint32_t slot) const noexcept { return base_ + slot * layout_.stride; }

    // Whether the slot was ever handed out or could have been, so that it has a generation.
    bool contains(std::uint32_t slot) const noexcept {
        return slot < committed_.load(std::memory_order_acquire); // R2
    }
    std::uint64_t generation(std::uint32_t slot) const noexcept {
        return generations_[slot].load(std::memory_order_relaxed);
    }

    // Says that a slot is handed out, and that it is given back, which begins its next generation. Only the slot's
    // owner writes it, so that no read-modify-write is needed.
    void begin_use(std::uint32_t slot) noexcept {
        if constexpr (checks) {
            if (used_[slot] != 0) misuse("a slot was handed out twice");
            used_[slot] = 1;
        }
    }
    void end_use(std::uint32_t slot) noexcept {
        if constexpr (checks) {
            if (used_[slot] == 0) misuse("a slot was released twice");
            used_[slot] = 0;
        }
        const std::uint64_t next = generations_[slot].load(std::memory_order_relaxed) + 1;
        generations_[slot].store(next & tagged_index::tag_mask, std::memory_order_relaxed);
    }

    // At least 1 and at most `want` + magazine_slots - 1 free slots into `out`, the last the best to use first; 0 when
    // the store is exhausted. Lock-free unless the shared list is empty.
    std::uint32_t pop(std::uint32_t* out, std::uint32_t want) noexcept;
    // One free slot, or null_index. Takes a lock: for threads that have no cache.
    std::uint32_t pop_one() noexcept;
    // Gives free slots back, in magazines.
    void push(const std::uint32_t* slots, std::uint32_t count) noexcept;

    // Takes the shared list, destroys what lies in slabs that are wholly free and returns their memory to the system,
    // up to about `max_bytes`; the rest goes back to the list. The bytes returned. Other threads go on meanwhile, and
    // wait only when they find the shared list empty.
    std::size_t trim(std::size_t max_bytes) noexcept;

    // Free slots in the shared list, about.
    std::uint32_t shared() const noexcept {
        const std::uint32_t constructed = constructed_.load(std::memory_order_relaxed);
        const std::uint32_t outside = hot_.outside.load(std::memory_order_relaxed);
        return constructed > outside ? constructed - outside : 0;
    }
    pool_stats stats() const noexcept;
    // Checks the invariants above by counting; only while no other thread uses the store.
    bool is_valid() const noexcept;

protected:
    ~slot_store() = default;

    // Destroys everything and unmaps. Every cache is gone and every slot given back. Called by the derived destructor,
    // for it calls drain().
    void close() noexcept;

private:
    friend class slot_cache; // a worker's stack of free slots: slot_cache.hpp

    // Constructs objects in these slots, all or none; false when it cannot.
    virtual bool fill(std::uint32_t first, std::uint32_t count) noexcept = 0;
    // Destroys them.
    virtual void drain(std::uint32_t first, std::uint32_t count) noexcept = 0;
    // Asks for memory for these many slots, and says that it was given back.
    virtual bool charge(std::uint32_t) noexcept { return true; }
    virtual void refund(std::uint32_t) noexcept {}

    void enrol(slot_cache& cache) noexcept;
    void retire(slot_cache& cache) noexcept;

    std::uint32_t pop_magazines(std::uint32_t* out, std::uint32_t want) noexcept;
    std::uint32_t grow(std::uint32_t* out, std::uint32_t want) noexcept;
    bool commit_slab(std::uint32_t slab) noexcept;
    std::uint32_t construct_slab(std::uint32_t* out, std::uint32_t want) noexcept;
    std::uint32_t deal_slab(std::uint32_t slab, std::uint32_t* out, std::uint32_t want) noexcept;
    void return_slab(std::uint32_t slab) noexcept;
    void leave(std::uint32_t count) noexcept;

    std::uint32_t slab_of(std::uint32_t slot) const noexcept { return slot >> slab_shift_; }
    std::uint32_t first_of(std::uint32_t slab) const noexcept { return slab << slab_shift_; }
    std::uint32_t slots_of(std::uint32_t slab) const noexcept;
    std::size_t bytes_of(std::uint32_t slab) const noexcept;

    // Read by all, written by open.
    layout layout_;
    char* base_ = nullptr;
    std::atomic<std::uint64_t>* generations_ = nullptr;
    free_list<>::link* next_ = nullptr;
    free_list<>::magazine_link* next_magazine_ = nullptr;
    unsigned char* used_ = nullptr; // by slot, whether it is handed out; kept where `checks` is true
    std::uint32_t slab_shift_ = 0;
    std::uint32_t slabs_ = 0;
    mapping memory_;
    mapping arrays_;
    std::atomic<std::uint32_t> committed_{0}; // slots

    // Written by whoever moves a magazine. The counters share the line of the list's head: it was just fetched.
    struct alignas(64) hot {
        free_list<> list;
        std::atomic<std::uint32_t> outside{0};    // popped and not pushed
        std::atomic<std::uint32_t> high_water{0}; // the most of the above
    };
    static_assert(sizeof(hot) == 64, "one line: moving a magazine costs one transfer between cores");
    hot hot_;

    // Growing and trimming. While a thread holds the mutex the shared list may be short of what is really free.
    alignas(64) mutable std::mutex mutex_;
    std::uint32_t* bare_ = nullptr; // stack of bare slabs
    std::uint32_t bare_count_ = 0;
    std::uint32_t* free_in_slab_ = nullptr; // scratch of trim
    bool* slab_is_bare_ = nullptr;
    bool* seen_ = nullptr;                      // scratch of is_valid, by slot
    std::atomic<std::uint32_t> constructed_{0}; // slots

    // The caches, and what those that are gone had counted.
    mutable std::mutex registry_mutex_;
    slot_cache* caches_ = nullptr;
    std::uint64_t retired_takes_ = 0;
    std::uint64_t retired_misses_ = 0;
    std::uint64_t retired_exhausted_ = 0;
    std::atomic<std::uint64_t> direct_takes_{0};
    std::atomic<std::uint64_t> direct_exhausted_{0};
};

} // namespace fastserve::pool::detail
