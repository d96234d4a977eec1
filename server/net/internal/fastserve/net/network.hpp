// What can stand in for the kernel, in the layer of system calls (system.hpp), on descriptors of its own. For tests;
// simulated_network.hpp is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace fastserve::net::sys {

// The calls return what the system call of that name does: -1 and errno, or how much. None waits.
class network {
public:
    virtual ~network() = default;

    // *Any thread*: whether calls on `fd`, which may be an epoll set, are to be answered here.
    virtual bool owns(int fd) const noexcept = 0;
    virtual ssize_t recv(int fd, void* to, std::size_t size) noexcept = 0;
    // At most `length` bytes of the parts.
    virtual ssize_t send(int fd, std::span<const iovec> parts, std::size_t length) noexcept = 0;
    virtual ssize_t sendfile(int out, int in, off_t& offset, std::size_t size) noexcept = 0;
    virtual int shutdown(int fd, int how) noexcept = 0;
    virtual int close(int fd) noexcept = 0;
    virtual int get_option(int fd, int level, int name, int& value) noexcept = 0;
    virtual int set_option(int fd, int level, int name, const void* value, socklen_t size) noexcept = 0;
    virtual int epoll_ctl(int set, int operation, int fd, const epoll_event&) noexcept = 0;
    virtual int epoll_wait(int set, std::span<epoll_event>) noexcept = 0;

    // *Any thread*: whether time is simulated for the thread that calls; then `ms` is what that clock shows.
    virtual bool clock(clockid_t, std::uint64_t& ms) const noexcept = 0;
};

} // namespace fastserve::net::sys
