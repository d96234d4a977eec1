#include <fastserve/net/signals_blocked.hpp>
#include <fastserve/net/system.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include <sys/mman.h>

namespace {

using namespace fastserve::net;

std::atomic<int> pipes{0};

// SIGPIPE counted instead of deadly, for the length of a test.
struct counted_sigpipe {
    struct sigaction before {};
    counted_sigpipe() {
        pipes.store(0, std::memory_order_relaxed);
        struct sigaction action {};
        action.sa_handler = [](int) { pipes.fetch_add(1, std::memory_order_relaxed); };
        ::sigaction(SIGPIPE, &action, &before);
    }
    ~counted_sigpipe() { ::sigaction(SIGPIPE, &before, nullptr); }
    int seen() const { return pipes.load(std::memory_order_relaxed); }
};

bool blocked(int signal) {
    sigset_t now;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    return ::sigismember(&now, signal) == 1;
}

// sendfile to a socket whose peer has gone.
int broken_sendfile() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    const unique_fd socket(fds[0]), file(::memfd_create("f", MFD_CLOEXEC));
    EXPECT_EQ(::close(fds[1]), 0);
    EXPECT_EQ(::write(file.get(), "x", 1), 1);
    off_t offset = 0;
    return sys::sendfile(socket.get(), file.get(), offset, 1).error;
}

TEST(sigpipe_blocked, a_broken_sendfile_is_an_error_and_no_signal) {
    const counted_sigpipe count;
    {
        const sigpipe_blocked scope;
        EXPECT_TRUE(blocked(SIGPIPE));
        EXPECT_EQ(broken_sendfile(), EPIPE);
    }
    EXPECT_FALSE(blocked(SIGPIPE));
    EXPECT_EQ(count.seen(), 0);
    EXPECT_EQ(broken_sendfile(), EPIPE);
    EXPECT_EQ(count.seen(), 1) << "outside of the scope the signal is raised: the test can fail";
}

TEST(sigpipe_blocked, nests) {
    const counted_sigpipe count;
    {
        const sigpipe_blocked outer;
        {
            const sigpipe_blocked inner;
            broken_sendfile();
        }
        EXPECT_TRUE(blocked(SIGPIPE));
    }
    EXPECT_FALSE(blocked(SIGPIPE));
    EXPECT_EQ(count.seen(), 0);
}

TEST(sigpipe_blocked, one_that_was_pending_before_stays_pending) {
    const counted_sigpipe count;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
    ASSERT_EQ(::pthread_kill(::pthread_self(), SIGPIPE), 0);
    { const sigpipe_blocked scope; }
    EXPECT_EQ(count.seen(), 0);
    EXPECT_EQ(::pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
    EXPECT_EQ(count.seen(), 1);
}

TEST(all_signals_blocked, is_inherited_by_threads_and_restored) {
    bool term = false, fault = true;
    {
        const all_signals_blocked scope;
        std::thread([&] {
            term = blocked(SIGTERM) && blocked(SIGINT) && blocked(SIGHUP);
            fault = blocked(SIGSEGV) || blocked(SIGABRT);
        }).join();
    }
    EXPECT_TRUE(term);
    EXPECT_FALSE(fault);
    EXPECT_FALSE(blocked(SIGTERM));
}

} // namespace
