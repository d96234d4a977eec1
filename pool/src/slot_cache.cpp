#include <fastserve/pool/detail/slot_cache.hpp>

#include <cstring>

namespace fastserve::pool::detail {

std::uint32_t slot_cache::take_slow() noexcept {
    const std::uint32_t count = store_->pop(slots_, store_->magazine_slots());
    if (count == 0) {
        exhausted_.store(exhausted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return null_index;
    }
    misses_.store(misses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    takes_.store(takes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    count_.store(count - 1, std::memory_order_relaxed);
    return slots_[count - 1];
}

// The oldest magazine goes: its objects are the coldest in this core's cache.
std::uint32_t slot_cache::spill() noexcept {
    const std::uint32_t magazine = store_->magazine_slots();
    store_->push(slots_, magazine);
    const std::uint32_t rest = limit_ - magazine;
    std::memmove(slots_, slots_ + magazine, rest * sizeof slots_[0]);
    count_.store(rest, std::memory_order_relaxed);
    return rest;
}

void slot_cache::flush() noexcept {
    const std::uint32_t count = size();
    if (count == 0) return;
    store_->push(slots_, count);
    count_.store(0, std::memory_order_relaxed);
}

} // namespace fastserve::pool::detail
