// The one layer all system calls of net go through: a direct call, and one predicted branch that lets a test make it
// fail, or answer it from a simulated network.
//
// Thread safety: every call may be made from any thread.
// Invariants: a call that returned error 0 did what it says; EINTR is never seen by a caller (epoll_wait reports it as
//   "nothing happened", so that its caller computes a fresh timeout); every descriptor made here is close-on-exec,
//   every socket non-blocking.
#pragma once

#include <fastserve/net/fault_plan.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fastserve::net::sys {

// What a call returned: `n` bytes, events or the new descriptor; or `n` == -1 and `error`, an errno value.
struct io_result {
    ssize_t n = 0;
    int error = 0;
    bool filled = false; // recv alone: there were as many bytes as it asked for, so there may be more

    bool ok() const noexcept { return error == 0; }
    bool would_block() const noexcept { return error == EAGAIN || error == EWOULDBLOCK; }
    int descriptor() const noexcept { return static_cast<int>(n); }
};

inline std::error_code to_error_code(int error) noexcept {
    return {error, std::system_category()};
}

namespace detail {
// The two calls of every request, without the C library's switch to and from cancelability, which costs a program with
// threads about 2 % of a request. Sanitizers watch the library's names, so they get those.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
inline ssize_t recv_now(int fd, void* to, std::size_t size) noexcept {
    return ::recv(fd, to, size, 0);
}
inline ssize_t send_now(int fd, const void* from, std::size_t size, int flags) noexcept {
    return ::send(fd, from, size, flags);
}
#else
inline ssize_t recv_now(int fd, void* to, std::size_t size) noexcept {
    return ::syscall(SYS_recvfrom, fd, to, size, 0, nullptr, nullptr);
}
inline ssize_t send_now(int fd, const void* from, std::size_t size, int flags) noexcept {
    return ::syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
}
#endif

// S1 (fault_scope, release) pairs with S2 (guarded, acquire): who sees the plan sees its rules.
extern std::atomic<fault_plan*> installed;

inline constexpr std::size_t no_length = 1;
inline constexpr int no_descriptor = -1;

// sendv cut to `length` bytes; out of line because only a fault plan asks for it.
ssize_t short_sendv(int fd, const iovec* parts, std::size_t count, std::size_t length, int flags) noexcept;

// In place of what a network does, for calls that none knows.
struct not_simulated {};

// Whether a call that failed is made again. Not close: Linux has released the descriptor, and by now another thread may
// own its number.
constexpr bool again(call kind, int error) noexcept {
    return error == EINTR && kind != call::epoll_wait && kind != call::close;
}

// guarded() under a plan. Out of line: what it takes must not make the callers too large to be inlined themselves.
template <call Kind, class F, class S>
[[gnu::noinline, gnu::cold]] io_result planned(fault_plan& plan, int fd, std::size_t length, F f,
                                               S simulated) noexcept {
    for (;;) {
        std::size_t allowed = length;
        const int injected = plan.next(Kind, allowed);
        if (again(Kind, injected)) continue;
        if (injected == EAGAIN) plan.promise_edge(fd);
        if (injected != 0 && Kind != call::close) return {-1, injected};
        if (Kind == call::close) plan.unwatched(fd); // while the number is still ours
        network* const instead = plan.simulated(fd);
        ssize_t n = 0;
        if constexpr (std::is_same_v<S, not_simulated>)
            n = f(allowed);
        else
            n = instead ? simulated(*instead, allowed) : f(allowed);
        if (injected != 0) return {-1, injected};
        // `allowed` may be less than `length`: then nothing could be told from a short read.
        if (n >= 0) return {n, 0, Kind == call::recv && n == static_cast<ssize_t>(allowed)};
        const int error = errno;
        if (!again(Kind, error)) return {-1, error};
    }
}

// Runs `f(length)`, which returns -1 and sets errno as a system call does, until it was not interrupted. `fd` is the
// descriptor that it is about; when a simulated network owns that, `simulated(network, length)` is what runs.
template <call Kind, class F, class S>
inline io_result guarded(int fd, std::size_t length, F f, S simulated) noexcept {
    if (fault_plan* plan = installed.load(std::memory_order_acquire)) [[unlikely]] // S2
        return planned<Kind>(*plan, fd, length, f, simulated);
    for (;;) {
        const ssize_t n = f(length);
        if (n >= 0) [[likely]]
            return {n, 0, Kind == call::recv && n == static_cast<ssize_t>(length)};
        const int error = errno;
        if (!again(Kind, error)) return {-1, error};
    }
}

template <call Kind, class F>
inline io_result guarded(F f) noexcept {
    return guarded<Kind>(
        no_descriptor, no_length, [&f](std::size_t) noexcept { return static_cast<ssize_t>(f()); }, not_simulated{});
}
// For calls that move no bytes.
template <call Kind, class F, class S>
inline io_result guarded(int fd, F f, S simulated) noexcept {
    return guarded<Kind>(
        fd, no_length, [&f](std::size_t) noexcept { return static_cast<ssize_t>(f()); },
        [&simulated](network& n, std::size_t) noexcept { return static_cast<ssize_t>(simulated(n)); });
}
} // namespace detail

// Installs a plan for the whole process while it lives. One at a time.
class fault_scope {
public:
    explicit fault_scope(fault_plan& plan) noexcept {
        detail::installed.store(&plan, std::memory_order_release); // S1
    }
    ~fault_scope() { detail::installed.store(nullptr, std::memory_order_release); }
    fault_scope(const fault_scope&) = delete;
    fault_scope& operator=(const fault_scope&) = delete;
};

// --- Moving bytes. `n` == 0 from recv is the peer's end of stream. A broken connection is EPIPE, never SIGPIPE, but
// for
// --- sendfile.

inline io_result recv(int fd, void* to, std::size_t size) noexcept {
    return detail::guarded<call::recv>(
        fd, size, [=](std::size_t n) noexcept { return detail::recv_now(fd, to, n); },
        [=](network& net, std::size_t n) noexcept { return net.recv(fd, to, n); });
}

// What becomes of what is sent. MSG_NOSIGNAL: a broken connection is an error like any other.
enum class sending : int {
    on = MSG_NOSIGNAL,
    // Nothing follows but the end of the stream, at once: it leaves in the same packet.
    to_the_end = MSG_NOSIGNAL | MSG_MORE,
};

inline io_result send(int fd, const void* from, std::size_t size, sending how = sending::on) noexcept {
    return detail::guarded<call::send>(
        fd, size, [=](std::size_t n) noexcept { return detail::send_now(fd, from, n, static_cast<int>(how)); },
        [=](network& net, std::size_t n) noexcept {
            const iovec all{const_cast<void*>(from), size};
            return net.send(fd, {&all, 1}, n);
        });
}

// Gathers `parts` (at most IOV_MAX of them) into one send.
inline io_result sendv(int fd, std::span<const iovec> parts, sending how = sending::on) noexcept {
    constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
    return detail::guarded<call::sendv>(
        fd, all,
        [=](std::size_t n) noexcept {
            if (n != all) [[unlikely]]
                return detail::short_sendv(fd, parts.data(), parts.size(), n, static_cast<int>(how));
            msghdr message{};
            message.msg_iov = const_cast<iovec*>(parts.data()); // the kernel only reads it
            message.msg_iovlen = parts.size();
            return ::sendmsg(fd, &message, static_cast<int>(how));
        },
        [=](network& net, std::size_t n) noexcept { return net.send(fd, parts, n); });
}

// Sends from the file `in` at `offset`, which advances. Has no MSG_NOSIGNAL: the caller has SIGPIPE blocked
// (signals_blocked.hpp). `n` == 0: the file ended before `size`.
inline io_result sendfile(int out, int in, off_t& offset, std::size_t size) noexcept {
    return detail::guarded<call::sendfile>(
        out, size, [=, &offset](std::size_t n) noexcept { return ::sendfile(out, in, &offset, n); },
        [=, &offset](network& net, std::size_t n) noexcept { return net.sendfile(out, in, offset, n); });
}

// --- Connections.

// `peer` and `size` may be null. ECONNABORTED is an error of this connection alone: the caller goes on.
inline io_result accept(int fd, sockaddr* peer = nullptr, socklen_t* size = nullptr) noexcept {
    return detail::guarded<call::accept>(
        [=]() noexcept { return ::accept4(fd, peer, size, SOCK_NONBLOCK | SOCK_CLOEXEC); });
}

inline int shutdown(int fd, int how) noexcept {
    return detail::guarded<call::shutdown>(
               fd, [=]() noexcept { return ::shutdown(fd, how); },
               [=](network& net) noexcept { return net.shutdown(fd, how); })
        .error;
}

// The descriptor is gone whatever is returned.
inline int close(int fd) noexcept {
    return detail::guarded<call::close>(
               fd, [=]() noexcept { return ::close(fd); }, [=](network& net) noexcept { return net.close(fd); })
        .error;
}

inline io_result socket(int domain, int type = SOCK_STREAM) noexcept {
    return detail::guarded<call::socket>(
        [=]() noexcept { return ::socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

inline int bind(int fd, const sockaddr* to, socklen_t size) noexcept {
    return detail::guarded<call::bind>([=]() noexcept { return ::bind(fd, to, size); }).error;
}

inline int listen(int fd, int backlog) noexcept {
    return detail::guarded<call::listen>([=]() noexcept { return ::listen(fd, backlog); }).error;
}

inline int connect(int fd, const sockaddr* to, socklen_t size) noexcept {
    return detail::guarded<call::connect>([=]() noexcept { return ::connect(fd, to, size); }).error;
}

inline int local_name(int fd, sockaddr_storage& name, socklen_t& size) noexcept {
    size = sizeof name;
    return detail::guarded<call::get_name>(
               [&, fd]() noexcept { return ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size); })
        .error;
}

// For descriptors not made here: sets O_NONBLOCK (shared by everyone who holds the socket) and FD_CLOEXEC.
int make_nonblocking(int fd) noexcept;

// Another descriptor of the same socket, closed on exec, and none of the standard streams'.
inline io_result duplicate(int fd) noexcept {
    return detail::guarded<call::duplicate>([=]() noexcept { return ::fcntl(fd, F_DUPFD_CLOEXEC, 3); });
}

// --- Options. Errors are errno values.

inline int set_option(int fd, int level, int name, const void* value, socklen_t size) noexcept {
    return detail::guarded<call::set_option>(
               fd, [=]() noexcept { return ::setsockopt(fd, level, name, value, size); },
               [=](network& net) noexcept { return net.set_option(fd, level, name, value, size); })
        .error;
}

inline int set_option(int fd, int level, int name, int value) noexcept {
    return set_option(fd, level, name, &value, sizeof value);
}

inline int get_option(int fd, int level, int name, int& value) noexcept {
    return detail::guarded<call::get_option>(
               fd,
               [&, fd, level, name]() noexcept {
                   socklen_t size = sizeof value;
                   return ::getsockopt(fd, level, name, &value, &size);
               },
               [&, fd, level, name](network& net) noexcept { return net.get_option(fd, level, name, value); })
        .error;
}

// The CPU whose queue received the last packet of this connection; -1 when there is none (Unix sockets) or on error.
inline int incoming_cpu(int fd) noexcept {
    int cpu = -1;
    return get_option(fd, SOL_SOCKET, SO_INCOMING_CPU, cpu) == 0 ? cpu : -1;
}

// --- Readiness.

inline io_result epoll_create() noexcept {
    return detail::guarded<call::epoll_create>([]() noexcept { return ::epoll_create1(EPOLL_CLOEXEC); });
}

namespace detail {
inline int change_set(int set, int operation, int fd, std::uint32_t events, std::uint64_t data) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    const int error =
        guarded<call::epoll_ctl>(
            fd, [&, set, operation, fd]() noexcept { return ::epoll_ctl(set, operation, fd, &event); },
            [&, set, operation, fd](network& net) noexcept { return net.epoll_ctl(set, operation, fd, event); })
            .error;
    if (fault_plan* plan = installed.load(std::memory_order_acquire); plan && !error) [[unlikely]] // S2
        plan->watched(set, fd, events, data);
    return error;
}
} // namespace detail

inline int epoll_add(int set, int fd, std::uint32_t events, std::uint64_t data) noexcept {
    return detail::change_set(set, EPOLL_CTL_ADD, fd, events, data);
}

inline int epoll_modify(int set, int fd, std::uint32_t events, std::uint64_t data) noexcept {
    return detail::change_set(set, EPOLL_CTL_MOD, fd, events, data);
}

inline int epoll_remove(int set, int fd) noexcept {
    return detail::guarded<call::epoll_ctl>(
               fd, [=]() noexcept { return ::epoll_ctl(set, EPOLL_CTL_DEL, fd, nullptr); },
               [=](network& net) noexcept { return net.epoll_ctl(set, EPOLL_CTL_DEL, fd, {}); })
        .error;
}

// Waits at most `timeout_ms` (-1: without end) and returns how many of `events` were filled; 0 also after a signal.
inline io_result epoll_wait(int set, std::span<epoll_event> events, int timeout_ms) noexcept {
    const io_result got = detail::guarded<call::epoll_wait>(
        set, [=]() noexcept { return ::epoll_wait(set, events.data(), static_cast<int>(events.size()), timeout_ms); },
        [=](network& net) noexcept { return net.epoll_wait(set, events); });
    if (got.error == EINTR) [[unlikely]]
        return {0, 0};
    return got;
}

// --- Wake-ups.

inline io_result eventfd() noexcept {
    return detail::guarded<call::eventfd>([]() noexcept { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
}

// Makes the eventfd readable.
inline int eventfd_signal(int fd) noexcept {
    return detail::guarded<call::eventfd_write>([=]() noexcept { return ::eventfd_write(fd, 1); }).error;
}

// Makes it unreadable again. EAGAIN: it already was.
inline int eventfd_clear(int fd) noexcept {
    return detail::guarded<call::eventfd_read>([=]() noexcept {
               eventfd_t value = 0;
               return ::eventfd_read(fd, &value);
           })
        .error;
}

// --- Time.

// What one of the system's coarse clocks shows, in milliseconds.
inline std::uint64_t coarse_ms(clockid_t clock) noexcept {
    if (const fault_plan* plan = detail::installed.load(std::memory_order_acquire)) [[unlikely]] { // S2
        std::uint64_t ms = 0;
        if (plan->simulated() && plan->simulated()->clock(clock, ms)) return ms;
    }
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

// Whether time is simulated for this thread.
inline bool time_is_simulated() noexcept {
    const fault_plan* const plan = detail::installed.load(std::memory_order_acquire); // S2
    std::uint64_t ms = 0;
    return plan && plan->simulated() && plan->simulated()->clock(CLOCK_MONOTONIC_COARSE, ms);
}

// --- Names of Unix sockets.

// Does not follow a symbolic link.
inline int stat_name(const char* path, struct stat& out) noexcept {
    return detail::guarded<call::stat>([&, path]() noexcept { return ::lstat(path, &out); }).error;
}

inline int unlink(const char* path) noexcept {
    return detail::guarded<call::unlink>([=]() noexcept { return ::unlink(path); }).error;
}

} // namespace fastserve::net::sys

namespace fastserve::net {

// Owns one descriptor and closes it.
class unique_fd {
public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    // -1 when it owns none.
    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    // The caller closes it from now on.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept {
        if (fd_ >= 0) sys::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

} // namespace fastserve::net
