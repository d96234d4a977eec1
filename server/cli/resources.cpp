#include "resources.hpp"

#ifdef FASTSERVE_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace fastserve::cli {

void prepare_standard_streams() noexcept {
    // open() takes the lowest number that is free.
    for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
        if (fd <= STDERR_FILENO) continue;
        ::close(fd);
        break;
    }
    ::signal(SIGPIPE, SIG_IGN);
}

void hold_signals() noexcept {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

descriptor_limit raise_descriptor_limit(std::uint64_t connections, unsigned workers) noexcept {
    // Beside the connections: three descriptors of Asio's and two of ours a worker, and three for each listener that it
    // has; other listeners, standard streams, the admin listener with its connections, and some for handlers and for
    // peers that are told there is no room.
    const unsigned loops = workers != 0 ? workers : std::max(1u, std::thread::hardware_concurrency());
    const rlim_t others = 16ull * loops + 256;
    const rlim_t needed = connections + others;
    const auto enough_for = [&](rlim_t open) -> descriptor_limit {
        return {.needed = needed,
                .open = open,
                .connections = open < needed ? (open > others ? open - others : 1) : connections};
    };
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return enough_for(needed);
    if (limit.rlim_cur >= needed) return enough_for(limit.rlim_cur);
    if (limit.rlim_max < needed) {
        const rlimit more{.rlim_cur = needed, .rlim_max = needed}; // for the privileged
        if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return enough_for(needed);
    }
    const rlimit raised{.rlim_cur = std::min(needed, limit.rlim_max), .rlim_max = limit.rlim_max};
    return enough_for(::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

std::string too_few_descriptors(std::uint64_t asked, const descriptor_limit& l) {
    return "--max-connections " + std::to_string(asked) + " needs " + std::to_string(l.needed) +
           " open descriptors, and the limit is " + std::to_string(l.open) +
           "; raise it (ulimit -n, or LimitNOFILE= in a systemd unit) or ask for at most " +
           std::to_string(l.connections);
}

void give_memory_back() noexcept {
#ifdef FASTSERVE_MIMALLOC
    ::mi_collect(true);
#else
    ::malloc_trim(0);
#endif
}

} // namespace fastserve::cli
