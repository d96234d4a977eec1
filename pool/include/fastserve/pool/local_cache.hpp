// A worker's own share of an object_pool: acquiring and releasing touch nothing that another thread writes.
//
// Thread safety: one thread at a time; it may move to another thread together with whatever tells that thread so.
// Objects taken from it may be released anywhere: through this cache, through another cache of the same pool, or by
// destroying their owner on any thread.
//
// Invariants: holds at most 64 free objects. 32 at a time move between it and the shared list, with one
// compare-exchange.
#pragma once

#include <fastserve/pool/detail/slot_cache.hpp>
#include <fastserve/pool/object_pool.hpp>
#include <fastserve/pool/tagged_index.hpp>

#include <cstdint>
#include <utility>

namespace fastserve::pool {

template <class T>
class local_cache {
public:
    // The most objects a cache holds.
    static constexpr std::uint32_t capacity = detail::slot_cache::max_slots;

    // The pool is open and outlives the cache. The destructor flushes.
    explicit local_cache(object_pool<T>& pool) noexcept : pool_{&pool}, cache_{pool.store_} {}
    local_cache(const local_cache&) = delete;
    local_cache& operator=(const local_cache&) = delete;

    // The object released last on this worker, empty when the pool is exhausted.
    pooled<T> acquire() noexcept { return {*pool_, take()}; }
    // Keeps the object for the next acquire; it comes from the same pool, by whichever way. Nothing happens to an empty
    // owner.
    void release(pooled<T>&& object) noexcept {
        if (T* const raw = object.release(); raw != nullptr) put(raw);
    }

    // The same for code that keeps its own account of what it owns: null when exhausted, and each taken object is put
    // once.
    [[nodiscard]] T* take() noexcept {
        const detail::slot_cache::entry taken = cache_.take();
        if (taken.data == nullptr) [[unlikely]]
            return nullptr;
        return pool_->begin_use(taken.data, taken.slot);
    }
    void put(T* object) noexcept {
        const std::uint32_t index = pool_->end_use(object);
        cache_.put(reinterpret_cast<char*>(object), index);
    }

    // Gives every object to the shared list, where others find them and trim() can return their memory. For a worker
    // that is about to sleep.
    void flush() noexcept { cache_.flush(); }
    // Objects held now.
    std::uint32_t size() const noexcept { return cache_.size(); }
    object_pool<T>& pool() const noexcept { return *pool_; }

private:
    object_pool<T>* pool_;
    detail::slot_cache cache_;
};

} // namespace fastserve::pool
