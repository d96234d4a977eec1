#include "resources.hpp"

#include <sys/resource.h>

namespace fastserve::cli {

std::uint64_t raise_descriptor_limit(std::uint64_t connections, unsigned workers) {
    // Beside the connections: two epoll sets, a wake-up and a timer for each worker; listeners, standard streams, and
    // some for handlers.
    const rlim_t others = 8ull * workers + 128;
    const rlim_t needed = connections + others;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return connections;
    const rlim_t hard = limit.rlim_max;
    limit.rlim_cur = needed;
    if (hard < needed) limit.rlim_max = needed; // for the privileged
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return connections;
    limit.rlim_cur = limit.rlim_max = hard;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > others ? limit.rlim_cur - others : 1;
}

std::string too_few_descriptors(std::uint64_t asked, std::uint64_t allowed) {
    return "--max-connections " + std::to_string(asked) +
           " needs more open descriptors than the hard limit allows, which " + "is enough for " +
           std::to_string(allowed) + "; raise it (ulimit -Hn, LimitNOFILE=) or ask for fewer";
}

} // namespace fastserve::cli
