#include <fastserve/net/stall_monitor.hpp>

#include <boost/asio/post.hpp>

#include <exception>
#include <new>
#include <utility>

namespace fastserve::net {

bool look_for_stalls(std::span<const std::unique_ptr<worker>> workers, load_board& board) noexcept {
    const std::uint64_t now = worker::clock_ms();
    bool any_works = false;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const bool stalled = workers[i]->stalled(now);
        board.set_stalled(static_cast<int>(i), stalled);
        any_works = any_works || !stalled;
    }
    return any_works;
}

stall_monitor::stall_monitor(boost::asio::io_context& loop, std::span<const std::unique_ptr<worker>> workers,
                             load_board& board, const gate& door)
    : loop_(loop), timer_(loop), workers_(workers), board_(board), gate_(door) {}

stall_monitor::~stall_monitor() {
    ties_->alive = false;
}

void stall_monitor::add(std::unique_ptr<acceptor> stand_in, unsigned index) noexcept {
    if (finished_) return;
    try {
        reliefs_.push_back({std::move(stand_in), index});
    } catch (const std::bad_alloc&) {
    }
}

void stall_monitor::begin() noexcept {
    if (armed_.exchange(true, std::memory_order_relaxed)) return;
    try {
        boost::asio::post(loop_, [this, ties = ties_] {
            if (ties->alive) wait();
        });
    } catch (const std::exception&) { // no memory: the next connection tries again
        armed_.store(false, std::memory_order_relaxed);
    }
}

void stall_monitor::wait() noexcept {
    if (finished_) return;
    timer_.expires_after(period);
    try {
        timer_.async_wait(in_memory(ties_->timer, [this, ties = ties_](const boost::system::error_code& e) {
            if (ties->alive && !e) look();
        }));
    } catch (const std::exception&) {
        armed_.store(false, std::memory_order_relaxed);
    }
}

void stall_monitor::look() noexcept {
    // Whoever waits in a queue is served by its worker when that is back; in a mailbox it would wait for that one.
    if (look_for_stalls(workers_, board_)) {
        for (const relief& r : reliefs_)
            if (board_.stalled(static_cast<int>(r.index))) r.stand_in->relieve();
    }

    std::uint64_t accepted = 0;
    for (const auto& w : workers_) accepted += read(w->counters().accepted);
    const bool quiet = gate_.open() == 0 && accepted == accepted_before_;
    accepted_before_ = accepted;
    if (quiet) {
        armed_.store(false, std::memory_order_seq_cst); // S2
        if (gate_.open() == 0 || armed_.exchange(true, std::memory_order_relaxed)) return;
    }
    wait();
}

void stall_monitor::finish() noexcept {
    finished_ = true;
    timer_.cancel();
    for (const relief& r : reliefs_) r.stand_in->finish_for_all();
    reliefs_.clear();
}

} // namespace fastserve::net
