#include <fastserve/net/system.hpp>

#include <algorithm>

#include <fcntl.h>

namespace fastserve::net::sys {

namespace detail {

std::atomic<fault_plan*> installed{nullptr};

ssize_t short_sendv(int fd, const iovec* parts, std::size_t count, std::size_t length, int flags) noexcept {
    iovec copy[64];
    std::size_t used = 0;
    while (used < count && used < std::size(copy) && length > 0) {
        copy[used] = parts[used];
        copy[used].iov_len = std::min(copy[used].iov_len, length);
        length -= copy[used].iov_len;
        ++used;
    }
    msghdr message{};
    message.msg_iov = copy;
    message.msg_iovlen = used;
    return ::sendmsg(fd, &message, flags);
}

} // namespace detail

int make_nonblocking(int fd) noexcept {
    return detail::guarded<call::set_flags>([=]() noexcept {
               const int status = ::fcntl(fd, F_GETFL);
               if (status < 0 || ::fcntl(fd, F_SETFL, status | O_NONBLOCK) < 0) return -1;
               const int flags = ::fcntl(fd, F_GETFD);
               return flags < 0 ? -1 : ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
           })
        .error;
}

} // namespace fastserve::net::sys
