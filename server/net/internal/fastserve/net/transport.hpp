// Bytes to and from a peer: the seam behind which sockets stand.
//
// The worker knows of a connection's bytes only what is declared here, so that a transport of another kind (TLS, a
// simulated one) needs no change above.
#pragma once

#include <fastserve/net/system.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace fastserve::net {

// `drained` is said by the transport and never inferred from `size`: it tells that nothing more is there until the next
// event.
struct received {
    std::size_t size = 0;
    bool drained = false;
    bool finished = false; // the peer has shut down its sending side
    bool failed = false;   // the connection is broken
};

// `blocked` likewise: an event tells when there is room again. A short send alone does not promise one.
struct sent {
    std::size_t size = 0;
    bool blocked = false;
    bool failed = false;
};

// Thread safety: none. Invariant: at most one owner knows the descriptor.
class transport {
public:
    transport() = default;
    explicit transport(int fd) noexcept : fd_(fd) {}

    int descriptor() const noexcept { return fd_; }

    // `finishing`: an event has said that the peer shut down its side, so a short read does not mean drained.
    received receive(std::span<char> area, bool finishing) noexcept {
        const sys::io_result r = sys::recv(fd_, area.data(), area.size());
        if (r.n > 0) [[likely]] {
            const auto size = static_cast<std::size_t>(r.n);
            // A stream socket returned less than was asked for: its queue was empty at that moment (epoll(7)).
            return {.size = size, .drained = !r.filled && !finishing};
        }
        if (r.ok()) return {.drained = true, .finished = true};
        if (r.would_block()) return {.drained = true};
        return {.failed = true};
    }

    // Sends the parts in order, as far as the socket takes them.
    sent send(const std::array<std::string_view, 4>& parts, sys::sending how = sys::sending::on) noexcept {
        std::array<iovec, 4> vectors;
        std::size_t used = 0;
        for (std::string_view part : parts)
            if (!part.empty()) vectors[used++] = {const_cast<char*>(part.data()), part.size()};
        if (used == 0) return {};
        const sys::io_result r = used == 1 ? sys::send(fd_, vectors[0].iov_base, vectors[0].iov_len, how)
                                           : sys::sendv(fd_, std::span(vectors).first(used), how);
        if (r.ok()) return {.size = static_cast<std::size_t>(r.n)};
        if (r.would_block()) return {.blocked = true};
        return {.failed = true};
    }

    // False: the connection is broken.
    bool shut_down_sending() noexcept { return sys::shutdown(fd_, SHUT_WR) == 0; }

    // From now on close() is a reset: what is not sent yet is dropped, and the peer sees that the connection broke.
    void reset_on_close() noexcept {
        const linger at_once{1, 0};
        sys::set_option(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }

    void close() noexcept {
        if (fd_ >= 0) sys::close(fd_);
        fd_ = -1;
    }

    // The CPU its packets arrive on; -1 where that means nothing.
    int incoming_cpu() const noexcept { return sys::incoming_cpu(fd_); }

private:
    int fd_ = -1;
};

} // namespace fastserve::net
