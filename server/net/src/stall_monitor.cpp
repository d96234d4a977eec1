#include <fastserve/net/stall_monitor.hpp>

#include <boost/asio/post.hpp>

#include <exception>
#include <utility>

namespace fastserve::net {

stall_monitor::stall_monitor(boost::asio::io_context& loop, std::span<const std::unique_ptr<worker>> workers,
                             load_board& board, const gate& door)
    : loop_(loop), timer_(loop), workers_(workers), board_(board), gate_(door) {}

stall_monitor::~stall_monitor() {
    ties_->alive = false;
}

void stall_monitor::add(std::unique_ptr<acceptor> stand_in, unsigned index) {
    if (!finished_) reliefs_.push_back({std::move(stand_in), index});
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
    const std::uint64_t now = worker::clock_ms();
    std::uint64_t accepted = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        board_.set_stalled(static_cast<int>(i), workers_[i]->stalled(now));
        accepted += read(workers_[i]->counters().accepted);
    }
    for (const relief& r : reliefs_)
        if (board_.stalled(static_cast<int>(r.index))) r.stand_in->relieve();

    const bool quiet = gate_.open() == 0 && accepted == accepted_before_;
    accepted_before_ = accepted;
    if (quiet) {
        armed_.store(false, std::memory_order_relaxed);
        if (gate_.open() == 0 || armed_.exchange(true, std::memory_order_relaxed)) return;
    }
    wait();
}

void stall_monitor::finish() noexcept {
    finished_ = true;
    timer_.cancel();
    for (const relief& r : reliefs_) r.stand_in->finish();
    reliefs_.clear();
}

} // namespace fastserve::net
