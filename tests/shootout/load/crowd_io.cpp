#include "crowd.hpp"

#include <algorithm>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace load {

namespace {

constexpr std::int64_t rest_after_failure = 100'000'000;

void set_option(int fd, int level, int name, int value) noexcept {
    ::setsockopt(fd, level, name, &value, sizeof value);
}

} // namespace

void crowd::open(std::uint32_t i) {
    connection& c = connections_[i];
    c.moved = now_;
    c.connecting = true;
    ++connecting_;
    c.fd = ::socket(settings_.to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c.fd < 0) return give_up(i, error_kind::connect);
    set_option(c.fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (settings_.read_rate > 0) // what the kernel reads ahead is not read slowly: 20 ms of it
        set_option(c.fd, SOL_SOCKET, SO_RCVBUF,
                   static_cast<int>(std::clamp<std::uint64_t>(settings_.read_rate / 50, 2048, 4 << 20)));
    if (settings_.sources > 0) {
        // The port is chosen when connecting, by both ends; chosen now it would have to be free for all of them.
        set_option(c.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        const sockaddr_in from = source_address((i * settings_.threads + thread_) % settings_.sources);
        if (::bind(c.fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
            return give_up(i, error_kind::connect);
    }
    epoll_event e{};
    e.events = EPOLLOUT | EPOLLET | (settings_.read_rate > 0 ? 0u : EPOLLIN | EPOLLRDHUP);
    e.data.u32 = i;
    ::epoll_ctl(set_, EPOLL_CTL_ADD, c.fd, &e);
    const auto* to = reinterpret_cast<const sockaddr*>(&settings_.to.address);
    if (::connect(c.fd, to, settings_.to.address_size) != 0 && errno != EINPROGRESS) give_up(i, error_kind::connect);
}

void crowd::close(std::uint32_t i) {
    connection& c = connections_[i];
    if (c.connecting) --connecting_;
    if (c.fd >= 0) ::close(c.fd);
    in_flight_ -= c.in_flight;
    c.fd = -1;
    c.connecting = false;
    c.in_flight = c.first = c.unsent = 0;
    c.written = 0;
    c.asked = 0;
    c.credit = 0;
    c.reader.reset();
}

void crowd::connected(connection& c) {
    if (!c.connecting) return;
    c.connecting = false;
    --connecting_;
    ++results_.connects;
}

void crowd::on_event(std::uint32_t i, std::uint32_t events) {
    connection& c = connections_[i];
    if (c.fd < 0) return;
    const bool ended = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if ((events & EPOLLOUT) != 0) {
        if ((events & EPOLLERR) == 0) connected(c);
        if (c.unsent > 0) write(i);
    }
    if (c.fd < 0 || (settings_.read_rate > 0 && !ended)) return;
    if (ended || (events & EPOLLIN) != 0) receive(i, buffer_.size(), ended);
}

void crowd::write(std::uint32_t i) {
    connection& c = connections_[i];
    while (c.unsent > 0) {
        // The one that says `close` is the last that a connection is asked.
        const bool says_close = c.asked == per_connection_;
        const bool last = says_close && c.unsent == 1;
        const std::string& text = last ? settings_.last_request : batch_;
        const std::size_t one = last ? text.size() : settings_.usual_request.size();
        const std::size_t count = last ? 1 : std::min<std::size_t>(c.unsent - (says_close ? 1 : 0), batch_requests_);
        const ssize_t n = ::send(c.fd, text.data() + c.written, count * one - c.written, MSG_NOSIGNAL);
        if (n < 0) {
            // What the server said before it closed says why; if it said nothing, reading ends the connection.
            if (errno != EAGAIN) receive(i, buffer_.size(), true);
            return;
        }
        connected(c);
        c.moved = now_;
        if (now_ >= measure_from_ && now_ < end_) results_.bytes_out += static_cast<std::uint64_t>(n);
        c.written += static_cast<std::size_t>(n);
        c.unsent -= static_cast<std::uint32_t>(c.written / one);
        c.written %= one;
    }
}

// Reads until nothing is left, or `most` bytes. A read that fills less than the buffer has left nothing, unless the
// peer has `ended`: then the end is still to be read.
void crowd::receive(std::uint32_t i, std::size_t most, bool ended) {
    connection& c = connections_[i];
    for (;;) {
        const std::size_t room = std::min(most, buffer_.size());
        const ssize_t n = ::recv(c.fd, buffer_.data(), room, 0);
        if (n < 0 && errno == EAGAIN) return;
        now_ = clock_now();
        if (n <= 0) return on_end(i);
        c.moved = now_;
        if (now_ >= measure_from_ && now_ < end_) results_.bytes_in += static_cast<std::uint64_t>(n);
        if (!on_bytes(i, {buffer_.data(), static_cast<std::size_t>(n)})) return;
        if (settings_.read_rate > 0 && !ended) {
            c.credit -= static_cast<double>(n);
            return;
        }
        if (static_cast<std::size_t>(n) < room && !ended) return;
    }
}

// False: the connection is closed.
bool crowd::on_bytes(std::uint32_t i, std::string_view in) {
    connection& c = connections_[i];
    while (!in.empty()) {
        if (c.in_flight == 0) {
            wrong_answer(i, "an answer that nobody asked for");
            close(i);
            make_free(i, now_);
            return false;
        }
        switch (c.reader.take(in)) {
        case answer_reader::outcome::more: return true;
        case answer_reader::outcome::malformed:
            wrong_answer(i, c.reader.wrong());
            --c.in_flight;
            --in_flight_;
            give_up(i, error_kind::early_close);
            return false;
        case answer_reader::outcome::complete:
            on_answer(i);
            if (c.fd < 0) return false;
        }
    }
    return true;
}

void crowd::on_answer(std::uint32_t i) {
    connection& c = connections_[i];
    const std::int64_t due = due_time(i, 0);
    c.first = (c.first + 1) % settings_.pipeline;
    --c.in_flight;
    --in_flight_;
    last_answer_ = now_;
    if (!c.reader.wrong().empty()) {
        wrong_answer(i, c.reader.wrong());
    } else {
        if (due < measure_from_) {
            ++results_.warm_up_requests;
        } else {
            ++results_.requests;
            results_.latency.add(static_cast<std::uint64_t>(now_ - due));
        }
        if (now_ >= measure_from_ && now_ < end_) ++results_.answers_in_time;
    }
    const bool spent = c.in_flight == 0 && c.asked == per_connection_;
    const bool cut_short = c.unsent > c.in_flight; // answered before all of the request was sent
    if (!c.reader.keeps_alive() || spent || cut_short) return give_up(i, error_kind::early_close);
    make_free(i, now_);
}

void crowd::on_end(std::uint32_t i) {
    connection& c = connections_[i];
    if (c.in_flight > 0 && c.reader.end()) return on_answer(i); // which also ends the connection
    give_up(i, c.connecting ? error_kind::connect : error_kind::early_close);
}

void crowd::wrong_answer(std::uint32_t i, std::string_view why) {
    ++results_.errors_of(error_kind::wrong_answer);
    if (!results_.first_wrong_answer.empty()) return;
    results_.first_wrong_answer = why;
    if (const unsigned status = connections_[i].reader.status(); status != 0)
        results_.first_wrong_answer += " (status " + std::to_string(status) + ')';
}

// Closes; what was in flight is an error of that kind. One of a connection that could not be is one in any case.
void crowd::give_up(std::uint32_t i, error_kind kind) {
    connection& c = connections_[i];
    const bool connecting = kind == error_kind::connect;
    results_.errors_of(kind) += std::max(c.in_flight, connecting ? 1u : 0u);
    if (kind == error_kind::timeout)
        for (std::uint32_t k = 0; k < c.in_flight; ++k)
            if (const std::int64_t due = due_time(i, k); due >= measure_from_)
                results_.latency.add(static_cast<std::uint64_t>(now_ - due));
    close(i);
    if (!connecting) return make_free(i, now_);
    if (c.listed) std::erase(free_, i); // connecting before it was asked for anything, or able to take more
    c.listed = true;
    resting_.emplace_back(now_ + rest_after_failure, i);
}

} // namespace load
