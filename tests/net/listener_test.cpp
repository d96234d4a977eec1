// These tests open real sockets: a listener is nothing without the kernel's answers. They wait for none.
#include <fastserve/net/listener.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>

namespace {

using namespace fastserve::net;
using sys::call;

address at(std::string_view text) {
    return *address::parse(text);
}

// A blocking client; connected before it returns, because the kernel's queue answers for the listener.
unique_fd client(const address& to) {
    unique_fd fd(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    const socklen_t size = to.to_sockaddr(storage);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return {};
    return fd;
}

unique_fd accepted(const listener& from) {
    const sys::io_result got = sys::accept(from.fd());
    return got.ok() ? unique_fd(got.descriptor()) : unique_fd();
}

std::size_t open_descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
}

class scratch {
public:
    scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "fastserve-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~scratch() { std::filesystem::remove_all(path_); }
    std::string file(const char* name) const { return (path_ / name).string(); }
    address socket(const char* name) const { return address::unix_path(file(name)); }

private:
    std::filesystem::path path_;
};

TEST(listener, says_the_port_it_was_given) {
    auto l = listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_NE(l->local().port(), 0);
    EXPECT_EQ(l->local(), at("127.0.0.1:0").at_port(l->local().port()));
    EXPECT_FALSE(l->inherited());
    EXPECT_TRUE(::fcntl(l->fd(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(l->fd(), F_GETFD) & FD_CLOEXEC);
    EXPECT_FALSE(accepted(*l));

    const unique_fd c = client(l->local());
    ASSERT_TRUE(c);
    const unique_fd s = accepted(*l);
    ASSERT_TRUE(s);
    int value = 0;
    EXPECT_EQ(sys::get_option(s.get(), IPPROTO_TCP, TCP_NODELAY, value), 0);
    EXPECT_NE(value, 0) << "accepted sockets inherit it, which saves a call a connection";
}

TEST(listener, a_second_server_is_told_that_the_address_is_in_use) {
    const auto first = listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(first);
    const auto second = listener::open(first->local());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(), std::errc::address_in_use);
    const auto shares = listener::open(first->local(), {.reuse_port = true});
    ASSERT_FALSE(shares);
    EXPECT_EQ(shares.error(), std::errc::address_in_use);
}

TEST(listener, two_that_share_share) {
    const auto first = listener::open(at("127.0.0.1:0"), {.reuse_port = true});
    ASSERT_TRUE(first);
    EXPECT_TRUE(listener::open(first->local(), {.reuse_port = true}));
}

TEST(listener, an_address_of_another_host_is_refused) {
    const auto l = listener::open(at("192.0.2.1:0")); // TEST-NET-1
    ASSERT_FALSE(l);
    EXPECT_EQ(l.error(), std::errc::address_not_available);
    EXPECT_EQ(listener::open(address{}).error(), errc::bad_address);
}

TEST(listener, any_v6_takes_v4_unless_told_otherwise) {
    const auto both = listener::open(at("[::]:0"));
    ASSERT_TRUE(both) << both.error().message();
    EXPECT_TRUE(client(at("127.0.0.1:0").at_port(both->local().port())));
    if (both->local().type() != address::kind::v6) return; // a host without IPv6: seen in the next test

    EXPECT_TRUE(client(at("[::1]:0").at_port(both->local().port())));
    const auto v6_only = listener::open(at("[::]:0"), {.v6_only = true});
    ASSERT_TRUE(v6_only);
    EXPECT_FALSE(client(at("127.0.0.1:0").at_port(v6_only->local().port())));
}

TEST(listener, any_v6_becomes_any_v4_on_a_host_without_v6) {
    for (const auto& [which, error] : {std::pair{call::socket, EAFNOSUPPORT}, std::pair{call::bind, EADDRNOTAVAIL}}) {
        sys::fault_plan plan;
        plan.fail(which, 1, error);
        const sys::fault_scope scope(plan);
        const auto l = listener::open(at(":0"));
        ASSERT_TRUE(l) << l.error().message();
        EXPECT_EQ(l->local(), at("0.0.0.0:0").at_port(l->local().port()));
    }
    sys::fault_plan plan;
    plan.fail(call::socket, 1, EAFNOSUPPORT);
    const sys::fault_scope scope(plan);
    EXPECT_EQ(listener::open(at("[::]:0"), {.v6_only = true}).error(), std::errc::address_family_not_supported);
}

TEST(listener, moves) {
    auto first = listener::open(at("127.0.0.1:0"));
    auto second = listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(first && second);
    const address where = first->local(), gone = second->local();
    *second = std::move(*first);
    EXPECT_EQ(second->local(), where);
    EXPECT_TRUE(client(where));
    EXPECT_FALSE(client(gone));
    second->close();
    second->close();
    EXPECT_FALSE(client(where));
}

// Closing first would reset those still queued; this order answers every one of them.
TEST(listener, what_is_queued_survives_the_stop) {
    auto l = listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(l);
    std::vector<unique_fd> clients, served;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(client(l->local()));
        ASSERT_TRUE(clients.back());
        ASSERT_EQ(::send(clients.back().get(), "ping", 4, MSG_NOSIGNAL), 4);
    }
    EXPECT_EQ(l->stop_queueing(), 0);
    while (unique_fd s = accepted(*l)) served.push_back(std::move(s));
    l->close();
    ASSERT_EQ(served.size(), clients.size());
    for (const unique_fd& s : served) EXPECT_EQ(sys::send(s.get(), "pong", 4).n, 4);
    for (const unique_fd& c : clients) {
        char buffer[4];
        EXPECT_EQ(::recv(c.get(), buffer, 4, MSG_WAITALL), 4);
    }
}

// --- Unix sockets.

TEST(unix_listener, makes_its_name_and_removes_it) {
    const scratch dir;
    {
        const auto l = listener::open(dir.socket("s"));
        ASSERT_TRUE(l) << l.error().message();
        EXPECT_EQ(l->local(), dir.socket("s"));
        EXPECT_TRUE(client(l->local()));
        EXPECT_TRUE(accepted(*l));
        EXPECT_EQ(sys::incoming_cpu(l->fd()), -1);
    }
    EXPECT_FALSE(std::filesystem::exists(dir.file("s")));
}

TEST(unix_listener, takes_over_a_stale_name) {
    const scratch dir;
    {
        const unique_fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_storage storage;
        const socklen_t size = dir.socket("s").to_sockaddr(storage);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&storage), size), 0);
        ASSERT_EQ(::listen(dead.get(), 1), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(dir.file("s")));
    const auto l = listener::open(dir.socket("s"));
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_TRUE(client(l->local()));
}

TEST(unix_listener, leaves_a_live_server_alone) {
    const scratch dir;
    const auto first = listener::open(dir.socket("s"), {.backlog = 0});
    ASSERT_TRUE(first);
    EXPECT_EQ(listener::open(dir.socket("s")).error(), std::errc::address_in_use);
    // The probe fills the queue of one; a full queue is a live server too.
    EXPECT_EQ(listener::open(dir.socket("s")).error(), std::errc::address_in_use);
    EXPECT_TRUE(accepted(*first));

    const unique_fd datagram(::socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_storage storage;
    const socklen_t size = dir.socket("d").to_sockaddr(storage);
    ASSERT_EQ(::bind(datagram.get(), reinterpret_cast<sockaddr*>(&storage), size), 0);
    EXPECT_EQ(listener::open(dir.socket("d")).error(), std::errc::address_in_use);
    EXPECT_TRUE(std::filesystem::exists(dir.file("d")));
}

TEST(unix_listener, never_removes_what_is_no_socket) {
    const scratch dir;
    std::ofstream(dir.file("f")) << "precious";
    EXPECT_EQ(listener::open(dir.socket("f")).error(), errc::path_not_socket);
    std::filesystem::create_directory(dir.file("d"));
    EXPECT_EQ(listener::open(dir.socket("d")).error(), errc::path_not_socket);
    std::filesystem::create_symlink(dir.file("f"), dir.file("l"));
    EXPECT_EQ(listener::open(dir.socket("l")).error(), errc::path_not_socket);
    EXPECT_EQ(std::filesystem::file_size(dir.file("f")), 8u);
    EXPECT_TRUE(std::filesystem::is_symlink(dir.file("l")));
    EXPECT_EQ(listener::open(dir.socket("no/such")).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(listener::open(address::unix_path(std::string(108, 'a'))).error(), errc::path_too_long);
}

TEST(unix_listener, removes_only_its_own_name) {
    const scratch dir;
    auto first = listener::open(dir.socket("s"));
    ASSERT_TRUE(first);
    std::filesystem::remove(dir.file("s"));
    auto second = listener::open(dir.socket("s"));
    ASSERT_TRUE(second);
    first->close();
    EXPECT_TRUE(client(dir.socket("s")));
    listener moved = std::move(*second);
    second->close();
    EXPECT_TRUE(client(dir.socket("s")));
    EXPECT_EQ(moved.stop_queueing(), 0);
    EXPECT_FALSE(std::filesystem::exists(dir.file("s")));
    EXPECT_TRUE(accepted(moved)) << "the two that connected can still be accepted";
    EXPECT_TRUE(accepted(moved));
}

TEST(unix_listener, abstract_names_are_no_files) {
    const address name = address::unix_path("@fastserve-test-" + std::to_string(::getpid()));
    const auto l = listener::open(name);
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_EQ(l->local(), name);
    EXPECT_TRUE(client(name));
    EXPECT_EQ(listener::open(name).error(), std::errc::address_in_use);
}

// --- Inherited descriptors.

TEST(inherited_listener, goes_on_where_the_parent_began) {
    auto parent = listener::open(at("127.0.0.1:0"));
    ASSERT_TRUE(parent);
    const int copy = ::dup(parent->fd());
    ASSERT_EQ(::fcntl(copy, F_SETFL, 0), 0);
    auto child = listener::open(address::descriptor(copy));
    ASSERT_TRUE(child) << child.error().message();
    EXPECT_TRUE(child->inherited());
    EXPECT_EQ(child->local(), parent->local());
    EXPECT_TRUE(::fcntl(copy, F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(copy, F_GETFD) & FD_CLOEXEC);

    // What the child does at its end leaves the parent's socket as it was.
    EXPECT_EQ(child->stop_queueing(), 0);
    child->close();
    std::vector<unique_fd> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(client(parent->local()));
    for (const unique_fd& c : clients) EXPECT_TRUE(c);
}

TEST(inherited_listener, a_unix_name_is_not_removed) {
    const scratch dir;
    auto parent = listener::open(dir.socket("s"));
    ASSERT_TRUE(parent);
    auto child = listener::open(address::descriptor(::dup(parent->fd())));
    ASSERT_TRUE(child);
    EXPECT_EQ(child->local(), parent->local());
    child->close();
    EXPECT_TRUE(client(dir.socket("s")));
}

TEST(inherited_listener, refuses_what_is_no_listening_stream_socket_and_leaves_it_open) {
    EXPECT_EQ(listener::open(address::descriptor(999'999)).error(), errc::not_a_socket);
    const unique_fd event{sys::eventfd().descriptor()};
    const unique_fd datagram(::socket(AF_INET, SOCK_DGRAM, 0));
    const unique_fd idle(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(listener::open(address::descriptor(event.get())).error(), errc::not_a_socket);
    EXPECT_EQ(listener::open(address::descriptor(datagram.get())).error(), errc::not_a_stream);
    EXPECT_EQ(listener::open(address::descriptor(idle.get())).error(), errc::not_listening);
    for (const unique_fd* fd : {&event, &datagram, &idle}) EXPECT_NE(::fcntl(fd->get(), F_GETFD), -1);

    const unique_fd listening(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::listen(listening.get(), 1), 0);
    for (const call which : {call::set_flags, call::get_name}) {
        sys::fault_plan plan;
        plan.fail(which, 1, ENOMEM);
        const sys::fault_scope scope(plan);
        EXPECT_EQ(listener::open(address::descriptor(listening.get())).error(), std::errc::not_enough_memory);
        EXPECT_NE(::fcntl(listening.get(), F_GETFD), -1);
    }
}

// --- Groups.

// The CPUs this thread may run on, each of which it can make the receiving one: loopback receives where it sends.
std::vector<int> usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
    return cpus;
}

void run_on(const std::vector<int>& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

// The member that got the only connection there is.
std::optional<std::size_t> who_got_it(const std::vector<listener>& group) {
    std::vector<pollfd> polled;
    for (const listener& l : group) polled.push_back({l.fd(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), 10'000) != 1) return {};
    for (std::size_t i = 0; i < group.size(); ++i)
        if (accepted(group[i])) return i;
    return {};
}

void expect_by_cpu(const std::vector<int>& group_cpus) {
    auto group = listener::open_group(at("127.0.0.1:0"), group_cpus);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_EQ(group->size(), group_cpus.size());
    const std::vector<int> mine = usable_cpus();
    for (const int cpu : mine) {
        const auto own = std::find(group_cpus.begin(), group_cpus.end(), cpu);
        std::set<std::optional<std::size_t>> seen;
        run_on({cpu});
        for (int i = 0; i < 32; ++i) {
            const unique_fd c = client(group->front().local());
            ASSERT_TRUE(c);
            seen.insert(who_got_it(*group));
        }
        EXPECT_FALSE(seen.contains(std::nullopt));
        if (own == group_cpus.end())
            EXPECT_GT(seen.size(), 1u) << "cpu " << cpu << ", which has none: each time any of them";
        else
            EXPECT_EQ(seen, (std::set<std::optional<std::size_t>>{static_cast<std::size_t>(own - group_cpus.begin())}))
                << "cpu " << cpu;
    }
    run_on(mine);
}

TEST(listener_group, a_connection_goes_to_the_listener_of_its_cpu) {
    const std::vector<int> mine = usable_cpus();
    expect_by_cpu(mine);
    expect_by_cpu({mine.rbegin(), mine.rend()});
}

TEST(listener_group, numbers_of_cpus_need_not_begin_at_zero_nor_be_dense) {
    const int last = usable_cpus().back();
    expect_by_cpu({4000, last, 1000, -1, 77});
    expect_by_cpu({4000, 4001, 4002}); // none of ours
}

TEST(listener_group, more_listeners_than_cpus_and_than_a_jump_reaches) {
    std::vector<int> cpus(300, usable_cpus().front());
    expect_by_cpu(cpus);
    cpus.assign(300, 5000);
    cpus.back() = usable_cpus().back();
    expect_by_cpu(cpus);
}

TEST(listener_group, zero_to_n) {
    expect_by_cpu({0, 1, 2, 3, 4, 5, 6, 7});
}

TEST(listener_group, a_stranger_at_the_address_is_an_error) {
    const std::vector<int> cpus{0, 1};
    const auto first = listener::open_group(at("127.0.0.1:0"), cpus);
    ASSERT_TRUE(first);
    const address where = first->front().local();
    EXPECT_EQ(listener::open_group(where, cpus).error(), std::errc::address_in_use);
    EXPECT_EQ(listener::open(where).error(), std::errc::address_in_use);
    EXPECT_TRUE(listener::open_group(where, cpus, {.reuse_port = true})) << "unless it asks to share";
}

TEST(listener_group, of_one_and_of_none) {
    const std::vector<int> one{3};
    const auto group = listener::open_group(at("127.0.0.1:0"), one);
    ASSERT_TRUE(group);
    EXPECT_EQ(group->size(), 1u);
    EXPECT_EQ(listener::open_group(at("127.0.0.1:0"), {}).error(), errc::cannot_group);
    EXPECT_EQ(listener::open_group(at("unix:@x"), one).error(), errc::cannot_group);
    EXPECT_EQ(listener::open_group(at("fd:0"), one).error(), errc::cannot_group);
}

// --- Each call fails in turn: an error comes back and nothing stays open or lies around.

TEST(listener_faults, every_call_of_every_way_to_open) {
    const scratch dir;
    const auto leave_stale_name = [&dir] {
        std::filesystem::remove(dir.file("s"));
        const unique_fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_storage storage;
        const socklen_t size = dir.socket("s").to_sockaddr(storage);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&storage), size), 0);
    };
    const std::vector<int> cpus{0, 1, 2};
    const std::function<bool()> ways[] = {
        [] { return listener::open(at("127.0.0.1:0")).has_value(); },
        [] { return listener::open(at("[::]:0")).has_value(); },
        [&] { return listener::open(dir.socket("fresh")).has_value(); },
        [&] {
            leave_stale_name();
            return listener::open(dir.socket("s")).has_value();
        },
        [&] { return listener::open_group(at("127.0.0.1:0"), cpus).has_value(); },
    };
    const std::size_t before = open_descriptors();
    for (const auto& way : ways) {
        int failed = 0;
        for (std::size_t which = 0; which < sys::call_kinds; ++which) {
            for (std::uint64_t nth = 1;; ++nth) {
                sys::fault_plan plan;
                plan.fail(static_cast<call>(which), nth, ENOBUFS);
                {
                    const sys::fault_scope scope(plan);
                    failed += way() ? 0 : 1;
                }
                EXPECT_EQ(open_descriptors(), before);
                const bool could_clean =
                    static_cast<call>(which) != call::stat && static_cast<call>(which) != call::unlink;
                EXPECT_FALSE(could_clean && std::filesystem::exists(dir.file("fresh")));
                std::filesystem::remove(dir.file("fresh"));
                if (plan.injected() == 0) break;
            }
        }
        EXPECT_GE(failed, 5);
    }
}

int deferred(const listener& l) {
    int seconds = -1;
    EXPECT_EQ(sys::get_option(l.fd(), IPPROTO_TCP, TCP_DEFER_ACCEPT, seconds), 0);
    return seconds;
}

TEST(listener, defers_connections_until_they_have_sent_something_if_it_is_told_to) {
    EXPECT_EQ(deferred(*listener::open(at("127.0.0.1:0"))), 0);
    result<listener> l = listener::open(at("127.0.0.1:0"), {.defer_accept = true});
    ASSERT_TRUE(l);
    EXPECT_EQ(deferred(*l), 1);
    listener moved = std::move(*l);
    moved.accept_at_once();
    EXPECT_EQ(deferred(moved), 0);

    const std::array cpus{0, 1};
    result<std::vector<listener>> group = listener::open_group(at("127.0.0.1:0"), cpus, {.defer_accept = true});
    ASSERT_TRUE(group);
    for (const listener& member : *group) EXPECT_EQ(deferred(member), 1);
}

TEST(listener, a_deferred_connection_is_there_with_its_first_bytes) {
    const listener l = *listener::open(at("127.0.0.1:0"), {.defer_accept = true});
    const unique_fd peer = client(l.local());
    ASSERT_TRUE(peer);
    ASSERT_EQ(::send(peer.get(), "x", 1, MSG_NOSIGNAL), 1);
    pollfd readable{l.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
    const unique_fd own = accepted(l);
    ASSERT_TRUE(own);
    char byte = 0;
    EXPECT_EQ(::recv(own.get(), &byte, 1, MSG_DONTWAIT), 1) << "nobody has to wait for it";
}

} // namespace
