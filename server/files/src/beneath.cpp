#include <fastserve/files/beneath.hpp>

#include <fastserve/files/path.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fastserve::files {
namespace {

// How often a path is tried again whose directories were renamed while it was resolved.
constexpr int most_races = 8;

int call_openat2(int directory, const char* path, int flags, resolution how) noexcept {
    struct open_how how_to {};
    how_to.flags = static_cast<unsigned>(flags);
    how_to.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (how == resolution::no_links) how_to.resolve |= RESOLVE_NO_SYMLINKS;
    for (int races = 0;;) {
        const long fd = ::syscall(SYS_openat2, directory, path, &how_to, sizeof how_to);
        if (fd >= 0) return static_cast<int>(fd);
        if (errno == EINTR || (errno == EAGAIN && ++races < most_races)) continue;
        return -1;
    }
}

int call_openat(int directory, const char* name, int flags) noexcept {
    int fd;
    do fd = ::openat(directory, name, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

opened walk(int directory, std::string_view path, int flags) noexcept {
    char name[longest_name + 1];
    descriptor held; // the directory that was walked into
    for (;;) {
        const std::string_view next = path.substr(0, path.find('/'));
        if (next.size() > longest_name) return {descriptor(), ENAMETOOLONG};
        std::memcpy(name, next.data(), next.size());
        name[next.size()] = '\0';
        const bool last = next.size() == path.size();
        // Of a directory in between nothing is read, so that it needs not be readable.
        descriptor fd(call_openat(held ? held.get() : directory, name,
                                  O_NOFOLLOW | (last ? flags : O_PATH | O_DIRECTORY | O_CLOEXEC)));
        if (!fd) return {descriptor(), errno};
        if (last) return {std::move(fd), 0};
        held = std::move(fd);
        path.remove_prefix(next.size() + 1);
    }
}

} // namespace

resolution available_resolution(int directory, resolution wanted) noexcept {
    if (wanted == resolution::walk) return wanted;
    const descriptor probe(call_openat2(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, wanted));
    if (probe) return wanted;
    // ENOSYS: an old kernel. EPERM: a sandbox that does not know the call. E2BIG and EINVAL: none of today's kernels.
    const bool missing = errno == ENOSYS || errno == EPERM || errno == E2BIG || errno == EINVAL;
    return missing ? resolution::walk : wanted;
}

opened open_beneath(int directory, const char* path, int flags, resolution how) noexcept {
    if (how == resolution::walk) return walk(directory, path, flags);
    descriptor fd(call_openat2(directory, path, flags, how));
    if (!fd) return {descriptor(), errno};
    return {std::move(fd), 0};
}

} // namespace fastserve::files
