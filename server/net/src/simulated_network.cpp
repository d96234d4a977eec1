#include <fastserve/net/simulated_network.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fastserve::net {

namespace {

constexpr std::uint64_t never = simulated_network::never;
// 2023-11-14 22:13:20 GMT
constexpr std::uint64_t date_ms = 1'700'000'000'000;

int fail(int error) noexcept {
    errno = error;
    return -1;
}

} // namespace

// ---- a link
// ------------------------------------------------------------------------------------------------------------

link::link(simulated_network& n, const link_options& o) : net_(n), options_(o), dice_(o.seed) {
    if (o.cpus > 0) cpu_ = static_cast<int>(dice_.below(static_cast<std::size_t>(o.cpus)));
}

// Puts bytes on their way, in pieces.
void link::add(stream& s, std::string_view bytes) {
    s.bytes.append(bytes);
    std::uint64_t at = s.pieces.empty() ? net_.now_ms() : s.pieces.back().at_ms;
    for (std::size_t left = bytes.size(); left != 0;) {
        // Sizes of every magnitude: single bytes and long pieces are both common.
        const std::size_t size =
            options_.splits ? 1 + dice_.below(std::min(left, std::size_t{1} << dice_.below(15))) : left;
        if (options_.most_delay_ms != 0) at = std::max(at, net_.now_ms() + dice_.below(options_.most_delay_ms + 1));
        s.pieces.push_back({at, size});
        left -= size;
    }
}

void link::end(stream& s) noexcept {
    if (s.finished) return;
    s.finished = true;
    s.end_at_ms = net_.now_ms();
    if (options_.most_delay_ms != 0) s.end_at_ms += dice_.below(options_.most_delay_ms + 1);
}

void link::send(std::string_view bytes) {
    if (broken() || to_server_.finished || bytes.empty()) return;
    add(to_server_, bytes);
}

void link::finish() {
    if (!broken()) end(to_server_);
}

void link::reset() noexcept {
    if (!broken()) break_off();
}

// The connection is reset: bytes that have arrived at the server can still be read there, all others are lost.
void link::break_off() noexcept {
    state_ = state::broken;
    to_server_.bytes.resize(to_server_.arrived);
    to_server_.pieces.clear();
    to_client_.bytes.clear();
    to_client_.pieces.clear();
    to_client_.arrived = 0;
    error_ = ECONNRESET;
    edge();
}

std::size_t link::send_room() const noexcept {
    return options_.window - std::min(options_.window, to_client_.bytes.size());
}

// What epoll would say of the server's end.
std::uint32_t link::level() const noexcept {
    const bool gone = broken();
    std::uint32_t now = 0;
    if (to_server_.arrived != 0 || to_server_.end_seen || gone) now |= EPOLLIN;
    if (to_server_.end_seen || gone) now |= EPOLLRDHUP;
    if ((to_server_.end_seen && to_client_.finished) || gone) now |= EPOLLHUP;
    if (error_ != 0) now |= EPOLLERR;
    if (gone || to_client_.finished || send_room() >= (options_.window + 1) / 2) now |= EPOLLOUT;
    return now;
}

// Something has happened to the server's end.
void link::edge() noexcept {
    if (set_ >= 0 && !queued_ && (level() & (events_ | EPOLLHUP | EPOLLERR))) net_.enqueue(*this);
}

// The first piece that is due arrives, as far as there is room for it.
bool link::arrive(stream& s, std::size_t room) noexcept {
    if (s.pieces.empty() || s.pieces.front().at_ms > net_.now_ms() || room == 0) return false;
    stream::piece& first = s.pieces.front();
    const std::size_t size = std::min(first.size, room);
    s.arrived += size;
    first.size -= size;
    if (first.size == 0) s.pieces.pop_front();
    return true;
}

bool link::arrive_end(stream& s) noexcept {
    if (!s.finished || s.end_seen || !s.pieces.empty() || s.end_at_ms > net_.now_ms()) return false;
    s.end_seen = true;
    return true;
}

// The client's program reads.
bool link::read_some() noexcept {
    if (!reads_ || end_read_ || net_.now_ms() < read_until_ms_) return false;
    stream& s = to_client_;
    if (s.arrived == 0) {
        if (!s.end_seen) return false;
        end_read_ = true;
        return true;
    }
    std::size_t size = s.arrived;
    if (options_.read_rate != link_options::never) {
        size = std::min(size, std::max<std::size_t>(options_.read_rate / 10, 1));
        read_until_ms_ = net_.now_ms() + std::max<std::uint64_t>(size * 1000 / options_.read_rate, 1);
    }
    received_.append(s.bytes, 0, size);
    s.bytes.erase(0, size);
    s.arrived -= size;
    if (no_space_ && send_room() >= (options_.window + 1) / 2) {
        no_space_ = false;
        edge();
    }
    return true;
}

// One thing in each direction that is due now. False: nothing was.
bool link::step() noexcept {
    if (broken()) return false;
    if (arrived_in_all_ >= options_.reset_after) {
        break_off();
        return true;
    }
    bool any = false;
    stream& s = to_server_;
    const std::size_t before = s.arrived;
    const std::size_t room = options_.window - std::min(options_.window, before);
    if (arrive(s, closed_by_server() ? 1 : std::min(room, options_.reset_after - arrived_in_all_))) {
        any = true;
        if (closed_by_server()) {
            break_off(); // there is nobody any more for whom this was
            return true;
        }
        arrived_in_all_ += s.arrived - before;
        edge();
    }
    if (arrive_end(s)) {
        any = true;
        edge();
    }
    any |= arrive(to_client_, to_client_.bytes.size());
    any |= arrive_end(to_client_);
    any |= read_some();
    return any;
}

std::uint64_t link::arrival_ms(const stream& s) noexcept {
    if (!s.pieces.empty()) return s.pieces.front().at_ms;
    return s.finished && !s.end_seen ? s.end_at_ms : never;
}

// What is due already and does not happen waits for a call: it is not counted.
std::uint64_t link::next_due() const noexcept {
    if (broken()) return never;
    std::uint64_t due = never;
    const auto consider = [&](std::uint64_t at) {
        if (at > net_.now_ms()) due = std::min(due, at);
    };
    consider(arrival_ms(to_server_));
    consider(arrival_ms(to_client_));
    if (reads_ && to_client_.arrived != 0) consider(read_until_ms_);
    return due;
}

// ---- the network
// -------------------------------------------------------------------------------------------------------

std::pair<std::shared_ptr<link>, int> simulated_network::connect(const link_options& o) {
    auto made = std::make_shared<link>(*this, o);
    links_.push_back(made);
    const auto free = std::find(descriptors_.begin(), descriptors_.end(), nullptr);
    const int fd = first_descriptor + static_cast<int>(free - descriptors_.begin());
    if (free == descriptors_.end())
        descriptors_.push_back(made);
    else
        *free = made;
    made->fd_ = fd;
    ++open_;
    return {std::move(made), fd};
}

bool simulated_network::step() {
    if (links_.empty()) return false;
    bool any = false;
    const std::size_t first = dice_.below(links_.size());
    for (std::size_t i = 0; i < links_.size(); ++i) {
        link& l = *links_[(first + i) % links_.size()];
        any |= l.step();
    }
    // Nobody has any use for these.
    std::erase_if(links_, [](const std::shared_ptr<link>& l) { return l.use_count() == 1; });
    return any;
}

std::uint64_t simulated_network::next_due() const noexcept {
    std::uint64_t due = never;
    for (const auto& l : links_) due = std::min(due, l->next_due());
    return due;
}

bool simulated_network::has_events() const noexcept {
    return std::any_of(sets_.begin(), sets_.end(), [](const watch_set& s) { return !s.ready.empty(); });
}

link* simulated_network::find(int fd) const noexcept {
    const auto at = static_cast<std::size_t>(fd - first_descriptor);
    return fd >= first_descriptor && at < descriptors_.size() ? descriptors_[at].get() : nullptr;
}

simulated_network::watch_set* simulated_network::find_set(int set) noexcept {
    for (watch_set& s : sets_)
        if (s.set == set) return &s;
    return nullptr;
}

void simulated_network::enqueue(link& l) noexcept {
    l.queued_ = true;
    find_set(l.set_)->ready.push_back(l.fd_);
}

bool simulated_network::owns(int fd) const noexcept {
    if (fd >= first_descriptor) return true;
    return std::this_thread::get_id() == owner_ &&
           std::any_of(sets_.begin(), sets_.end(), [fd](const watch_set& s) { return s.set == fd; });
}

ssize_t simulated_network::recv(int fd, void* to, std::size_t size) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    link::stream& s = l->to_server_;
    if (s.arrived != 0) {
        const std::size_t n = std::min(size, s.arrived);
        std::memcpy(to, s.bytes.data(), n);
        s.bytes.erase(0, n);
        s.arrived -= n;
        return static_cast<ssize_t>(n);
    }
    if (l->error_ != 0) return fail(std::exchange(l->error_, 0));
    if (l->broken() || s.end_seen) return 0;
    return fail(EAGAIN);
}

ssize_t simulated_network::send(int fd, std::span<const iovec> parts, std::size_t length) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    if (l->error_ != 0) return fail(std::exchange(l->error_, 0));
    if (l->broken() || l->to_client_.finished) return fail(EPIPE);
    std::size_t room = l->send_room();
    if (room == 0) {
        l->no_space_ = true;
        return fail(EAGAIN);
    }
    if (l->options_.splits && l->dice_.once_in(2)) room = 1 + l->dice_.below(room);
    std::size_t left = std::min(room, length);
    ssize_t sent = 0;
    for (const iovec& part : parts) {
        const std::size_t n = std::min(left, part.iov_len);
        if (n != 0) l->add(l->to_client_, {static_cast<const char*>(part.iov_base), n});
        left -= n;
        sent += static_cast<ssize_t>(n);
    }
    if (l->send_room() == 0) l->no_space_ = true;
    return sent;
}

ssize_t simulated_network::sendfile(int out, int in, off_t& offset, std::size_t size) noexcept {
    char part[16 * 1024];
    const ssize_t got = ::pread(in, part, std::min(size, sizeof part), offset);
    if (got <= 0) return got;
    const iovec all{part, static_cast<std::size_t>(got)};
    const ssize_t sent = send(out, {&all, 1}, all.iov_len);
    if (sent > 0) offset += sent;
    return sent;
}

int simulated_network::shutdown(int fd, int how) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    if (l->broken()) return fail(ENOTCONN);
    if (how != SHUT_RD) l->end(l->to_client_);
    l->edge(); // the kernel tells of it, too
    return 0;
}

int simulated_network::close(int fd) noexcept {
    if (fd < first_descriptor) { // an epoll set, which is the kernel's
        std::erase_if(sets_, [fd](const watch_set& s) { return s.set == fd; });
        for (const auto& l : links_)
            if (l->set_ == fd) l->set_ = -1;
        return ::close(fd);
    }
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    l->set_ = l->fd_ = -1;
    --open_;
    if ((l->to_server_.arrived != 0 || l->breaks_) && !l->broken())
        l->break_off();
    else
        l->end(l->to_client_);
    descriptors_[static_cast<std::size_t>(fd - first_descriptor)] = nullptr;
    return 0;
}

int simulated_network::get_option(int fd, int level, int name, int& value) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    if (level != SOL_SOCKET) return fail(ENOPROTOOPT);
    switch (name) {
    case SO_INCOMING_CPU:
        if (l->options_.cpus > 0 && l->dice_.once_in(4))
            l->cpu_ = static_cast<int>(l->dice_.below(static_cast<std::size_t>(l->options_.cpus)));
        value = l->cpu_;
        return 0;
    case SO_ERROR: value = std::exchange(l->error_, 0); return 0;
    default: return fail(ENOPROTOOPT);
    }
}

int simulated_network::set_option(int fd, int level, int name, const void* value, socklen_t size) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    if (level != SOL_SOCKET || name != SO_LINGER) return fail(ENOPROTOOPT);
    linger how{};
    if (size < sizeof how) return fail(EINVAL);
    std::memcpy(&how, value, sizeof how);
    l->breaks_ = how.l_onoff != 0 && how.l_linger == 0;
    return 0;
}

int simulated_network::epoll_ctl(int set, int operation, int fd, const epoll_event& event) noexcept {
    link* const l = find(fd);
    if (!l) return fail(EBADF);
    const bool watched = l->set_ == set;
    if (operation != EPOLL_CTL_ADD && !watched) return fail(ENOENT);
    if (operation == EPOLL_CTL_ADD && watched) return fail(EEXIST);
    if (operation == EPOLL_CTL_DEL) {
        std::erase(find_set(set)->ready, fd);
        l->queued_ = false;
        l->set_ = -1;
        return 0;
    }
    if (!find_set(set)) sets_.push_back({set, {}});
    l->set_ = set;
    l->events_ = event.events;
    l->data_ = event.data.u64;
    l->edge();
    return 0;
}

int simulated_network::epoll_wait(int set, std::span<epoll_event> events) noexcept {
    watch_set* const s = find_set(set);
    if (!s || s->ready.empty()) return 0;
    // Not all at once, now and then, and in any order.
    std::size_t most = std::min(events.size(), s->ready.size());
    if (dice_.once_in(4)) most = 1 + dice_.below(most);
    std::size_t n = 0;
    while (n < most && !s->ready.empty()) {
        std::swap(s->ready[dice_.below(s->ready.size())], s->ready.back());
        link* const l = find(s->ready.back());
        s->ready.pop_back();
        if (!l || l->set_ != set || !l->queued_) continue;
        l->queued_ = false;
        const std::uint32_t now = l->level() & (l->events_ | EPOLLHUP | EPOLLERR);
        if (now == 0) continue;
        events[n].events = now;
        events[n].data.u64 = l->data_;
        ++n;
    }
    return static_cast<int>(n);
}

bool simulated_network::clock(clockid_t which, std::uint64_t& ms) const noexcept {
    if (std::this_thread::get_id() != owner_) return false;
    ms = which == CLOCK_REALTIME_COARSE || which == CLOCK_REALTIME ? date_ms + (now_ms_ - began_ms_) : now_ms_;
    return true;
}

} // namespace fastserve::net
