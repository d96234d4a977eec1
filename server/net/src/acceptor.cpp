#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/stall_monitor.hpp>

#include <boost/asio/post.hpp>

#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>

namespace fastserve::net {

namespace {

// What a peer is told when there is no descriptor or no slot to serve it with.
constexpr std::string_view no_room = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                                     "Connection: close\r\n\r\n";

unique_fd reserve_descriptor() noexcept {
    return unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void tell_and_close(int fd) noexcept {
    sys::send(fd, no_room.data(), no_room.size());
    sys::shutdown(fd, SHUT_WR);
    // Unread bytes would turn the close into a reset. As many as a request has, not as many as a peer cares to send.
    char dropped[4096];
    for (unsigned i = 0; i < 16 && sys::recv(fd, dropped, sizeof dropped).n > 0; ++i) {
    }
    sys::close(fd);
}

} // namespace

bool gate::enter(std::uint64_t peer_key, bool reserved) noexcept {
    open_.fetch_add(1, std::memory_order_seq_cst);
    const bool has_place =
        (reserved && waits_) || admitted_.fetch_add(1, std::memory_order_relaxed) < limits_.connections;
    if (has_place && (limits_.connections_per_peer == 0 || enter_by_peer(peer_key))) return true;
    admitted_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

bool gate::enter_by_peer(std::uint64_t peer_key) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        std::uint32_t& open = by_peer_[peer_key];
        if (open >= limits_.connections_per_peer) return false;
        ++open;
        return true;
    } catch (const std::bad_alloc&) {
        return false; // what cannot be counted is not let in
    }
}

void gate::leave(std::uint64_t peer_key, bool admitted) noexcept {
    open_.fetch_sub(1, std::memory_order_relaxed);
    if (!admitted) return;
    admitted_.fetch_sub(1, std::memory_order_relaxed);
    if (limits_.connections_per_peer == 0) return;
    const std::lock_guard lock(mutex_);
    const auto found = by_peer_.find(peer_key);
    if (found != by_peer_.end() && --found->second == 0) by_peer_.erase(found);
}

acceptor::acceptor(boost::asio::io_context& context, listener&& from, std::span<const std::unique_ptr<worker>> workers,
                   placer& placement, load_board& board, connection_pool& connections, gate& door,
                   stall_monitor* monitor, const local_worker& local)
    : context_(context), listener_(std::move(from)), readable_(context), timer_(context), workers_(workers),
      placement_(placement), board_(board), slots_(connections), gate_(door), monitor_(monitor), local_(local),
      chosen_for_(workers.size()) {}

acceptor::~acceptor() {
    ties_->alive = false;
    if (readable_.is_open()) readable_.release();
}

std::error_code acceptor::open() {
    reserve_ = reserve_descriptor();
    boost::system::error_code failed;
    if (!local_.by) readable_.assign(listener_.fd(), failed);
    return failed;
}

// Nothing else is touched by the thread that calls it, because the first connection may be there.
void acceptor::start() noexcept {
    if (!local_.by) {
        wait();
        return;
    }
    starting_.of = this;
    starting_.deliver = [](worker&, letter& l) noexcept { static_cast<starting&>(l).of->wait(); };
    local_.by->post(starting_); // one that has shut down takes nobody in
}

void acceptor::wait() noexcept {
    if (!local_.by) {
        readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             in_memory(ties_->wait, [this, ties = ties_](const boost::system::error_code& e) {
                                 if (ties->alive && !e && open_) on_readable();
                             }));
        return;
    }
    if (watching_ || !open_) return;
    watching_ = local_.by->watch(listener_.fd(), *this) == 0;
    if (!watching_) look_again_in(backoff);
}

void acceptor::stop_watching() noexcept {
    if (std::exchange(watching_, false)) local_.by->unwatch(*this);
}

void acceptor::on_readable() noexcept {
    switch (accept_batch()) {
    case outcome::drained: wait(); return;
    case outcome::more:
        if (local_.by) { // is told again
            wait();
            return;
        }
        boost::asio::post(context_, in_memory(ties_->post, [this, ties = ties_] {
                              if (ties->alive && open_) on_readable();
                          }));
        return;
    case outcome::refused:
    case outcome::starved:
        starved_.fetch_add(1, std::memory_order_relaxed);
        look_again_in(backoff);
        return;
    case outcome::full: look_again_in(full_look); return;
    }
}

void acceptor::look_again_in(std::chrono::milliseconds time) noexcept {
    if (local_.by) {
        stop_watching();
        local_.by->need_loop(); // for the timer
    }
    timer_.expires_after(time);
    try {
        timer_.async_wait(in_memory(ties_->timer, [this, ties = ties_](const boost::system::error_code& e) {
            if (ties->alive && !e && open_) on_readable();
        }));
    } catch (const std::bad_alloc&) {
        // The queue of timers could not grow: then without a pause, as good as that can be done.
        if (!local_.by)
            wait();
        else if (!(watching_ = local_.by->watch(listener_.fd(), *this) == 0))
            local_.by->post(starting_);
    }
}

acceptor::outcome acceptor::accept_batch() noexcept {
    if (local_.by)
        board_.set_stalled(static_cast<int>(local_.by->index()), false); // it was, perhaps
    else
        look_for_stalls(workers_, board_); // those get nothing until they are back
    const outcome how = accept_some();
    hand_over();
    return how;
}

// All of a batch at once: to wake a worker costs more than to serve a request, and one that is woken for each would
// sleep again before the next.
void acceptor::hand_over() noexcept {
    for (std::size_t i = 0; i < chosen_for_.size(); ++i) {
        if (workers_[i]->post(chosen_for_[i])) continue;
        for (mail* m = chosen_for_[i].take_all(); m;) {
            connection& c = static_cast<connection&>(*m);
            m = m->next;
            give_up(c, static_cast<int>(i));
        }
    }
}

// Its worker has ended.
void acceptor::give_up(connection& c, int chosen) noexcept {
    board_.left(chosen);
    c.stream.close();
    gate_.leave(c.peer.key(), !c.refused);
    slots_.put(&c);
}

acceptor::outcome acceptor::accept_some() noexcept {
    bool any = false;
    for (unsigned i = 0; i < accepts_a_turn; ++i) {
        const bool reserved = open_; // at the end nobody is left in the queue
        if (reserved && !gate_.reserve()) [[unlikely]]
            return outcome::full;
        sockaddr_storage peer;
        socklen_t size = sizeof peer;
        const sys::io_result r = sys::accept(listener_.fd(), reinterpret_cast<sockaddr*>(&peer), &size);
        if (r.ok()) {
            if (!place(r.descriptor(), peer, size, reserved)) return outcome::refused;
            any = true;
            continue;
        }
        if (reserved) gate_.cancel();
        switch (r.error) {
        case EAGAIN: return outcome::drained;
        case EMFILE:
        case ENFILE: return refuse_one() ? outcome::refused : outcome::starved;
        case EINVAL: // shut down, by another process or by finish_for_all(): it is "readable" for ever
            return open_ ? outcome::starved : outcome::drained;
        case ENOMEM:
        case ENOBUFS:
        case EBADF:
        case ENOTSOCK: return outcome::starved;
        default: continue; // of this connection alone (accept(2)): the next may be well
        }
    }
    // Nothing but errors is no reason to ask again at once: some are the listener's and not the connection's.
    return any ? outcome::more : outcome::starved;
}

int acceptor::choose(const connection& c) noexcept {
    if (monitor_) monitor_->arm();
    if (!local_.by) return placement_.choose(c.stream.incoming_cpu());
    return local_.cpu < 0 ? static_cast<int>(local_.by->index()) : placement_.choose(local_.cpu);
}

// False: there is no slot, not even to say so.
bool acceptor::place(int fd, const sockaddr_storage& peer, socklen_t size, bool reserved) noexcept {
    connection* const c = slots_.take();
    if (!c) {
        if (reserved) gate_.cancel();
        tell_and_close(fd);
        return false;
    }
    accepted_.fetch_add(1, std::memory_order_relaxed);
    c->stream = transport(fd);
    c->id = slots_.pool().handle_of(*c);
    c->peer = peer_name::from(peer, size);
    c->refused = !gate_.enter(c->peer.key(), reserved);
    const int chosen = choose(*c);
    board_.joined(chosen);
    if (local_.by && chosen == static_cast<int>(local_.by->index())) {
        local_.by->adopt(*c);
        return true;
    }
    c->deliver = [](worker& w, letter& l) noexcept { w.adopt(static_cast<connection&>(l)); };
    chosen_for_[static_cast<std::size_t>(chosen)].add(*c);
    return true;
}

// The process has no descriptor left: with the one in reserve, one peer that waits in the queue is told to come later
// instead of being left to its timeout. False: nobody was.
bool acceptor::refuse_one() noexcept {
    if (!reserve_) reserve_ = reserve_descriptor(); // another thread was quicker the last time
    if (!reserve_) return false;
    reserve_.reset();
    const sys::io_result r = sys::accept(listener_.fd());
    if (r.ok()) tell_and_close(r.descriptor());
    reserve_ = reserve_descriptor();
    return r.ok();
}

void acceptor::relieve() noexcept {
    // As many turns as empty a queue of the usual length: whoever comes meanwhile is the next look's.
    for (unsigned turns = 0; turns < 64 && accept_batch() == outcome::more; ++turns) {
    }
    slots_.flush();
}

void acceptor::finish() noexcept {
    if (!std::exchange(open_, false)) return;
    timer_.cancel();
    stop_watching();
    if (readable_.is_open()) readable_.release();
    empty_queue();
    listener_.close();
    slots_.flush();
}

void acceptor::finish_for_all() noexcept {
    open_ = false;
    empty_queue();
    sys::shutdown(listener_.fd(), SHUT_RD);
    listener_.close();
    slots_.flush();
}

void acceptor::empty_queue() noexcept {
    unsigned tries = 10; // memory may be short for a moment only
    for (unsigned taken = 0; taken < most_queued && tries != 0;) {
        const outcome o = accept_batch();
        if (o == outcome::drained) break;
        if (o == outcome::starved) {
            --tries;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        taken += o == outcome::more ? accepts_a_turn : 1;
    }
}

} // namespace fastserve::net
