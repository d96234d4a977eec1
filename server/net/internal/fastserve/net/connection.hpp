// A peer: its descriptor, and the protocol's state.
#pragma once

#include <fastserve/http/machine.hpp>
#include <fastserve/net/letter.hpp>
#include <fastserve/net/peer_name.hpp>
#include <fastserve/net/placement.hpp>
#include <fastserve/net/timer_wheel.hpp>
#include <fastserve/net/transport.hpp>

#include <cstdint>

namespace fastserve::net {

class worker;

// Ownership: connections are slots of one pool that all workers share, so that one can move between workers. Exactly
// one worker owns an open connection; while it travels in a mailbox, the mailbox does. Only the owner touches it.
//
// Invariant: it moves only when its machine is idle, it is in no epoll set, no timer wheel and no list of its owner,
// and no event of it is being looked at.
class connection : public letter, public timer_node {
public:
    connection() = default;

    // Called by the pool when it takes the slot back.
    void reset() noexcept {
        owner = nullptr;
        stream = transport();
        readable = finishing = closing = registered = awaits_writable = is_ready = refused = shut_down = false;
        requests_seen = 0;
        flow = {};
    }

    // Each turn.
    worker* owner = nullptr;
    transport stream;
    bool readable = false;           // bytes, or the end of them, may be there
    bool finishing = false;          // an event said that the peer shut down its sending side
    bool closing = false;            // closed in this batch; the slot is released after it
    bool registered = false;         // in the owner's epoll set
    bool awaits_writable = false;    // with EPOLLOUT
    bool is_ready = false;           // in the owner's list of those whose turn was cut short
    bool refused = false;            // over a limit: only told so
    bool shut_down = false;          // our sending side is
    std::uint32_t requests_seen = 0; // when its placement was last looked at
    peer_name peer{};
    pool::handle id{};              // names it in events and exchanges
    connection* previous = nullptr; // in the owner's list of all
    connection* next = nullptr;
    connection* next_ready = nullptr; // in the owner's list of those that are ready, or closed
    net::flow flow;
    http::machine machine;
};
static_assert(sizeof(connection) <= 256, "four cache lines, which is what one that is idle costs");

} // namespace fastserve::net
