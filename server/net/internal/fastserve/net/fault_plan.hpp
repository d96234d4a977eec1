// What shall go wrong in the system-call layer (system.hpp), and a count of what was called. For tests.
//
// Thread safety: a fault_plan is filled before it is installed, is installed before the threads it watches start (or
//   while they are quiet), and outlives the last call that saw it; its counters may be read at any time.
#pragma once

#include <fastserve/net/network.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace fastserve::net::sys {

// The kinds of calls that are counted and can be made to fail.
enum class call : std::uint8_t {
    recv,
    send,
    sendv,
    sendfile,
    accept,
    epoll_create,
    epoll_ctl,
    epoll_wait,
    eventfd,
    eventfd_write,
    eventfd_read,
    socket,
    bind,
    listen,
    connect,
    set_option,
    get_option,
    get_name,
    set_flags,
    shutdown,
    close,
    stat,
    unlink,
    duplicate,
};
inline constexpr std::size_t call_kinds = static_cast<std::size_t>(call::duplicate) + 1;

class fault_plan {
public:
    static constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();

    fault_plan() = default;
    fault_plan(const fault_plan&) = delete;
    fault_plan& operator=(const fault_plan&) = delete;

    // The `nth` call of this kind (from 1, counted over all threads) and the `times` - 1 after it return `error` and do
    // nothing; except close, which closes and then reports. EINTR forever would make the call spin.
    fault_plan& fail(call kind, std::uint64_t nth, int error, std::uint64_t times = 1);
    // The same calls move at most `bytes` bytes (at least 1). For recv, send, sendv and sendfile.
    fault_plan& shorten(call kind, std::uint64_t nth, std::size_t bytes, std::uint64_t times = 1);
    // One call in `one_in` returns `error`: which ones depends on `seed`, the number of the call and the place of this
    // rule among the others alone. The first rule that applies to a call is the one that is followed.
    fault_plan& fail_randomly(call kind, std::uint64_t seed, std::uint32_t one_in, int error);
    // One call in `one_in` moves at least 1 byte and otherwise a random part of what was asked.
    fault_plan& shorten_randomly(call kind, std::uint64_t seed, std::uint32_t one_in);

    // Calls on the descriptors of `n`, which outlives the plan, are answered by it, unless a rule makes them fail.
    void simulate(network& n) noexcept { network_ = &n; }
    // Null: the kernel answers.
    network* simulated(int fd) const noexcept { return network_ && network_->owns(fd) ? network_ : nullptr; }
    network* simulated() const noexcept { return network_; }

    // Calls made while installed, by all threads and by one (see this_thread()). A retry after EINTR counts.
    std::uint64_t calls(call kind) const noexcept;
    std::uint64_t calls_by(pid_t thread, call kind) const noexcept;
    // How many calls were made to fail or shortened.
    std::uint64_t injected() const noexcept;

    // The number of the calling thread, to be handed to calls_by.
    static pid_t this_thread() noexcept;

    // *Called by the layer.* A descriptor was put into an edge-triggered set, or is about to be closed.
    void watched(int set, int fd, std::uint32_t events, std::uint64_t data) noexcept;
    void unwatched(int fd) noexcept;
    // A call on `fd` is about to return EAGAIN that the kernel did not say. To a caller who waits for an edge that is a
    // promise of one, and no edge ever follows bytes that are there already: so the descriptor is armed anew, and the
    // set reports at once what the kernel has. For descriptors watched since the plan was installed.
    void promise_edge(int fd) noexcept;

    // What the next call of `kind` on this thread shall do: an errno value, or 0 and perhaps a smaller `length`.
    int next(call kind, std::size_t& length) noexcept;

private:
    struct rule {
        call kind{};
        std::uint64_t first = 1;
        std::uint64_t times = 1;
        std::uint64_t seed = 0;
        std::uint32_t one_in = 0; // 0: the calls from `first` on; otherwise random
        int error = 0;            // 0: shorten
        std::size_t bytes = 0;    // 0: a random part
    };
    struct thread_counts {
        std::atomic<pid_t> thread{0};
        std::atomic<std::uint64_t> calls[call_kinds]{};
    };
    struct watch {
        int set = -1;
        std::uint32_t events = 0;
        std::uint64_t data = 0;
    };
    static constexpr std::size_t max_threads = 256;

    thread_counts* counts_of(pid_t thread) noexcept;

    network* network_ = nullptr;
    std::vector<rule> rules_;
    std::atomic<std::uint64_t> calls_[call_kinds]{};
    std::atomic<std::uint64_t> injected_{0};
    thread_counts threads_[max_threads]{};
    std::mutex watches_mutex_;
    std::unordered_map<int, watch> watches_;
};

} // namespace fastserve::net::sys
