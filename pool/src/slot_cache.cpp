#include <fastserve/pool/detail/slot_cache.hpp>

#include <algorithm>

namespace fastserve::pool::detail {

slot_cache::entry slot_cache::take_slow() noexcept {
    std::uint32_t slots[max_slots];
    const std::uint32_t count = store_->pop(slots, store_->magazine_slots());
    if (count == 0) {
        exhausted_.store(exhausted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return {};
    }
    for (std::uint32_t i = 0; i != count; ++i) entries_[i] = {store_->at(slots[i]), slots[i]};
    misses_.store(misses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    takes_.store(takes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    count_.store(count - 1, std::memory_order_relaxed);
    return entries_[count - 1];
}

// The first `count` entries.
void slot_cache::give(std::uint32_t count) noexcept {
    std::uint32_t slots[max_slots];
    for (std::uint32_t i = 0; i != count; ++i) slots[i] = entries_[i].slot;
    store_->push(slots, count);
}

// The oldest magazine goes: its objects are the coldest in this core's cache.
std::uint32_t slot_cache::spill() noexcept {
    const std::uint32_t magazine = store_->magazine_slots();
    give(magazine);
    std::copy(entries_ + magazine, entries_ + limit_, entries_);
    const std::uint32_t rest = limit_ - magazine;
    count_.store(rest, std::memory_order_relaxed);
    return rest;
}

void slot_cache::flush() noexcept {
    const std::uint32_t count = size();
    if (count == 0) return;
    give(count);
    count_.store(0, std::memory_order_relaxed);
}

} // namespace fastserve::pool::detail
