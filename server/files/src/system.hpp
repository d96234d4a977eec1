// What the system says, in our words.
#pragma once

#include <fastserve/files/error.hpp>
#include <fastserve/files/representation.hpp>

#include <cerrno>
#include <cstdint>

#include <sys/stat.h>

namespace fastserve::files {

// Of a name that could not be opened, or a file that could not be read.
inline errc errc_of(int error) noexcept {
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ESTALE: return errc::not_found;
    case EXDEV:
    case ELOOP: return errc::outside;
    case ENXIO:
    case ENODEV: return errc::not_a_file; // a socket, or a device that it has become
    case EACCES:
    case EPERM: return errc::denied;
    case EAGAIN: // also a lease that somebody has to give back first
    case EMFILE:
    case ENFILE:
    case ENOMEM: return errc::busy;
    default: return errc::failed;
    }
}

inline file_state state_of(const struct ::stat& s) noexcept {
    file_state state;
    state.size = static_cast<std::uint64_t>(s.st_size);
    state.modified = s.st_mtim.tv_sec;
    state.modified_ns = static_cast<std::uint32_t>(s.st_mtim.tv_nsec);
    state.inode = s.st_ino;
    state.device = s.st_dev;
    return state;
}

} // namespace fastserve::files
