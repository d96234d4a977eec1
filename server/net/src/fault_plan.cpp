#include <fastserve/net/fault_plan.hpp>

#include <algorithm>

#include <sys/epoll.h>
#include <unistd.h>

namespace fastserve::net::sys {

namespace {

constexpr std::size_t index(call kind) noexcept {
    return static_cast<std::size_t>(kind);
}

// SplitMix64's finaliser: every bit of the result depends on every bit of `x`.
std::uint64_t scramble(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

} // namespace

fault_plan& fault_plan::fail(call kind, std::uint64_t nth, int error, std::uint64_t times) {
    rules_.push_back({.kind = kind, .first = nth, .times = times, .error = error});
    return *this;
}

fault_plan& fault_plan::shorten(call kind, std::uint64_t nth, std::size_t bytes, std::uint64_t times) {
    rules_.push_back({.kind = kind, .first = nth, .times = times, .bytes = std::max<std::size_t>(bytes, 1)});
    return *this;
}

fault_plan& fault_plan::fail_randomly(call kind, std::uint64_t seed, std::uint32_t one_in, int error) {
    rules_.push_back({.kind = kind, .seed = seed, .one_in = std::max(one_in, 1u), .error = error});
    return *this;
}

fault_plan& fault_plan::shorten_randomly(call kind, std::uint64_t seed, std::uint32_t one_in) {
    rules_.push_back({.kind = kind, .seed = seed, .one_in = std::max(one_in, 1u)});
    return *this;
}

std::uint64_t fault_plan::calls(call kind) const noexcept {
    return calls_[index(kind)].load(std::memory_order_relaxed);
}

std::uint64_t fault_plan::calls_by(pid_t thread, call kind) const noexcept {
    for (const thread_counts& counts : threads_)
        if (counts.thread.load(std::memory_order_relaxed) == thread)
            return counts.calls[index(kind)].load(std::memory_order_relaxed);
    return 0;
}

std::uint64_t fault_plan::injected() const noexcept {
    return injected_.load(std::memory_order_relaxed);
}

pid_t fault_plan::this_thread() noexcept {
    static thread_local const pid_t id = ::gettid();
    return id;
}

// The counters publish nothing but themselves, so relaxed is enough: a reader that needs an exact sum joins or
// otherwise waits for the threads first, and that orders it.
fault_plan::thread_counts* fault_plan::counts_of(pid_t thread) noexcept {
    for (thread_counts& counts : threads_) {
        pid_t owner = counts.thread.load(std::memory_order_relaxed);
        if (owner == thread) return &counts;
        if (owner == 0 &&
            counts.thread.compare_exchange_strong(owner, thread, std::memory_order_relaxed, std::memory_order_relaxed))
            return &counts;
    }
    return nullptr;
}

void fault_plan::watched(int set, int fd, std::uint32_t events, std::uint64_t data) noexcept {
    const std::lock_guard lock(watches_mutex_);
    watches_[fd] = {set, events, data};
}

void fault_plan::unwatched(int fd) noexcept {
    const std::lock_guard lock(watches_mutex_);
    watches_.erase(fd);
}

void fault_plan::promise_edge(int fd) noexcept {
    const std::lock_guard lock(watches_mutex_);
    const auto found = watches_.find(fd);
    if (found == watches_.end()) return; // about to be added, which tells what is there
    epoll_event event{};
    event.events = found->second.events;
    event.data.u64 = found->second.data;
    if (network* const n = simulated(fd))
        n->epoll_ctl(found->second.set, EPOLL_CTL_MOD, fd, event);
    else
        ::epoll_ctl(found->second.set, EPOLL_CTL_MOD, fd, &event);
}

int fault_plan::next(call kind, std::size_t& length) noexcept {
    const std::uint64_t number = calls_[index(kind)].fetch_add(1, std::memory_order_relaxed) + 1;
    if (thread_counts* counts = counts_of(this_thread()))
        counts->calls[index(kind)].fetch_add(1, std::memory_order_relaxed);
    const bool can_shorten = kind == call::recv || kind == call::send || kind == call::sendv || kind == call::sendfile;
    for (std::size_t place = 0; place < rules_.size(); ++place) {
        const rule& r = rules_[place];
        if (r.kind != kind) continue;
        // The rule's place makes its dice its own: with the same ones, a rule would never be met behind a likelier one.
        const std::uint64_t dice = scramble(r.seed ^ scramble(number) ^ scramble(~std::uint64_t{place}));
        const bool applies = r.one_in != 0 ? dice % r.one_in == 0 : number >= r.first && number - r.first < r.times;
        if (!applies) continue;
        if (r.error == 0 && (!can_shorten || length == 0)) continue;
        injected_.fetch_add(1, std::memory_order_relaxed);
        if (r.error != 0) return r.error;
        // sendv passes "everything" as its length: a random part of that would hardly ever cut anything.
        const std::size_t most = std::min<std::size_t>(length, 64 * 1024);
        length = std::min(length, r.bytes != 0 ? r.bytes : 1 + static_cast<std::size_t>(scramble(dice) % most));
        return 0;
    }
    return 0;
}

} // namespace fastserve::net::sys
