// recv_loop: the floor under every server that takes uploads. It finds where a head ends and how long the body behind
// it is, receives that into one buffer, and answers with how much came. It checks nothing and keeps nothing.
//
//     recv_loop PORT WORKERS
//
// A worker is a thread with a listener (SO_REUSEPORT) and an epoll set of its own.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t input_size = 64 * 1024;

struct upload {
    std::string head;       // as far as it has come, while the body is not known
    std::uint64_t size = 0; // of the body
    std::uint64_t left = 0;
};

int listen_on(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(fd, 4096) != 0) {
        std::perror("recv_loop: cannot listen");
        std::exit(1);
    }
    return fd;
}

std::uint64_t length_in(std::string_view head) {
    constexpr std::string_view name = "content-length:";
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
        const std::string_view line = head.substr(at + 2);
        if (line.size() > name.size() && strncasecmp(line.data(), name.data(), name.size()) == 0)
            return std::strtoull(line.data() + name.size(), nullptr, 10);
    }
    return 0;
}

void answer(int fd, std::uint64_t size) {
    const std::string body = std::to_string(size);
    const std::string all = "HTTP/1.1 200 OK\r\n"
                            "Server: recv_loop\r\n"
                            "Date: Mon, 30 Nov 2026 00:00:00 GMT\r\n"
                            "Content-Type: text/plain\r\n"
                            "Content-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body;
    send(fd, all.data(), all.size(), MSG_NOSIGNAL);
}

// False: the connection is over.
bool receive(int fd, upload& u, std::vector<char>& input) {
    const ssize_t got = recv(fd, input.data(), input.size(), 0);
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    auto taken = static_cast<std::uint64_t>(got);
    if (u.left == 0) {
        u.head.append(input.data(), static_cast<std::size_t>(got));
        const std::size_t end = u.head.find("\r\n\r\n");
        if (end == std::string::npos) return true;
        u.left = u.size = length_in(std::string_view(u.head).substr(0, end + 2));
        taken = u.head.size() - end - 4;
        u.head.clear();
    }
    if (taken > u.left) return false; // pipelined, which nobody asks of it
    u.left -= taken;
    if (u.left == 0) answer(fd, u.size);
    return true;
}

[[noreturn]] void work(int listener) {
    const int set = epoll_create1(EPOLL_CLOEXEC);
    std::vector<char> input(input_size);
    std::unordered_map<int, upload> uploads;
    std::array<epoll_event, 128> events;
    const auto watch = [set](int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    };
    watch(listener);
    for (;;) {
        const int ready = epoll_wait(set, events.data(), static_cast<int>(events.size()), -1);
        for (int i = 0; i < ready; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == listener) {
                const int peer = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (peer < 0) continue;
                const int on = 1;
                setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                uploads[peer] = {};
                watch(peer);
            } else if (!receive(fd, uploads[fd], input)) {
                uploads.erase(fd);
                close(fd);
            }
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: recv_loop PORT WORKERS\n", stderr);
        return 2;
    }
    const int workers = std::atoi(argv[2]) > 1 ? std::atoi(argv[2]) : 1;
    std::vector<int> listeners;
    for (int i = 0; i < workers; ++i) listeners.push_back(listen_on(std::atoi(argv[1])));
    for (int i = 1; i < workers; ++i) std::thread([fd = listeners[static_cast<std::size_t>(i)]] { work(fd); }).detach();
    work(listeners.front());
}
