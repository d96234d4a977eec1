// Looks for workers that a handler keeps from their loops, and accepts in their stead.
//
// A worker that has a listener of its own takes nobody in while it is stalled. The monitor has a stand-in for each such
// listener, an acceptor of the same queue that gives what it takes to the other workers.
//
// Thread safety: arm() from any thread, everything else on the thread that runs the io_context given.
//
// Invariants: while there are connections it looks once a period; without any, and none lately, it sleeps: a server
// that nobody uses does not wake up.
//
// Edges: S1 whoever accepts counts its connection (gate::enter) and then reads armed_; S2 the monitor clears armed_ and
// then reads the count (gate::open). All sequentially consistent, so at least one sees the other.
#pragma once

#include <fastserve/net/acceptor.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fastserve::net {

// Tells the board which workers are stalled. False: all are.
bool look_for_stalls(std::span<const std::unique_ptr<worker>> workers, load_board& board) noexcept;

class stall_monitor {
public:
    // A connection to a stalled worker waits for this long, and for worker::stall_ms.
    static constexpr std::chrono::milliseconds period{50};

    // All outlive it but for the loop, in which it may still be waiting.
    stall_monitor(boost::asio::io_context& loop, std::span<const std::unique_ptr<worker>> workers, load_board& board,
                  const gate& door);
    ~stall_monitor();
    stall_monitor(const stall_monitor&) = delete;
    stall_monitor& operator=(const stall_monitor&) = delete;

    // `stand_in` accepts from the queue of the worker of this index, and has not been started.
    // Without memory that worker goes without.
    void add(std::unique_ptr<acceptor> stand_in, unsigned index) noexcept;

    // *Any thread*: there is a connection.
    void arm() noexcept {
        if (!armed_.load(std::memory_order_seq_cst)) [[unlikely]] // S1
            begin();
    }

    // Takes in who is left in the queues, into which nobody is let any more, ends them, and looks no more.
    void finish() noexcept;

private:
    struct relief {
        std::unique_ptr<acceptor> stand_in;
        unsigned index;
    };

    void begin() noexcept;
    void wait() noexcept;
    void look() noexcept;

    boost::asio::io_context& loop_;
    boost::asio::steady_timer timer_;
    std::span<const std::unique_ptr<worker>> workers_;
    load_board& board_;
    const gate& gate_;
    std::vector<relief> reliefs_;
    std::uint64_t accepted_before_ = 0; // at the last look
    bool finished_ = false;
    std::atomic<bool> armed_{false}; // it looks, or is about to
    const std::shared_ptr<loop_ties> ties_ = std::make_shared<loop_ties>();
};

} // namespace fastserve::net
