// A blocking HTTP/1.1 client for tests: it sends the bytes it is given and reads answers, with a deadline.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fastserve::test {

struct answer {
    int status = 0; // 0: no whole answer came
    std::string head;
    std::string body;

    std::string field(std::string_view name) const {
        std::size_t at = head.find("\r\n");
        while (at != std::string::npos && at + 2 < head.size()) {
            at += 2;
            const std::size_t end = head.find("\r\n", at);
            const std::string_view line = std::string_view(head).substr(at, end - at);
            const std::size_t colon = line.find(':');
            if (colon == name.size() && ::strncasecmp(line.data(), name.data(), colon) == 0) {
                std::string_view value = line.substr(colon + 1);
                while (value.starts_with(' ')) value.remove_prefix(1);
                return std::string(value);
            }
            at = end;
        }
        return {};
    }
};

class client {
public:
    static constexpr std::chrono::milliseconds patience{10'000};

    // Connects to 127.0.0.1.
    explicit client(std::uint16_t port, int receive_buffer = 0) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connect(reinterpret_cast<sockaddr*>(&to), sizeof to, receive_buffer);
    }
    // Connects to any stream socket.
    client(const sockaddr* to, socklen_t size) { connect(to, size, 0); }
    client(client&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), ended_(other.ended_), reset_(other.reset_),
          got_(std::move(other.got_)) {}
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    client& operator=(client&& other) noexcept {
        close();
        fd_ = std::exchange(other.fd_, -1);
        connected_ = other.connected_;
        ended_ = other.ended_;
        reset_ = other.reset_;
        got_ = std::move(other.got_);
        return *this;
    }
    ~client() { close(); }

    bool connected() const { return connected_; }
    int fd() const { return fd_; }

    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    void finish_sending() { ::shutdown(fd_, SHUT_WR); }
    // Ends with a reset instead of a FIN.
    void reset() {
        const linger hard{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

    // Reads one answer framed by its length (or chunks); `to_head` for answers to HEAD.
    answer read(bool to_head = false) {
        answer a;
        const auto until = std::chrono::steady_clock::now() + patience;
        std::size_t head_end;
        while ((head_end = got_.find("\r\n\r\n")) == std::string::npos)
            if (!more(until)) return a;
        a.head = got_.substr(0, head_end + 2);
        got_.erase(0, head_end + 4);
        const int status = std::stoi(a.head.substr(9, 3));
        if (to_head || status < 200 || status == 204 || status == 304) {
            a.status = status;
            return a;
        }
        if (a.field("Transfer-Encoding") == "chunked") {
            for (;;) {
                std::size_t end;
                while ((end = got_.find("\r\n")) == std::string::npos)
                    if (!more(until)) return a;
                const std::size_t size = std::stoul(got_.substr(0, end), nullptr, 16);
                while (got_.size() < end + 2 + size + 2)
                    if (!more(until)) return a;
                a.body += got_.substr(end + 2, size);
                got_.erase(0, end + 2 + size + 2);
                if (size == 0) break;
            }
        } else {
            const std::string length = a.field("Content-Length");
            const std::size_t size = length.empty() ? 0 : std::stoul(length);
            while (got_.size() < size)
                if (!more(until)) return a;
            a.body = got_.substr(0, size);
            got_.erase(0, size);
        }
        a.status = status;
        return a;
    }
    // Whether the peer closes within the deadline, without another byte.
    bool read_end() {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (more(until)) {
        }
        return got_.empty() && ended_;
    }
    bool was_reset() const { return reset_; }
    // The peer has closed, one way or the other: nothing more will come.
    bool at_end() const { return ended_ || reset_; }
    const std::string& unread() const { return got_; }

    answer get(std::string_view path) {
        send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return read();
    }

    // Receives without waiting; how many bytes have been received and not been read as an answer.
    std::size_t poll() {
        more(std::chrono::steady_clock::now());
        return got_.size();
    }

private:
    void connect(const sockaddr* to, socklen_t size, int receive_buffer) {
        fd_ = ::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer != 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        const timeval longest{std::chrono::duration_cast<std::chrono::seconds>(patience).count(), 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
        connected_ = ::connect(fd_, to, size) == 0;
        const int one = 1;
        if (to->sa_family != AF_UNIX) ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }

    bool more(std::chrono::steady_clock::time_point until) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
        pollfd p{fd_, POLLIN, 0};
        if (::poll(&p, 1, static_cast<int>(std::max<long>(left, 0))) <= 0) return false;
        char part[65536];
        const ssize_t n = ::recv(fd_, part, sizeof part, 0);
        if (n > 0) {
            got_.append(part, static_cast<std::size_t>(n));
            return true;
        }
        ended_ = n == 0;
        reset_ = n < 0 && errno == ECONNRESET;
        return false;
    }

    int fd_ = -1;
    bool connected_ = false;
    bool ended_ = false;
    bool reset_ = false;
    std::string got_;
};

} // namespace fastserve::test
