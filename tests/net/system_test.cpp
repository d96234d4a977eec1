#include <fastserve/net/error.hpp>
#include <fastserve/net/system.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>

namespace {

using namespace fastserve::net;
using sys::call;

struct socket_pair {
    unique_fd a, b;
    socket_pair() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        a.reset(fds[0]);
        b.reset(fds[1]);
    }
};

TEST(error, every_value_has_its_own_message) {
    std::set<std::string> messages;
    for (int value = 0; value < errc_count; ++value) {
        const std::error_code code = static_cast<errc>(value);
        EXPECT_TRUE(messages.insert(code.message()).second) << value;
        EXPECT_EQ(code.category(), net_category());
    }
    EXPECT_EQ(messages.count("unknown error"), 0u);
}

TEST(system, bytes_go_through) {
    socket_pair pair;
    EXPECT_EQ(sys::send(pair.a.get(), "hello", 5).n, 5);
    std::array<char, 16> buffer{};
    EXPECT_EQ(sys::recv(pair.b.get(), buffer.data(), buffer.size()).n, 5);
    EXPECT_EQ(std::string(buffer.data(), 5), "hello");
    EXPECT_TRUE(sys::recv(pair.b.get(), buffer.data(), buffer.size()).would_block());
    pair.a.reset();
    const sys::io_result end = sys::recv(pair.b.get(), buffer.data(), buffer.size());
    EXPECT_TRUE(end.ok());
    EXPECT_EQ(end.n, 0);
}

TEST(system, a_broken_connection_is_an_error_and_no_signal) {
    socket_pair pair;
    pair.b.reset();
    EXPECT_EQ(sys::send(pair.a.get(), "x", 1).error, EPIPE);
    iovec part{const_cast<char*>("x"), 1};
    EXPECT_EQ(sys::sendv(pair.a.get(), {&part, 1}).error, EPIPE);
}

TEST(system, what_is_made_here_is_close_on_exec_and_does_not_block) {
    const unique_fd made[] = {unique_fd{sys::socket(AF_INET).descriptor()}, unique_fd{sys::eventfd().descriptor()}};
    for (const unique_fd& fd : made) {
        EXPECT_TRUE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC);
        EXPECT_TRUE(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK);
    }
    const unique_fd set{sys::epoll_create().descriptor()};
    EXPECT_TRUE(::fcntl(set.get(), F_GETFD) & FD_CLOEXEC);

    int plain[2];
    ASSERT_EQ(::pipe(plain), 0);
    const unique_fd in{plain[0]}, out{plain[1]};
    EXPECT_EQ(sys::make_nonblocking(in.get()), 0);
    EXPECT_TRUE(::fcntl(in.get(), F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(::fcntl(in.get(), F_GETFL) & O_NONBLOCK);
    EXPECT_EQ(sys::make_nonblocking(-1), EBADF);
}

TEST(system, sendv_gathers) {
    socket_pair pair;
    const std::string one = "one ", two = "two ", three = "three";
    const std::array<iovec, 3> parts{{{const_cast<char*>(one.data()), one.size()},
                                      {const_cast<char*>(two.data()), two.size()},
                                      {const_cast<char*>(three.data()), three.size()}}};
    std::array<char, 64> buffer{};
    EXPECT_EQ(sys::sendv(pair.a.get(), parts).n, 13);
    EXPECT_EQ(sys::recv(pair.b.get(), buffer.data(), buffer.size()).n, 13);
    EXPECT_EQ(std::string(buffer.data(), 13), "one two three");

    // Cut anywhere, it sends exactly the front.
    for (std::size_t cut = 1; cut <= 13; ++cut) {
        sys::fault_plan plan;
        plan.shorten(call::sendv, 1, cut);
        const sys::fault_scope scope(plan);
        EXPECT_EQ(sys::sendv(pair.a.get(), parts).n, static_cast<ssize_t>(cut));
        EXPECT_EQ(sys::recv(pair.b.get(), buffer.data(), buffer.size()).n, static_cast<ssize_t>(cut));
        EXPECT_EQ(std::string(buffer.data(), cut), std::string("one two three").substr(0, cut));
    }
}

TEST(system, sendfile_advances_its_offset) {
    const unique_fd file{::memfd_create("f", MFD_CLOEXEC)};
    ASSERT_EQ(::write(file.get(), "0123456789", 10), 10);
    socket_pair pair;
    off_t offset = 4;
    sys::fault_plan plan;
    plan.shorten(call::sendfile, 2, 1);
    const sys::fault_scope scope(plan);
    EXPECT_EQ(sys::sendfile(pair.a.get(), file.get(), offset, 3).n, 3);
    EXPECT_EQ(offset, 7);
    EXPECT_EQ(sys::sendfile(pair.a.get(), file.get(), offset, 100).n, 1);
    EXPECT_EQ(sys::sendfile(pair.a.get(), file.get(), offset, 100).n, 2);
    EXPECT_EQ(sys::sendfile(pair.a.get(), file.get(), offset, 100).n, 0);
    std::array<char, 16> buffer{};
    EXPECT_EQ(sys::recv(pair.b.get(), buffer.data(), buffer.size()).n, 6);
    EXPECT_EQ(std::string(buffer.data(), 6), "456789");
}

TEST(system, epoll_reports_the_data_it_was_given) {
    const unique_fd set{sys::epoll_create().descriptor()};
    const unique_fd event{sys::eventfd().descriptor()};
    ASSERT_EQ(sys::epoll_add(set.get(), event.get(), EPOLLIN, 7), 0);
    std::array<epoll_event, 4> events{};
    EXPECT_EQ(sys::epoll_wait(set.get(), events, 0).n, 0);
    EXPECT_EQ(sys::eventfd_signal(event.get()), 0);
    ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1);
    EXPECT_EQ(std::uint64_t{events[0].data.u64}, 7u); // packed: not to be bound
    EXPECT_EQ(sys::epoll_modify(set.get(), event.get(), EPOLLIN, 8), 0);
    ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1);
    EXPECT_EQ(std::uint64_t{events[0].data.u64}, 8u);
    EXPECT_EQ(sys::eventfd_clear(event.get()), 0);
    EXPECT_EQ(sys::eventfd_clear(event.get()), EAGAIN);
    EXPECT_EQ(sys::epoll_wait(set.get(), events, 0).n, 0);
    EXPECT_EQ(sys::epoll_remove(set.get(), event.get()), 0);
    EXPECT_EQ(sys::epoll_remove(set.get(), event.get()), ENOENT);
}

TEST(system, an_interrupted_wait_is_no_error) {
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    const unique_fd set{sys::epoll_create().descriptor()};
    std::atomic<bool> returned{false};
    sys::io_result got{-1, -1};
    std::thread waiter([&] {
        std::array<epoll_event, 1> events{};
        got = sys::epoll_wait(set.get(), events, 60'000);
        returned.store(true, std::memory_order_release);
    });
    while (!returned.load(std::memory_order_acquire)) {
        ::pthread_kill(waiter.native_handle(), SIGUSR1);
        std::this_thread::yield();
    }
    waiter.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(got.n, 0);
    EXPECT_EQ(got.error, 0);
}

TEST(system, options_are_set_and_read) {
    const unique_fd fd{sys::socket(AF_INET).descriptor()};
    EXPECT_EQ(sys::set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1), 0);
    int value = 0;
    EXPECT_EQ(sys::get_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, value), 0);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(sys::get_option(-1, SOL_SOCKET, SO_REUSEADDR, value), EBADF);
    EXPECT_EQ(sys::incoming_cpu(-1), -1);
}

TEST(faults, every_nth_call_can_fail_and_leaves_the_bytes_alone) {
    for (std::uint64_t nth = 1; nth <= 5; ++nth) {
        socket_pair pair;
        ASSERT_EQ(::send(pair.b.get(), "abcd", 4, 0), 4);
        sys::fault_plan plan;
        plan.fail(call::recv, nth, ECONNRESET);
        const sys::fault_scope scope(plan);
        std::string got;
        for (std::uint64_t i = 1; i <= 5; ++i) {
            char c = 0;
            const sys::io_result r = sys::recv(pair.a.get(), &c, 1);
            if (i == nth) {
                EXPECT_EQ(r.error, ECONNRESET);
                EXPECT_EQ(r.n, -1);
            } else {
                EXPECT_EQ(r.n, 1);
                got += c;
            }
        }
        EXPECT_EQ(got, "abcd");
        EXPECT_EQ(plan.calls(call::recv), 5u);
        EXPECT_EQ(plan.injected(), 1u);
    }
}

TEST(faults, interruptions_are_retried) {
    socket_pair pair;
    ASSERT_EQ(::send(pair.b.get(), "x", 1, 0), 1);
    sys::fault_plan plan;
    plan.fail(call::recv, 1, EINTR, 3).fail(call::epoll_wait, 1, EINTR);
    const sys::fault_scope scope(plan);
    char c = 0;
    EXPECT_EQ(sys::recv(pair.a.get(), &c, 1).n, 1);
    EXPECT_EQ(plan.calls(call::recv), 4u);
    std::array<epoll_event, 1> events{};
    const sys::io_result waited = sys::epoll_wait(-1, events, 0);
    EXPECT_EQ(waited.n, 0);
    EXPECT_EQ(waited.error, 0);
}

TEST(faults, a_failed_close_has_closed) {
    const int fd = sys::eventfd().descriptor();
    sys::fault_plan plan;
    plan.fail(call::close, 1, EIO);
    const sys::fault_scope scope(plan);
    EXPECT_EQ(sys::close(fd), EIO);
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(faults, random_ones_are_the_same_for_the_same_seed) {
    const auto pattern = [](std::uint64_t seed) {
        sys::fault_plan plan;
        plan.fail_randomly(call::send, seed, 4, ENOBUFS);
        std::string out;
        for (int i = 0; i < 400; ++i) {
            std::size_t length = 10;
            out += plan.next(call::send, length) == ENOBUFS ? 'x' : '.';
        }
        return out;
    };
    EXPECT_EQ(pattern(1), pattern(1));
    EXPECT_NE(pattern(1), pattern(2));
    const std::string one = pattern(1);
    const auto failed = std::count(one.begin(), one.end(), 'x');
    EXPECT_GT(failed, 60);
    EXPECT_LT(failed, 140);
}

TEST(faults, short_counts_stay_between_one_and_what_was_asked) {
    sys::fault_plan plan;
    plan.shorten_randomly(call::recv, 3, 1);
    std::set<std::size_t> seen;
    for (int i = 0; i < 1000; ++i) {
        std::size_t length = 8;
        EXPECT_EQ(plan.next(call::recv, length), 0);
        seen.insert(length);
    }
    EXPECT_EQ(*seen.begin(), 1u);
    EXPECT_EQ(*seen.rbegin(), 8u);
    std::size_t none = 0; // a read into no room is not turned into one of a byte
    EXPECT_EQ(plan.next(call::recv, none), 0);
    EXPECT_EQ(none, 0u);
}

// Several rules for one kind each have their share, also with one seed.
TEST(faults, random_rules_are_independent) {
    sys::fault_plan plan;
    plan.shorten_randomly(call::recv, 7, 2);
    plan.fail_randomly(call::recv, 7, 60, ECONNRESET);
    plan.fail_randomly(call::recv, 7, 60, ENOBUFS);
    std::size_t reset = 0, memory = 0;
    for (int i = 0; i < 12'000; ++i) {
        std::size_t length = 10;
        const int e = plan.next(call::recv, length);
        reset += e == ECONNRESET;
        memory += e == ENOBUFS;
    }
    EXPECT_GT(reset, 50u); // of the half that was not shortened
    EXPECT_LT(reset, 150u);
    EXPECT_GT(memory, 50u);
    EXPECT_LT(memory, 150u);
}

// Who is told "nothing there" though there is gets the edge that this promises, exactly as from the kernel.
TEST(faults, an_injected_would_block_is_followed_by_an_edge) {
    sys::fault_plan plan;
    plan.fail(call::recv, 1, EAGAIN, 2).fail(call::send, 1, EAGAIN, 2);
    const sys::fault_scope scope(plan);
    socket_pair pair;
    const int near = pair.a.get();
    const unique_fd set(sys::epoll_create().descriptor());
    ASSERT_EQ(sys::epoll_add(set.get(), near, EPOLLIN | EPOLLOUT | EPOLLET, 42), 0);
    ASSERT_EQ(::send(pair.b.get(), "x", 1, 0), 1);
    std::array<epoll_event, 4> events;
    ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1);
    char byte = 0;
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(sys::recv(near, &byte, 1).would_block());
        ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1) << i;
        const std::uint64_t data = events[0].data.u64; // the system packs them: no reference to it is aligned
        EXPECT_EQ(data, 42u);
        EXPECT_TRUE(events[0].events & EPOLLIN);
        EXPECT_TRUE(sys::send(near, "y", 1).would_block());
        ASSERT_EQ(sys::epoll_wait(set.get(), events, 0).n, 1) << i;
        EXPECT_TRUE(events[0].events & EPOLLOUT);
    }
    EXPECT_EQ(sys::recv(near, &byte, 1).n, 1);
    EXPECT_EQ(sys::epoll_wait(set.get(), events, 0).n, 0) << "only what was promised";
}

TEST(faults, calls_are_counted_by_thread) {
    sys::fault_plan plan;
    const sys::fault_scope scope(plan);
    constexpr int threads = 4, calls = 1000;
    std::array<pid_t, threads> ids{};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t)
        running.emplace_back([&ids, t] {
            ids[t] = sys::fault_plan::this_thread();
            for (int i = 0; i < calls + static_cast<int>(t); ++i) sys::incoming_cpu(-1);
        });
    for (std::thread& thread : running) thread.join();
    for (std::size_t t = 0; t < threads; ++t) EXPECT_EQ(plan.calls_by(ids[t], call::get_option), calls + t);
    EXPECT_EQ(plan.calls(call::get_option), calls * threads + 6u);
    EXPECT_EQ(plan.calls_by(sys::fault_plan::this_thread(), call::get_option), 0u);
}

TEST(faults, nothing_is_counted_without_a_plan) {
    sys::fault_plan plan;
    { const sys::fault_scope scope(plan); }
    sys::incoming_cpu(-1);
    EXPECT_EQ(plan.calls(call::get_option), 0u);
}

TEST(unique_fd, moves_and_closes) {
    int number = -1;
    {
        unique_fd a{sys::eventfd().descriptor()};
        number = a.get();
        unique_fd b{std::move(a)};
        EXPECT_FALSE(a); // NOLINT: what a moved-from owner holds is part of its contract
        EXPECT_EQ(b.get(), number);
        b = unique_fd{b.release()};
        EXPECT_EQ(b.get(), number);
    }
    EXPECT_EQ(::fcntl(number, F_GETFD), -1);
}

} // namespace
