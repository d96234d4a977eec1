// fastserve's transport and event set as a source of raw TCP: 4,096-byte packets to each that connects, without end.
//
//     fastserve_tcp PORT PACKETS      PACKETS: so many of them in one send, 1 to 4
#include <fastserve/net/system.hpp>
#include <fastserve/net/transport.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

namespace net = fastserve::net;
namespace sys = fastserve::net::sys;

constexpr std::size_t packet_size = 4096;

class source {
public:
    explicit source(std::size_t packets) : packets_(packets) {}

    int listen(int port) {
        listener_ = sys::socket(AF_INET).descriptor();
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sys::set_option(listener_, SOL_SOCKET, SO_REUSEADDR, 1);
        if (const int e = sys::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at)) return e;
        if (const int e = sys::listen(listener_, 16)) return e;
        return sys::epoll_add(set_, listener_, EPOLLIN, static_cast<std::uint64_t>(listener_));
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 64> events{};
        for (;;) {
            const sys::io_result ready = sys::epoll_wait(set_, events, -1);
            for (ssize_t i = 0; i < ready.n; ++i) {
                const int fd = static_cast<int>(events[static_cast<std::size_t>(i)].data.u64);
                if (fd == listener_)
                    accept();
                else
                    fill(fd);
            }
        }
    }

private:
    struct peer {
        net::transport transport;
        std::size_t sent = 0; // of the batch that is on its way
    };

    void accept() {
        const sys::io_result got = sys::accept(listener_);
        if (!got.ok()) return;
        const int fd = got.descriptor();
        peers_.emplace(fd, peer{net::transport(fd)});
        sys::epoll_add(set_, fd, EPOLLOUT | EPOLLET, static_cast<std::uint64_t>(fd));
    }

    // Until the socket takes no more.
    void fill(int fd) {
        peer& p = peers_.at(fd);
        const std::size_t size = packets_ * packet_size;
        for (;;) {
            const net::sent sent = p.transport.send(rest_of_batch(p.sent));
            if (sent.failed) {
                p.transport.close();
                peers_.erase(fd);
                return;
            }
            if (sent.blocked) return;
            p.sent = (p.sent + sent.size) % size;
        }
    }

    std::array<std::string_view, 4> rest_of_batch(std::size_t sent) const {
        std::array<std::string_view, 4> parts{};
        for (std::size_t i = 0; i < packets_; ++i) {
            const std::size_t gone = std::clamp(sent, i * packet_size, (i + 1) * packet_size) - i * packet_size;
            parts[i] = std::string_view(packet_).substr(gone);
        }
        return parts;
    }

    std::size_t packets_;
    std::string packet_ = std::string(packet_size, 'x');
    int set_ = sys::epoll_create().descriptor();
    int listener_ = -1;
    std::unordered_map<int, peer> peers_;
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: fastserve_tcp PORT PACKETS\n", stderr);
        return 2;
    }
    source s(static_cast<std::size_t>(std::clamp(std::atoi(argv[2]), 1, 4)));
    if (const int e = s.listen(std::atoi(argv[1]))) {
        std::fprintf(stderr, "fastserve_tcp: %s\n", sys::to_error_code(e).message().c_str());
        return 1;
    }
    s.run();
}
