// What a pair of acquire and release costs: ours against what else one would use, by objects held and by threads, and
// with a hand-over to another thread. Every contender is verified before it is timed. Objects are written to, as a user
// would.
//
//   hold/<contender>/<n>     acquires n objects, then releases them; time is per pair
//   handover/<contender>     one thread acquires 32 and passes them on, the other one releases them; time is per object
//   relay/<contender>        the same between two parts of one thread: what is left when no cache line moves
//
// The objects are 256 bytes. buffer/<contender> is a pair of 4 KiB. Threads run the same loop at the same time.
#include <fastserve/pool/buffer_pool.hpp>
#include <fastserve/pool/local_cache.hpp>
#include <fastserve/pool/object_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/lockfree/stack.hpp>
#include <mimalloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace pool = fastserve::pool;

struct object {
    void reset() noexcept { value = 0; }
    std::uint64_t value = 0;
    std::array<char, 248> rest{};
};
static_assert(sizeof(object) == 256);

constexpr std::uint32_t capacity = 8192;
constexpr std::size_t batch = 32;

// A contender has a shared part, made once, and a part of each thread with T* take() and void put(T*).

struct local_cache {
    struct shared {
        shared() { ok = !objects.open({.capacity = capacity}); }
        pool::object_pool<object> objects;
        bool ok;
    };
    explicit local_cache(shared& s) : cache{s.objects} {}
    object* take() { return cache.take(); }
    void put(object* o) { cache.put(o); }
    pool::local_cache<object> cache;
};

// The same through the owners.
struct pooled_owner {
    using shared = local_cache::shared;
    explicit pooled_owner(shared& s) : cache{s.objects} {}
    object* take() { return cache.acquire().release(); }
    void put(object* o) { cache.release(pool::pooled<object>{cache.pool(), o}); }
    pool::local_cache<object> cache;
};

// The shared list alone, one object a magazine: what a release by a foreign thread costs.
struct shared_list {
    struct shared {
        shared() : next(capacity), next_magazine(capacity), objects(capacity) {
            list.attach(next.data(), next_magazine.data());
            for (std::uint32_t i = 0; i != capacity; ++i) list.push(&i, 1);
        }
        std::vector<pool::free_list<>::link> next;
        std::vector<pool::free_list<>::magazine_link> next_magazine;
        std::vector<object> objects;
        pool::free_list<> list;
        bool ok = true;
    };
    explicit shared_list(shared& s) : all{s} {}
    object* take() {
        std::uint32_t slots[pool::free_list<>::magazine_slots];
        return all.list.pop(slots) != 0 ? &all.objects[slots[0]] : nullptr;
    }
    void put(object* o) {
        o->reset();
        const auto slot = static_cast<std::uint32_t>(o - all.objects.data());
        all.list.push(&slot, 1);
    }
    shared& all;
};

struct boost_stack {
    struct shared {
        shared() : objects(capacity), stack(capacity) {
            for (object& o : objects) stack.bounded_push(&o);
        }
        std::vector<object> objects;
        boost::lockfree::stack<object*> stack;
        bool ok = true;
    };
    explicit boost_stack(shared& s) : all{s} {}
    object* take() {
        object* o = nullptr;
        return all.stack.pop(o) ? o : nullptr;
    }
    void put(object* o) {
        o->reset();
        all.stack.bounded_push(o);
    }
    shared& all;
};

struct mutex_vector {
    struct shared {
        shared() : objects(capacity) {
            for (object& o : objects) free.push_back(&o);
        }
        std::vector<object> objects;
        std::vector<object*> free;
        std::mutex mutex;
        bool ok = true;
    };
    explicit mutex_vector(shared& s) : all{s} {}
    object* take() {
        const std::lock_guard lock{all.mutex};
        if (all.free.empty()) return nullptr;
        object* const o = all.free.back();
        all.free.pop_back();
        return o;
    }
    void put(object* o) {
        o->reset();
        const std::lock_guard lock{all.mutex};
        all.free.push_back(o);
    }
    shared& all;
};

struct nothing_shared {
    bool ok = true;
};

// Memory alone: no constructor of the 248 other bytes is charged to the allocators.
struct glibc_malloc {
    using shared = nothing_shared;
    explicit glibc_malloc(shared&) {}
    object* take() {
        auto* const o = static_cast<object*>(std::malloc(sizeof(object)));
        o->value = 0;
        return o;
    }
    void put(object* o) { std::free(o); }
};

struct mimalloc {
    using shared = nothing_shared;
    explicit mimalloc(shared&) {}
    object* take() {
        auto* const o = static_cast<object*>(mi_malloc(sizeof(object)));
        o->value = 0;
        return o;
    }
    void put(object* o) { mi_free(o); }
};

// All objects distinct, clean, and as many as there should be; again after they came back.
template <class Contender>
bool verify() {
    auto shared = std::make_unique<typename Contender::shared>();
    if (!shared->ok) return false;
    Contender one{*shared};
    for (int round = 0; round != 3; ++round) {
        std::set<object*> seen;
        for (int i = 0; i != 1000; ++i) {
            object* const o = one.take();
            if (o == nullptr || o->value != 0 || !seen.insert(o).second) return false;
            o->value = 1;
        }
        for (object* o : seen) one.put(o);
    }
    return true;
}

// What the threads of one run share; made anew for each run, before its threads start.
template <class Contender>
std::unique_ptr<typename Contender::shared> instance;

template <class Contender>
void set_up(const benchmark::State&) {
    instance<Contender> = std::make_unique<typename Contender::shared>();
}

template <class Contender>
void tear_down(const benchmark::State&) {
    instance<Contender>.reset();
}

// Shows the time of one of `count` things that an iteration does.
benchmark::Counter per(std::size_t count) {
    return {static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

template <class Contender>
void hold(benchmark::State& state) {
    Contender mine{*instance<Contender>};
    const auto count = static_cast<std::size_t>(state.range(0));
    std::vector<object*> held(count);
    for (auto _ : state) {
        for (object*& o : held) {
            o = mine.take();
            if (o == nullptr) {
                state.SkipWithError("exhausted");
                return;
            }
            o->value = 1;
            benchmark::DoNotOptimize(o);
        }
        for (object* o : held) mine.put(o);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
    state.counters["pair"] = per(count);
}

void hold_buffer(benchmark::State& state) {
    pool::buffer_pool buffers;
    if (buffers.open({.budget_bytes = std::size_t{64} << 20})) return state.SkipWithError("open");
    pool::buffer_cache cache{buffers};
    for (auto _ : state) {
        pool::buffer one = cache.acquire(4096);
        *one.data() = 1;
        benchmark::DoNotOptimize(one.data());
        cache.release(std::move(one));
    }
    state.SetItemsProcessed(state.iterations());
}

void hold_mimalloc_4096(benchmark::State& state) {
    for (auto _ : state) {
        char* const data = static_cast<char*>(mi_malloc(4096));
        *data = 1;
        benchmark::DoNotOptimize(data);
        mi_free(data);
    }
    state.SetItemsProcessed(state.iterations());
}

template <class Contender>
void relay(benchmark::State& state) {
    auto shared = std::make_unique<typename Contender::shared>();
    Contender sender{*shared}, receiver{*shared};
    std::array<object*, batch> objects;
    for (auto _ : state) {
        for (object*& o : objects) {
            o = sender.take();
            o->value = 1;
            benchmark::DoNotOptimize(o);
        }
        for (object* o : objects) receiver.put(o);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
    state.counters["object"] = per(batch);
}

// A ring of batches between two threads; how the batches travel is the same for all contenders.
struct channel {
    static constexpr std::size_t depth = 8;
    std::array<std::array<object*, batch>, depth> slots{};
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> read{0};
    std::atomic<bool> done{false};
};

template <class Contender>
void handover(benchmark::State& state) {
    auto shared = std::make_unique<typename Contender::shared>();
    channel ring;
    std::thread receiver{[&] {
        Contender mine{*shared};
        for (std::size_t n = 0;; ++n) {
            while (ring.written.load(std::memory_order_acquire) == n) {
                if (ring.done.load(std::memory_order_acquire) && ring.written.load(std::memory_order_acquire) == n)
                    return;
            }
            for (object* o : ring.slots[n % channel::depth]) {
                benchmark::DoNotOptimize(o->value);
                mine.put(o);
            }
            ring.read.store(n + 1, std::memory_order_release);
        }
    }};
    {
        Contender mine{*shared};
        std::size_t n = 0;
        for (auto _ : state) {
            while (n - ring.read.load(std::memory_order_acquire) == channel::depth) std::this_thread::yield();
            for (object*& o : ring.slots[n % channel::depth]) {
                o = mine.take();
                o->value = 1;
            }
            ring.written.store(++n, std::memory_order_release);
        }
        while (ring.read.load(std::memory_order_acquire) != n) std::this_thread::yield();
    }
    ring.done.store(true, std::memory_order_release);
    receiver.join();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
    state.counters["object"] = per(batch);
}

template <class Contender>
void add(const std::string& name) {
    if (!verify<Contender>()) {
        std::fprintf(stderr, "%s fails its verification\n", name.c_str());
        std::exit(1);
    }
    for (const int threads : {1, 2, 4}) {
        benchmark::RegisterBenchmark(("hold/" + name).c_str(), hold<Contender>)
            ->Arg(1)
            ->Arg(8)
            ->Arg(64)
            ->Arg(512)
            ->Threads(threads)
            ->Setup(set_up<Contender>)
            ->Teardown(tear_down<Contender>)
            ->UseRealTime();
    }
    benchmark::RegisterBenchmark(("relay/" + name).c_str(), relay<Contender>);
    benchmark::RegisterBenchmark(("handover/" + name).c_str(), handover<Contender>)->UseRealTime();
}

const bool added = [] {
    add<local_cache>("fastserve");
    add<pooled_owner>("fastserve_pooled");
    add<shared_list>("fastserve_shared_list");
    add<boost_stack>("boost_lockfree_stack");
    add<mutex_vector>("mutex_vector");
    add<glibc_malloc>("malloc");
    add<mimalloc>("mimalloc");
    benchmark::RegisterBenchmark("buffer/fastserve", hold_buffer);
    benchmark::RegisterBenchmark("buffer/mimalloc", hold_mimalloc_4096);
    return true;
}();

} // namespace
