// A pool of objects that stay constructed: acquiring one costs no constructor, releasing one calls its reset().
//
// Thread safety: acquire, release, find, at, index_of, generation, in_use, stats and trim may be called from any
// thread. open and the destructor are for one thread while nobody else uses the pool. acquire() and trim() take a lock:
// a worker acquires through its local_cache, which takes none.
//
// Invariants: those of detail::slot_store. An object's address and index never change. Its generation begins at 1,
// grows by one at each release, and survives trimming.
//
// Size: an object that lies in a worker's local_cache is not available to others. For N objects in use at the same time
// with W caches, open the pool with capacity_for(N, W).
#pragma once

#include <fastserve/pool/detail/slot_cache.hpp>
#include <fastserve/pool/detail/slot_store.hpp>
#include <fastserve/pool/stats.hpp>
#include <fastserve/pool/tagged_index.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fastserve::pool {

template <class T>
class object_pool;
template <class T>
class local_cache;

// An object from a pool. Move-only; destroying it releases the object to the shared list of its pool, from any thread.
// A worker gives it to its local_cache instead, which is much cheaper. The pool must outlive it.
template <class T>
class [[nodiscard]] pooled {
public:
    pooled() noexcept = default;
    // Owns an object whose ownership was given up by release(), or null.
    pooled(object_pool<T>& pool, T* object) noexcept : object_{object}, pool_{&pool} {}
    pooled(pooled&& other) noexcept : object_{std::exchange(other.object_, nullptr)}, pool_{other.pool_} {}
    pooled& operator=(pooled&& other) noexcept {
        if (this != &other) {
            reset();
            object_ = std::exchange(other.object_, nullptr);
            pool_ = other.pool_;
        }
        return *this;
    }
    ~pooled() { reset(); }

    // False when the pool was exhausted.
    explicit operator bool() const noexcept { return object_ != nullptr; }
    T* get() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    T* operator->() const noexcept { return object_; }

    // Gives ownership up: the caller gives the object back with object_pool::release or local_cache::put.
    [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }
    // Releases the object now.
    void reset() noexcept {
        if (object_ != nullptr) pool_->release(std::exchange(object_, nullptr));
    }

private:
    T* object_ = nullptr;
    object_pool<T>* pool_ = nullptr;
};

// What can lie in a pool: reset() makes an object as good as new and cannot fail.
template <class T>
concept poolable = std::destructible<T> && requires(T& object) {
    { object.reset() }
    noexcept;
};

template <class T>
class object_pool {
public:
    struct options {
        // The most objects there can be, 1 to 16,777,215. Address space and 18 bytes of untouched bookkeeping for each
        // are reserved at once; memory is used when it is first needed.
        std::uint32_t capacity = 0;
        // Constructs the object with this index at `where`; may throw, then whoever acquires gets nothing. Called under
        // the pool's lock, on whichever thread needs the object. Empty: T(index), or T() when there is no such
        // constructor.
        std::function<void(void* where, std::uint32_t index)> construct{};
    };

    // The objects of one pool begin this far apart: never two on a cache line, for they may belong to two workers.
    static constexpr std::size_t alignment = alignof(T) > 64 ? alignof(T) : 64;
    static constexpr std::size_t stride = (sizeof(T) + alignment - 1) / alignment * alignment;

    // The capacity that lets `in_use` objects be in use however full the local caches of `caches` workers are.
    static constexpr std::uint32_t capacity_for(std::uint32_t in_use, std::uint32_t caches) noexcept {
        return in_use + caches * detail::slot_cache::max_slots;
    }

    // A closed pool, which is exhausted.
    object_pool() noexcept = default;
    object_pool(const object_pool&) = delete;
    object_pool& operator=(const object_pool&) = delete;

    // Once. Fails with invalid_argument for a capacity out of range or a T that nobody knows how to construct,
    // otherwise with the system's error; the pool stays closed then.
    [[nodiscard]] std::error_code open(options wanted);

    // One object for a thread without a cache; empty when the pool is exhausted.
    pooled<T> acquire() noexcept {
        const std::uint32_t index = store_.is_open() ? store_.pop_one() : null_index;
        return {*this, index == null_index ? nullptr : begin_use(store_.at(index), index)};
    }
    // Gives an object back to the shared list, from any thread. pooled calls it.
    void release(T* object) noexcept {
        const std::uint32_t index = end_use(object);
        store_.push(&index, 1);
    }

    std::uint32_t capacity() const noexcept { return store_.capacity(); }
    // The object with this index, which must have been acquired at some time.
    T* at(std::uint32_t index) const noexcept { return std::launder(reinterpret_cast<T*>(slots_[index].bytes)); }
    std::uint32_t index_of(const T& object) const noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<const slot*>(&object) - slots_);
    }
    // Of an object that was acquired at some time.
    std::uint64_t generation(std::uint32_t index) const noexcept { return store_.generation(index); }
    // Names the object for as long as it is not released. For an object in use.
    handle handle_of(const T& object) const noexcept {
        const std::uint32_t index = index_of(object);
        return {index, store_.generation(index)};
    }
    // The object that `wanted` names, null when it was released since (or when the handle is null or made up). The
    // answer stays true only as long as nobody may release the object: ask on the thread that would do so.
    T* find(handle wanted) const noexcept {
        if (!store_.contains(wanted.index())) return nullptr;
        return store_.generation(wanted.index()) == wanted.tag() ? at(wanted.index()) : nullptr;
    }

    // Destroys free objects whose whole slab is free and returns their memory to the system, up to about `max_bytes`;
    // the bytes returned. They are constructed again when they are needed. What local caches hold is not free: flush
    // them.
    std::size_t trim(std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) noexcept {
        return store_.trim(max_bytes);
    }
    // O(caches), with a lock that no acquire or release takes.
    pool_stats stats() const noexcept { return store_.stats(); }
    // The accounting equation, by counting: O(capacity), and only while nobody uses the pool. For tests and debug
    // builds.
    bool is_valid() const noexcept { return store_.is_valid(); }

private:
    friend class local_cache<T>;

    struct slot {
        alignas(alignment) std::byte bytes[stride];
    };
    static_assert(sizeof(slot) == stride);
    static_assert(alignment <= 4096, "slots begin on a page");

    class typed_store final : public detail::slot_store {
    public:
        ~typed_store() { close(); }
        std::function<void(void*, std::uint32_t)> construct;

    private:
        T* object(std::uint32_t index) const noexcept {
            return std::launder(reinterpret_cast<T*>(slot_store::at(index)));
        }
        bool fill(std::uint32_t first, std::uint32_t count) noexcept override;
        void drain(std::uint32_t first, std::uint32_t count) noexcept override;
    };

    T* begin_use(char* data, std::uint32_t index) noexcept {
        store_.begin_use(index);
        T* const object = std::launder(reinterpret_cast<T*>(data));
        detail::unpoison(object, sizeof(T));
        return object;
    }
    std::uint32_t end_use(T* object) noexcept {
        static_assert(poolable<T>, "T needs void reset() noexcept");
        const std::uint32_t index = index_of(*object);
        store_.end_use(index);
        object->reset();
        detail::poison(object, stride);
        return index;
    }

    slot* slots_ = nullptr;
    typed_store store_;
};

template <class T>
std::error_code object_pool<T>::open(options wanted) {
    if (!wanted.construct) {
        // T(index) would write the index into the first member of an aggregate, which nobody meant.
        if constexpr (std::constructible_from<T, std::uint32_t> && !std::is_aggregate_v<T>) {
            wanted.construct = [](void* where, std::uint32_t index) { ::new (where) T(index); };
        } else if constexpr (std::default_initializable<T>) {
            wanted.construct = [](void* where, std::uint32_t) { ::new (where) T(); };
        } else {
            return std::make_error_code(std::errc::invalid_argument);
        }
    }
    if (store_.is_open()) return std::make_error_code(std::errc::invalid_argument);
    if (const auto failed = store_.open({.capacity = wanted.capacity, .stride = stride})) return failed;
    store_.construct = std::move(wanted.construct);
    slots_ = reinterpret_cast<slot*>(store_.base());
    return {};
}

template <class T>
bool object_pool<T>::typed_store::fill(std::uint32_t first, std::uint32_t count) noexcept {
    std::uint32_t made = 0;
    try {
        for (; made != count; ++made) construct(slot_store::at(first + made), first + made);
    } catch (...) {
        while (made-- != 0) std::destroy_at(object(first + made));
        return false;
    }
    for (std::uint32_t i = 0; i != count; ++i) detail::poison(slot_store::at(first + i), stride);
    return true;
}

template <class T>
void object_pool<T>::typed_store::drain(std::uint32_t first, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i != count; ++i) std::destroy_at(object(first + i));
}

} // namespace fastserve::pool
