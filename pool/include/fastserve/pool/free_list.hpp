// The shared list of free slots: a lock-free stack of magazines.
//
// Thread safety: every member but attach() may be called from any thread at any time.
//
// Invariants:
// - A magazine is a chain of 1 to `magazine_slots` slots linked by `next`, ended by null_index, and named by its first
//   slot. Magazines in the list are chained by `next_magazine` of their first slots.
// - A slot is in at most one magazine. Whoever removed a magazine owns its slots and their links; nobody else writes
//   them. A thread that read a stale head may still *read* next_magazine of a slot it does not own, which is why that
//   link is atomic, lies outside the objects and stays mapped as long as the pool does; what it read is thrown away by
//   its compare-exchange.
// - head's tag grows by one with each removal and is never taken back. A slot returns to the head only after having
// been
//   removed, so an equal {index, tag} means that it never left and that the link read from it still holds.
// - All writes of head are read-modify-write operations, so that each continues the release sequences of all pushes
//   before it.
//
// Memory order (the table is in docs/pool.md):
//   A1  push's exchange releases the links of the magazine, and whatever the thread did to its objects, to
//   R1  the acquire read of head by pop or take_all that finds the magazine.
#pragma once

#include <fastserve/pool/tagged_index.hpp>

#include <atomic>
#include <cstdint>

namespace fastserve::pool {

// What the list is built of. A test puts mocks in their place and walks through every interleaving.
struct std_atomics {
    template <class U>
    using atomic = std::atomic<U>;

    // Memory with one owner at a time.
    template <class U>
    class cell {
    public:
        U load() const noexcept { return value_; }
        void store(U value) noexcept { value_ = value; }

    private:
        U value_{};
    };
};

template <class Atomics = std_atomics, unsigned TagBits = 40>
class free_list {
public:
    using word = basic_tagged_index<TagBits>;
    using link = typename Atomics::template cell<std::uint32_t>;
    using magazine_link = typename Atomics::template atomic<std::uint32_t>;

    // The most slots a magazine holds.
    static constexpr std::uint32_t magazine_slots = 32;

    free_list() noexcept : head_{word{}.to_word()} {}

    // Arrays with one element a slot; they outlive the list. Before any other call.
    void attach(link* next, magazine_link* next_magazine) noexcept {
        next_ = next;
        next_magazine_ = next_magazine;
    }

    // Gives the `count` slots at `slots` (1 to magazine_slots) to the list as one magazine.
    void push(const std::uint32_t* slots, std::uint32_t count) noexcept {
        link_magazine(slots, count);
        push_chain(slots[0], slots[0]);
    }

    // Removes one magazine into `out` (room for magazine_slots); the number of its slots, 0 when the list was empty.
    std::uint32_t pop(std::uint32_t* out) noexcept {
        word head = word::from_word(head_.load(std::memory_order_acquire)); // R1
        for (;;) {
            if (head.is_null()) return 0;
            const std::uint32_t after = next_magazine_[head.index()].load(std::memory_order_relaxed);
            if (exchange(head, head.advanced_to(after))) break;
        }
        std::uint32_t count = 0;
        for (std::uint32_t slot = head.index(); slot != null_index && count < magazine_slots; slot = next(slot)) {
            out[count++] = slot;
        }
        return count;
    }

    // Removes every magazine; the first slot of the first one, or null_index. The caller walks the links and may write
    // them.
    std::uint32_t take_all() noexcept {
        word head = word::from_word(head_.load(std::memory_order_acquire)); // R1
        while (!head.is_null() && !exchange(head, head.advanced_to(null_index))) {
        }
        return head.index();
    }

    // Gives a chain of magazines to the list, from the one that begins with `first` to the one that begins with `last`.
    // The caller has linked the ones between; the last link is written here.
    void push_chain(std::uint32_t first, std::uint32_t last) noexcept {
        std::uint64_t seen = head_.load(std::memory_order_relaxed);
        do {
            next_magazine_[last].store(word::from_word(seen).index(), std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(seen, word::from_word(seen).with_index(first).to_word(),
                                              std::memory_order_release, std::memory_order_relaxed)); // A1
    }

    // For the owner of the slots: links them into a magazine named slots[0].
    void link_magazine(const std::uint32_t* slots, std::uint32_t count) noexcept {
        for (std::uint32_t i = 0; i + 1 < count; ++i) {
            next_[slots[i]].store(slots[i + 1]);
        }
        next_[slots[count - 1]].store(null_index);
    }
    // For the owner of both magazines: puts `after` behind `magazine`.
    void link_after(std::uint32_t magazine, std::uint32_t after) noexcept {
        next_magazine_[magazine].store(after, std::memory_order_relaxed);
    }
    // For the owner: the slot behind `slot` in its magazine, the magazine behind `magazine`.
    std::uint32_t next(std::uint32_t slot) const noexcept { return next_[slot].load(); }
    std::uint32_t next_magazine(std::uint32_t magazine) const noexcept {
        return next_magazine_[magazine].load(std::memory_order_relaxed);
    }

    // The first magazine without removing it; to be walked only while no other thread uses the list.
    word peek() const noexcept { return word::from_word(head_.load(std::memory_order_acquire)); }

private:
    // One attempt to change head from `expected`, which becomes what was there instead when it fails.
    bool exchange(word& expected, word desired) noexcept {
        std::uint64_t seen = expected.to_word();
        const bool done = head_.compare_exchange_weak(seen, desired.to_word(), std::memory_order_acquire,
                                                      std::memory_order_acquire); // R1
        expected = word::from_word(seen);
        return done;
    }

    typename Atomics::template atomic<std::uint64_t> head_;
    link* next_ = nullptr;
    magazine_link* next_magazine_ = nullptr;
};

} // namespace fastserve::pool
