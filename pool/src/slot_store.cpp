#include <fastserve/pool/detail/slot_store.hpp>

#include <fastserve/pool/detail/slot_cache.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>

namespace fastserve::pool::detail {

void misuse(const char* what) noexcept {
    std::fprintf(stderr, "fastserve::pool: %s\n", what);
    std::abort();
}

namespace {

constexpr std::size_t max_size = std::numeric_limits<std::size_t>::max();

// Slots a slab holds: a power of two, whole pages, at least `slab_bytes`.
std::uint32_t slots_per_slab(std::size_t stride, std::size_t slab_bytes) noexcept {
    std::size_t slots = page_size() / std::gcd(stride, page_size());
    while (slots * stride < slab_bytes) slots *= 2;
    return static_cast<std::uint32_t>(slots);
}

} // namespace

std::error_code slot_store::open(const layout& wanted) noexcept {
    const auto invalid = std::make_error_code(std::errc::invalid_argument);
    if (is_open() || wanted.capacity == 0 || wanted.capacity > tagged_index::null_index) return invalid;
    if (wanted.stride == 0 || wanted.stride % 8 != 0 || wanted.stride > max_size / 2 / wanted.capacity) return invalid;
    if (wanted.magazine_slots == 0 || wanted.magazine_slots > max_magazine_slots) return invalid;

    const std::uint32_t per_slab = slots_per_slab(wanted.stride, wanted.slab_bytes);
    const std::uint32_t slabs = (wanted.capacity - 1) / per_slab + 1;

    // One mapping for all arrays, the widest elements first so that each is aligned. Untouched pages of it cost
    // nothing.
    std::size_t bytes = 0;
    const auto place = [&bytes](std::size_t element, std::size_t count) noexcept {
        const std::size_t offset = bytes;
        bytes += element * count;
        return offset;
    };
    const std::size_t generations = place(sizeof *generations_, wanted.capacity);
    const std::size_t next = place(sizeof *next_, wanted.capacity);
    const std::size_t next_magazine = place(sizeof *next_magazine_, wanted.capacity);
    const std::size_t bare = place(sizeof *bare_, slabs);
    const std::size_t free_in_slab = place(sizeof *free_in_slab_, slabs);
    const std::size_t slab_is_bare = place(sizeof *slab_is_bare_, slabs);
    const std::size_t used = place(sizeof *used_, wanted.capacity);
    const std::size_t seen = place(sizeof *seen_, wanted.capacity);

    std::error_code failed = arrays_.reserve(bytes);
    if (!failed) failed = arrays_.commit(0, arrays_.size());
    if (!failed) failed = memory_.reserve(wanted.stride * wanted.capacity);
    if (failed) {
        arrays_.unmap();
        return failed;
    }

    const auto array = [this](auto*& pointer, std::size_t offset) noexcept {
        pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(arrays_.data() + offset);
    };
    array(generations_, generations);
    array(next_, next);
    array(next_magazine_, next_magazine);
    array(bare_, bare);
    array(free_in_slab_, free_in_slab);
    array(slab_is_bare_, slab_is_bare);
    array(used_, used);
    array(seen_, seen);
    hot_.list.attach(next_, next_magazine_);
    layout_ = wanted;
    slab_shift_ = static_cast<std::uint32_t>(std::countr_zero(per_slab));
    slabs_ = slabs;
    base_ = memory_.data();
    return {};
}

void slot_store::close() noexcept {
    if (!is_open()) return;
    if constexpr (checks) {
        if (caches_ != nullptr) misuse("a pool ended before one of its caches");
        if (hot_.outside.load(std::memory_order_relaxed) != 0) misuse("a pool ended before one of its objects");
    }
    for (std::uint32_t slab = 0; first_of(slab) < committed_.load(std::memory_order_relaxed); ++slab) {
        // AddressSanitizer must not remember the addresses, something else may be mapped there.
        unpoison(at(first_of(slab)), bytes_of(slab));
        if (!slab_is_bare_[slab]) drain(first_of(slab), slots_of(slab));
        if (!slab_is_bare_[slab]) refund(slots_of(slab));
    }
    memory_.unmap();
    arrays_.unmap();
    base_ = nullptr;
}

std::uint32_t slot_store::slots_of(std::uint32_t slab) const noexcept {
    return std::min(std::uint32_t{1} << slab_shift_, layout_.capacity - first_of(slab));
}

// The last slab may end inside a page, which is then its own.
std::size_t slot_store::bytes_of(std::uint32_t slab) const noexcept {
    return round_to_pages(slots_of(slab) * layout_.stride);
}

// Slots that leave the shared list.
void slot_store::leave(std::uint32_t count) noexcept {
    const std::uint32_t outside = hot_.outside.fetch_add(count, std::memory_order_relaxed) + count;
    std::uint32_t high = hot_.high_water.load(std::memory_order_relaxed);
    while (high < outside && !hot_.high_water.compare_exchange_weak(high, outside, std::memory_order_relaxed,
                                                                    std::memory_order_relaxed)) {
    }
}

// Threads without a cache give slots back one by one, so that a magazine may be small: go on until `want` are there.
std::uint32_t slot_store::pop_magazines(std::uint32_t* out, std::uint32_t want) noexcept {
    std::uint32_t count = 0;
    while (count < want) {
        const std::uint32_t more = hot_.list.pop(out + count);
        if (more == 0) break;
        count += more;
    }
    if (count != 0) leave(count);
    return count;
}

std::uint32_t slot_store::pop(std::uint32_t* out, std::uint32_t want) noexcept {
    const std::uint32_t count = pop_magazines(out, want);
    return count != 0 ? count : grow(out, want);
}

std::uint32_t slot_store::pop_one() noexcept {
    std::uint32_t slots[max_magazine_slots];
    // Held from the pop to the push, so that nobody takes the moment between them for exhaustion.
    const std::lock_guard lock{mutex_};
    std::uint32_t count = hot_.list.pop(slots);
    if (count > 1) hot_.list.push(slots, count - 1);
    if (count != 0) {
        leave(1);
    } else {
        count = construct_slab(slots, 1);
    }
    (count != 0 ? direct_takes_ : direct_exhausted_).fetch_add(1, std::memory_order_relaxed);
    return count != 0 ? slots[count - 1] : null_index;
}

void slot_store::push(const std::uint32_t* slots, std::uint32_t count) noexcept {
    // Before the push: whoever pops these adds them again, and the sum must not pass the capacity in between.
    hot_.outside.fetch_sub(count, std::memory_order_relaxed);
    while (count != 0) {
        const std::uint32_t some = std::min(count, layout_.magazine_slots);
        hot_.list.push(slots, some);
        slots += some;
        count -= some;
    }
}

// Makes the memory and the arrays of the next fresh slab exist.
bool slot_store::commit_slab(std::uint32_t slab) noexcept {
    if (memory_.commit(first_of(slab) * layout_.stride, bytes_of(slab))) return false;
    const std::uint32_t first = first_of(slab), end = first + slots_of(slab);
    for (std::uint32_t slot = first; slot != end; ++slot) {
        std::construct_at(generations_ + slot, std::uint64_t{1}); // so that no handle is the word 0
        std::construct_at(next_ + slot);
        std::construct_at(next_magazine_ + slot, null_index);
    }
    committed_.store(end, std::memory_order_release); // A2
    return true;
}

// Makes the objects of a bare or a fresh slab: `want` slots or fewer go into `out`, the others to the list. 0 when
// there is no such slab or no memory for it.
std::uint32_t slot_store::construct_slab(std::uint32_t* out, std::uint32_t want) noexcept {
    const std::uint32_t committed = committed_.load(std::memory_order_relaxed);
    const bool reuse = bare_count_ != 0;
    if (!reuse && committed == layout_.capacity) return 0;
    const std::uint32_t slab = reuse ? bare_[bare_count_ - 1] : slab_of(committed);
    if (!charge(slots_of(slab))) return 0;
    if (!reuse) {
        if (!commit_slab(slab)) {
            refund(slots_of(slab));
            return 0;
        }
        bare_[bare_count_++] = slab;
        slab_is_bare_[slab] = true;
    }
    unpoison(at(first_of(slab)), bytes_of(slab));
    if (!fill(first_of(slab), slots_of(slab))) {
        refund(slots_of(slab));
        return 0;
    }
    --bare_count_;
    slab_is_bare_[slab] = false;
    constructed_.fetch_add(slots_of(slab), std::memory_order_relaxed);
    return deal_slab(slab, out, want);
}

// Somebody may have grown, trimmed or given back since the caller found the list empty.
std::uint32_t slot_store::grow(std::uint32_t* out, std::uint32_t want) noexcept {
    const std::lock_guard lock{mutex_};
    const std::uint32_t count = pop_magazines(out, want);
    return count != 0 ? count : construct_slab(out, want);
}

// Hands out a slab that was just made.
std::uint32_t slot_store::deal_slab(std::uint32_t slab, std::uint32_t* out, std::uint32_t want) noexcept {
    // The lowest numbers are used first: they lie in the slab that is the last to become free.
    const std::uint32_t first = first_of(slab), end = first + slots_of(slab);
    const std::uint32_t taken = std::min(want, end - first);
    for (std::uint32_t i = 0; i != taken; ++i) out[i] = first + taken - 1 - i;
    leave(taken);

    std::uint32_t chain = null_index, last = null_index;
    for (std::uint32_t upper = end; upper != first + taken;) {
        std::uint32_t slots[max_magazine_slots];
        const std::uint32_t rest = (upper - first - taken) % layout_.magazine_slots;
        const std::uint32_t count = rest != 0 ? rest : layout_.magazine_slots;
        for (std::uint32_t i = 0; i != count; ++i) slots[i] = upper - 1 - i;
        upper -= count;
        hot_.list.link_magazine(slots, count);
        hot_.list.link_after(slots[0], chain);
        chain = slots[0];
        if (last == null_index) last = chain;
    }
    if (chain != null_index) hot_.list.push_chain(chain, last);
    return taken;
}

void slot_store::return_slab(std::uint32_t slab) noexcept {
    unpoison(at(first_of(slab)), bytes_of(slab));
    drain(first_of(slab), slots_of(slab));
    poison(at(first_of(slab)), bytes_of(slab));
    memory_.decommit(first_of(slab) * layout_.stride, bytes_of(slab));
    bare_[bare_count_++] = slab;
    slab_is_bare_[slab] = true;
    constructed_.fetch_sub(slots_of(slab), std::memory_order_relaxed);
    refund(slots_of(slab));
}

std::size_t slot_store::trim(std::size_t max_bytes) noexcept {
    if (!is_open()) return 0;
    const std::lock_guard lock{mutex_};
    const std::uint32_t committed_slabs = slab_of(committed_.load(std::memory_order_relaxed) + (1u << slab_shift_) - 1);
    std::fill_n(free_in_slab_, committed_slabs, 0u);

    const std::uint32_t taken = hot_.list.take_all();
    for (std::uint32_t magazine = taken; magazine != null_index; magazine = hot_.list.next_magazine(magazine)) {
        for (std::uint32_t slot = magazine; slot != null_index; slot = hot_.list.next(slot)) {
            ++free_in_slab_[slab_of(slot)];
        }
    }
    // What is to go is marked by its count staying full; the counts of what stays are spoilt.
    std::size_t chosen = 0;
    for (std::uint32_t slab = committed_slabs; slab-- != 0;) {
        if (free_in_slab_[slab] == slots_of(slab) && chosen < max_bytes) {
            chosen += bytes_of(slab);
        } else {
            free_in_slab_[slab] = 0;
        }
    }
    const auto goes = [this](std::uint32_t slot) noexcept { return free_in_slab_[slab_of(slot)] != 0; };

    // The rest goes back in full magazines. A link is read before its slot can be linked anew.
    std::uint32_t slots[max_magazine_slots];
    std::uint32_t count = 0, chain = null_index, last = null_index;
    const auto close_magazine = [&]() noexcept {
        hot_.list.link_magazine(slots, count);
        if (chain == null_index) {
            chain = slots[0];
        } else {
            hot_.list.link_after(last, slots[0]);
        }
        last = slots[0];
        count = 0;
    };
    for (std::uint32_t magazine = taken; magazine != null_index;) {
        const std::uint32_t following = hot_.list.next_magazine(magazine);
        for (std::uint32_t slot = magazine; slot != null_index;) {
            const std::uint32_t after = hot_.list.next(slot);
            if (!goes(slot)) slots[count++] = slot;
            if (count == layout_.magazine_slots) close_magazine();
            slot = after;
        }
        magazine = following;
    }
    if (count != 0) close_magazine();
    if (chain != null_index) hot_.list.push_chain(chain, last);

    for (std::uint32_t slab = committed_slabs; slab-- != 0;) {
        if (free_in_slab_[slab] != 0) return_slab(slab);
    }
    return chosen;
}

void slot_store::enrol(slot_cache& cache) noexcept {
    const std::lock_guard lock{registry_mutex_};
    cache.next_ = caches_;
    if (caches_ != nullptr) caches_->previous_ = &cache;
    caches_ = &cache;
}

void slot_store::retire(slot_cache& cache) noexcept {
    const std::lock_guard lock{registry_mutex_};
    if (cache.next_ != nullptr) cache.next_->previous_ = cache.previous_;
    (cache.previous_ != nullptr ? cache.previous_->next_ : caches_) = cache.next_;
    retired_takes_ += cache.takes_.load(std::memory_order_relaxed);
    retired_misses_ += cache.misses_.load(std::memory_order_relaxed);
    retired_exhausted_ += cache.exhausted_.load(std::memory_order_relaxed);
}

pool_stats slot_store::stats() const noexcept {
    pool_stats result;
    const std::lock_guard lock{registry_mutex_};
    std::uint64_t takes = retired_takes_;
    result.misses = retired_misses_;
    result.exhausted = retired_exhausted_ + direct_exhausted_.load(std::memory_order_relaxed);
    for (const slot_cache* cache = caches_; cache != nullptr; cache = cache->next_) {
        takes += cache->takes_.load(std::memory_order_relaxed);
        result.misses += cache->misses_.load(std::memory_order_relaxed);
        result.exhausted += cache->exhausted_.load(std::memory_order_relaxed);
        result.cached += cache->count_.load(std::memory_order_relaxed);
    }
    result.hits = takes - std::min(takes, result.misses);
    result.misses += direct_takes_.load(std::memory_order_relaxed);

    const std::size_t constructed = constructed_.load(std::memory_order_relaxed);
    const std::size_t outside = hot_.outside.load(std::memory_order_relaxed);
    result.capacity = layout_.capacity;
    result.bare = result.capacity - constructed;
    result.shared = constructed - std::min(constructed, outside);
    result.in_use = outside - std::min(outside, result.cached);
    result.high_water = hot_.high_water.load(std::memory_order_relaxed);
    result.bytes_committed = constructed * layout_.stride;
    result.bytes_retained = (result.shared + result.cached) * layout_.stride;
    return result;
}

bool slot_store::is_valid() const noexcept {
    if (!is_open()) return true;
    const std::lock_guard lock{mutex_};
    const std::lock_guard registry{registry_mutex_};
    const std::uint32_t committed = committed_.load(std::memory_order_relaxed);
    std::fill_n(seen_, committed, false);
    // Whether the slot may be free where it was found, and was found nowhere else.
    const auto is_free = [&](std::uint32_t slot) noexcept {
        if (slot >= committed || slab_is_bare_[slab_of(slot)] || std::exchange(seen_[slot], true)) return false;
        return !checks || used_[slot] == 0;
    };

    std::uint32_t shared = 0, cached = 0, bare = layout_.capacity - committed, in_use = 0;
    for (std::uint32_t magazine = hot_.list.peek().index(); magazine != null_index;
         magazine = hot_.list.next_magazine(magazine)) {
        std::uint32_t length = 0;
        for (std::uint32_t slot = magazine; slot != null_index; slot = hot_.list.next(slot)) {
            if (!is_free(slot) || ++length > layout_.magazine_slots) return false;
            ++shared;
        }
    }
    for (const slot_cache* cache = caches_; cache != nullptr; cache = cache->next_) {
        const std::uint32_t count = cache->size();
        if (count > cache->limit_) return false;
        cached += count;
        for (std::uint32_t i = 0; i != count; ++i) {
            const slot_cache::entry& one = cache->entries_[i];
            if (!is_free(one.slot) || one.data != at(one.slot)) return false;
        }
    }
    for (std::uint32_t slot = 0; slot != committed; ++slot) {
        const bool is_bare = slab_is_bare_[slab_of(slot)];
        const bool is_used = !is_bare && !seen_[slot];
        if (checks && is_used != (used_[slot] != 0)) return false;
        bare += is_bare;
        in_use += is_used;
    }
    // in_use was counted as what is nowhere else, so that the sum alone would always hold.
    return layout_.capacity == bare + shared + cached + in_use &&
           constructed_.load(std::memory_order_relaxed) == layout_.capacity - bare &&
           hot_.outside.load(std::memory_order_relaxed) == cached + in_use;
}

} // namespace fastserve::pool::detail
