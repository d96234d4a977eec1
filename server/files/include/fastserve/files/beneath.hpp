// Opening what lies below a directory, and nothing that does not.
#pragma once

#include <fastserve/files/descriptor.hpp>

#include <cstdint>

namespace fastserve::files {

// How names are resolved. In none of these ways does a link, absolute or with "..", lead out of the directory, also not
// one that is put there meanwhile.
enum class resolution : std::uint8_t {
    // Links are followed as long as every step of them stays below the directory; absolute ones therefore never.
    within,
    // No link is followed.
    no_links,
    // The same without openat2() (Linux 5.6), for kernels and sandboxes that do not have it: one system call a name.
    walk,
};

// `wanted`, or resolution::walk if this system cannot do it. `directory` is a descriptor of one.
resolution available_resolution(int directory, resolution wanted) noexcept;

struct opened {
    descriptor fd{};
    int error = 0; // errno, when there is no descriptor
};

// open() of `path`, names joined by single slashes of which none is "..", or ".". `flags` are those of open(), with
// O_CLOEXEC, and without any that create a file. Whether what is opened is itself a link is for the caller to look at:
// with O_PATH, resolution::walk opens the link. Any thread.
opened open_beneath(int directory, const char* path, int flags, resolution how) noexcept;

} // namespace fastserve::files
