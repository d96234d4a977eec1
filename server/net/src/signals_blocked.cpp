#include <fastserve/net/signals_blocked.hpp>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace fastserve::net {

namespace {

sigset_t only_sigpipe() noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

bool sigpipe_pending() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

} // namespace

sigpipe_blocked::sigpipe_blocked() noexcept {
    // One that is pending already is someone else's: it must reach them, so nothing is swallowed then.
    const bool was_pending = sigpipe_pending();
    const sigset_t set = only_sigpipe();
    sigset_t before;
    if (pthread_sigmask(SIG_BLOCK, &set, &before) != 0) return;
    blocked_here_ = sigismember(&before, SIGPIPE) == 0 && !was_pending;
}

sigpipe_blocked::~sigpipe_blocked() {
    if (!blocked_here_) return;
    const sigset_t set = only_sigpipe();
    const timespec no_wait{};
    if (sigpipe_pending())
        while (sigtimedwait(&set, nullptr, &no_wait) < 0 && errno == EINTR) {
        }
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

all_signals_blocked::all_signals_blocked() noexcept {
    sigset_t set;
    sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&set, fault);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
}

all_signals_blocked::~all_signals_blocked() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

} // namespace fastserve::net
