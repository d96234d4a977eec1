// The owner of a file descriptor, and reading by one.
#pragma once

#include <fastserve/files/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace fastserve::files {

// Move-only; closes what it owns. One thread at a time. Leaves errno alone.
class descriptor {
public:
    constexpr descriptor() noexcept = default;
    // Takes it over; a negative one is none.
    constexpr explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = other.release();
        }
        return *this;
    }
    ~descriptor() { reset(); }

    explicit operator bool() const noexcept { return fd_ >= 0; }
    int get() const noexcept { return fd_; }
    // The caller's from now on.
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept {
        if (fd_ >= 0) close();
    }

private:
    void close() noexcept;

    int fd_ = -1;
};

struct read_result {
    std::size_t size = 0;
    errc error = errc::ok;
};

// Reads into.size() bytes from `offset` on, fewer only where the file ends: one that should be longer has shrunk.
// Blocks for as long as the disk takes. Does not move the descriptor's own offset, so that any number of threads may
// read.
read_result read_at(int fd, std::uint64_t offset, std::span<char> into) noexcept;

} // namespace fastserve::files
