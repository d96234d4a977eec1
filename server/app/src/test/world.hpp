// What all test clients share: the network, the clock, and the servers that are driven.
//
// There is one, from the first client to the last, and it begins anew with the next one. Time goes on from world to
// world, because a server that was driven before remembers it; a world begins at a multiple of `era_ms`, so that its
// deadlines fall into the same slots of the same wheels each time.
#pragma once

#include "../server_impl.hpp"

#include <fastserve/net/simulated_network.hpp>
#include <fastserve/test/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fastserve::test {

class world {
public:
    // The world of this thread's clients. Throws std::logic_error when it is another thread's.
    static std::shared_ptr<world> join(std::uint64_t seed);

    explicit world(std::uint64_t seed);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    // Drives the server from now on, until leave() was called as often.
    void enter(server&);
    void leave(server&) noexcept;
    std::shared_ptr<net::link> connect(server&, const faults&);

    // Whether anything happened that is due now.
    bool step();
    // All that can happen now.
    void settle(std::chrono::milliseconds patience);
    // Moves time to where something may happen next, but not beyond `until`.
    void pass(std::uint64_t until_ms);
    // What is done while a server drains.
    void meanwhile(std::function<void()> act) { meanwhile_ = std::move(act); }
    std::uint64_t now_ms() const noexcept { return network_.now_ms(); }
    std::uint64_t began_ms() const noexcept { return began_ms_; }

private:
    struct driven {
        server::impl* of;
        unsigned clients;
        unsigned next_worker;
    };

    // While server::stop() waits.
    void drain(server::impl&, std::chrono::milliseconds);
    bool runs(const driven& d) const noexcept { return !d.of->ended || d.of == draining_; }
    bool run_a_job();
    bool waits_for_others() const;

    net::simulated_network network_;
    const std::uint64_t began_ms_;
    net::sys::fault_plan plan_;
    std::optional<net::sys::fault_scope> installed_;
    std::vector<driven> servers_;
    unsigned connected_ = 0;
    std::function<void()> meanwhile_;
    server::impl* draining_ = nullptr; // stop() waits for it now
};

} // namespace fastserve::test
