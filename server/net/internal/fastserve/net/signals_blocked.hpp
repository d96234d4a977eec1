// Keeps signals away from a thread for as long as an object lives.
#pragma once

#include <signal.h>

namespace fastserve::net {

// While it lives, a write of this thread to a broken connection is EPIPE and no SIGPIPE, also through sendfile, which
// has no flag for that. For whole threads of ours, and around single calls in threads of others. At its end a SIGPIPE
// that came meanwhile is swallowed, unless one was pending or blocked before, and the mask is what it was. To be
// destroyed by the thread that made it.
class sigpipe_blocked {
public:
    sigpipe_blocked() noexcept;
    ~sigpipe_blocked();
    sigpipe_blocked(const sigpipe_blocked&) = delete;
    sigpipe_blocked& operator=(const sigpipe_blocked&) = delete;

private:
    bool blocked_here_ = false; // it was not blocked before, and was not pending
};

// While it lives, this thread and the threads it starts take no asynchronous signal: around the start of our threads,
// so that the program's signals reach its own. Signals of the thread's own faults (SIGSEGV and the like) are let
// through.
class all_signals_blocked {
public:
    all_signals_blocked() noexcept;
    ~all_signals_blocked();
    all_signals_blocked(const all_signals_blocked&) = delete;
    all_signals_blocked& operator=(const all_signals_blocked&) = delete;

private:
    sigset_t before_{};
};

} // namespace fastserve::net
