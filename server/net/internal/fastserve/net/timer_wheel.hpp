// Deadlines for very many things at O(1) each: a node in every connection, one wheel a worker, and no clock inside.
//
// Thread safety: one thread at a time. A node moves to another worker's wheel by cancel() here and schedule() there.
// Invariants: a scheduled node stands in the bucket of its `filed_` tick, which is after current() and at most `slots`
// - 1
//   ticks ahead of it, and never after its deadline, except that what is due already is filed at the next tick. A bit
//   of `occupied_` is set exactly if its bucket holds a node (outside of advance()).
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace fastserve::net {

// A point in time, in units the owner chooses (100 ms is 13.6 years until it wraps, which is allowed: ticks are
// compared by their distance, so a deadline must be less than 2^31 ticks away).
using tick = std::uint32_t;

constexpr bool is_after(tick a, tick b) noexcept {
    return static_cast<std::int32_t>(a - b) > 0;
}

// Embedded in what has the deadline. It must be cancelled, or have expired, before it is destroyed.
class timer_node {
public:
    timer_node() noexcept = default;
    timer_node(const timer_node&) = delete;
    timer_node& operator=(const timer_node&) = delete;
    ~timer_node() { assert(!scheduled()); }

    bool scheduled() const noexcept { return next_ != nullptr; }
    // The one it was last scheduled for.
    tick deadline() const noexcept { return deadline_; }

private:
    friend class timer_wheel;
    timer_node* next_ = nullptr; // a ring through the head of its bucket
    timer_node* previous_ = nullptr;
    tick deadline_ = 0;
    tick filed_ = 0;
};
static_assert(sizeof(timer_node) <= 24, "every idle connection carries one");

// Moving a deadline later, which every request does, is one store: the node stays where it is filed, and when that
// bucket comes up it is filed again by its deadline of then. A deadline beyond the wheel is filed as far ahead as the
// wheel reaches, and so costs one visit a revolution.
class timer_wheel {
public:
    static constexpr std::size_t slots = 512; // 51 s at 100 ms; 8 KiB of heads

    // `now`: the tick at which it begins.
    explicit timer_wheel(tick now) noexcept : current_(now) {
        for (timer_node& head : heads_) head.next_ = head.previous_ = &head;
    }
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;
    // Forgets the nodes that are left, which count as expired without a call.
    ~timer_wheel() {
        for (timer_node& head : heads_) {
            while (head.next_ != &head) unlink(*head.next_);
            head.next_ = head.previous_ = nullptr;
        }
    }

    // Sets or moves the deadline of a node of this wheel. Due at once is allowed: it expires in the next advance() that
    // moves time.
    void schedule(timer_node& node, tick deadline) noexcept {
        node.deadline_ = deadline;
        if (node.scheduled() && !is_after(node.filed_, deadline)) [[likely]]
            return;
        if (node.scheduled())
            remove(node);
        else
            ++size_;
        file(node);
    }

    // No effect on a node that is not scheduled.
    void cancel(timer_node& node) noexcept {
        if (!node.scheduled()) return;
        remove(node);
        --size_;
    }

    // Moves time to `now` (not moving it is allowed, moving it back does nothing) and calls `expired(node)` for each
    // node whose deadline is not after `now`, each no longer scheduled, in no particular order. `expired` may schedule
    // and cancel any node, destroy its own, and must not call advance(). Returns how many expired.
    template <class F>
    std::size_t advance(tick now, F&& expired) {
        if (!is_after(now, current_)) return 0;
        timer_node due; // the head of a ring of all nodes whose bucket has come up
        due.next_ = due.previous_ = &due;
        collect(now, due);
        std::size_t count = 0;
        while (due.next_ != &due) {
            timer_node& node = *due.next_;
            unlink(node);
            if (is_after(node.deadline_, now)) {
                file(node);
                continue;
            }
            --size_;
            ++count;
            expired(node);
        }
        due.next_ = due.previous_ = nullptr;
        return count;
    }

    // The tick by which advance() must be called again; nothing if no node is scheduled. Because deadlines move lazily
    // this may be earlier than the first deadline, but never later.
    std::optional<tick> next_due() const noexcept;

    tick current() const noexcept { return current_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    // Checks the invariants, in O(slots + size). For tests.
    bool is_valid() const noexcept;

private:
    static constexpr std::size_t words = slots / 64;
    static_assert(std::has_single_bit(slots) && slots % 64 == 0);

    static constexpr std::size_t slot_of(tick t) noexcept { return t & (slots - 1); }

    void file(timer_node& node) noexcept {
        tick at = node.deadline_;
        if (!is_after(at, current_))
            at = current_ + 1;
        else if (at - current_ > slots - 1)
            at = current_ + static_cast<tick>(slots - 1);
        node.filed_ = at;
        const std::size_t slot = slot_of(at);
        timer_node& head = heads_[slot];
        node.next_ = &head;
        node.previous_ = head.previous_;
        head.previous_->next_ = &node;
        head.previous_ = &node;
        occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    }

    static void unlink(timer_node& node) noexcept {
        node.previous_->next_ = node.next_;
        node.next_->previous_ = node.previous_;
        node.next_ = node.previous_ = nullptr;
    }

    void remove(timer_node& node) noexcept {
        unlink(node);
        const std::size_t slot = slot_of(node.filed_);
        if (heads_[slot].next_ == &heads_[slot]) occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    }

    // Sets current_ and moves the buckets up to it into `due`.
    void collect(tick now, timer_node& due) noexcept;

    tick current_;
    std::size_t size_ = 0;
    std::array<std::uint64_t, words> occupied_{};
    std::array<timer_node, slots> heads_;
};

} // namespace fastserve::net
