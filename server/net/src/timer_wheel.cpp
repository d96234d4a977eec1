#include <fastserve/net/timer_wheel.hpp>

#include <algorithm>

namespace fastserve::net {

void timer_wheel::collect(tick now, timer_node& due) noexcept {
    const tick passed = std::min(now - current_, static_cast<tick>(slots));
    const tick first = current_ + 1;
    current_ = now;
    if (size_ == 0) return;
    for (tick i = 0; i < passed; ++i) {
        const std::size_t slot = slot_of(first + i);
        const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
        if ((occupied_[slot / 64] & bit) == 0) continue;
        occupied_[slot / 64] &= ~bit;
        timer_node& head = heads_[slot];
        head.next_->previous_ = due.previous_;
        due.previous_->next_ = head.next_;
        head.previous_->next_ = &due;
        due.previous_ = head.previous_;
        head.next_ = head.previous_ = &head;
    }
}

std::optional<tick> timer_wheel::next_due() const noexcept {
    if (size_ == 0) return std::nullopt;
    // Once around, from the bucket after the current one: the rest of its word, the other words, its word's beginning.
    const std::size_t start = slot_of(current_ + 1);
    for (std::size_t i = 0; i <= words; ++i) {
        const std::size_t word = (start / 64 + i) % words;
        std::uint64_t bits = occupied_[word];
        const std::uint64_t from_start = ~std::uint64_t{0} << (start % 64);
        if (i == 0) bits &= from_start;
        if (i == words) bits &= ~from_start;
        if (bits == 0) continue;
        const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        return current_ + 1 + static_cast<tick>((slot - start) & (slots - 1));
    }
    return current_ + 1; // only inside of advance(), when all that is left waits to be looked at
}

bool timer_wheel::is_valid() const noexcept {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const timer_node& head = heads_[slot];
        const bool marked = (occupied_[slot / 64] >> (slot % 64) & 1) != 0;
        if (marked != (head.next_ != &head)) return false;
        for (const timer_node* node = head.next_; node != &head; node = node->next_) {
            ++count;
            if (node->next_->previous_ != node || slot_of(node->filed_) != slot) return false;
            const tick ahead = node->filed_ - current_;
            if (ahead == 0 || ahead > slots - 1) return false;
            if (is_after(node->filed_, node->deadline_) && ahead != 1) return false;
        }
    }
    return count == size_;
}

} // namespace fastserve::net
