#include <fastserve/files/descriptor.hpp>

#include "system.hpp"

#include <cerrno>

#include <unistd.h>

namespace fastserve::files {

void descriptor::close() noexcept {
    const int before = errno;
    ::close(std::exchange(fd_, -1));
    errno = before;
}

read_result read_at(int fd, std::uint64_t offset, std::span<char> into) noexcept {
    std::size_t done = 0;
    while (done != into.size()) {
        const ssize_t n = ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return {done, errc_of(errno)};
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    return {done, errc::ok};
}

} // namespace fastserve::files
