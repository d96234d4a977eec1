// System calls of the server fail at random: every answer is whole and right or its connection closes, and in the end
// nothing has stayed behind.
#include "load.hpp"

#include <fastserve/net/system.hpp>

#include <cerrno>
#include <memory>
#include <vector>

namespace fastserve::test {
namespace {

namespace sys = fastserve::net::sys;
using sys::call;

// What a call can return on a sound system, EINTR and EAGAIN included; what it cannot return is not injected: an
// eventfd that is written never says EAGAIN before 2^64 - 1 wake-ups, and epoll_ctl knows no ENOBUFS.
struct misfortune {
    call kind;
    std::vector<int> errors;
    bool shortens = false;
};
const misfortune misfortunes[] = {
    {call::recv, {EINTR, EAGAIN, ECONNRESET, ENOBUFS}, true},
    {call::send, {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOBUFS}, true},
    {call::sendv, {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOBUFS}, true},
    {call::sendfile, {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOBUFS}, true},
    {call::accept, {EINTR, EAGAIN, ECONNABORTED, EMFILE, ENFILE, ENOBUFS}},
    {call::epoll_ctl, {EINTR, ENOMEM, ENOSPC}},
    {call::epoll_wait, {EINTR}},
    {call::eventfd_write, {EINTR}},
    {call::shutdown, {ENOTCONN, ENOBUFS}},
    {call::get_option, {EINTR, ENOBUFS}},
    {call::close, {EINTR, EIO}},
};

// In all `percent` of the calls of each kind.
void spoil(sys::fault_plan& plan, std::uint64_t seed, unsigned percent) {
    for (const misfortune& m : misfortunes) {
        const auto ways = static_cast<std::uint32_t>(m.errors.size() + (m.shortens ? 1 : 0));
        for (const int e : m.errors) plan.fail_randomly(m.kind, seed, ways * 100 / percent, e);
        if (m.shortens) plan.shorten_randomly(m.kind, seed, ways * 100 / percent);
    }
}

void fail_calls(unsigned percent, std::uint64_t requests) {
    tally t("syscalls at " + std::to_string(percent) + " %");
    sys::fault_plan plan;
    spoil(plan, t.seed, percent);
    const std::size_t descriptors = open_descriptors();
    {
        house h;
        h.start(16);
        load::counts n;
        {
            const sys::fault_scope installed(plan);
            n = load(h.ports, 48, t).run(requests);
        }
        if (const std::string what = h.left_behind(); !what.empty()) t.fail(what);
        if (client(h.ports[0]).get("/plain/last").body != "/plain/last") t.fail("it serves no more");
        if (const std::string what = h.stop(); !what.empty()) t.fail(what);
        t.more = ", " + std::to_string(plan.injected()) + " failed calls, answered " + std::to_string(n.right) +
                 ", connection closed " + std::to_string(n.lost) + ", refused " + std::to_string(n.refused) + ", on " +
                 std::to_string(n.connections) + " connections";
        if (plan.injected() < requests * percent / 200) t.fail("too little went wrong");
        if (n.right < requests / 4) t.fail("too little was answered");
        // Few shut down their sending side while little goes wrong: no client is told off.
        for (const misfortune& m : misfortunes)
            if (m.kind != call::sendfile && m.kind != call::get_option && plan.calls(m.kind) == 0 &&
                (m.kind != call::shutdown || percent >= 10))
                t.fail("never called: " + std::to_string(static_cast<int>(m.kind)));
    }
    if (open_descriptors() != descriptors) t.fail("descriptors stayed open");
}

TEST(Syscalls, NothingIsLostWithoutFaults) {
    tally t("syscalls at 0 %");
    sys::fault_plan none;
    house h;
    h.start();
    const sys::fault_scope installed(none);
    const load::counts n = load(h.ports, 48, t).run(4'000);
    EXPECT_EQ(n.lost + n.refused, 0u);
    EXPECT_EQ(n.right, n.requests);
    EXPECT_EQ(h.left_behind(), "");
}

TEST(Syscalls, OneInAHundredFails) {
    fail_calls(1, amount(10'000));
}

TEST(Syscalls, OneInTenFails) {
    fail_calls(10, amount(6'000));
}

} // namespace
} // namespace fastserve::test
