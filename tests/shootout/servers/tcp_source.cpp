// A source of raw TCP with blocking sends, a thread a connection: 4,096-byte packets without end.
//
//     tcp_source PORT
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static void pour(int fd) {
    const std::vector<char> packet(4096, 'x');
    std::size_t sent = 0;
    for (;;) {
        const ssize_t n = send(fd, packet.data() + sent, packet.size() - sent, MSG_NOSIGNAL);
        if (n < 0) break;
        sent = (sent + static_cast<std::size_t>(n)) % packet.size();
    }
    close(fd);
}

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: tcp_source PORT\n", stderr);
        return 2;
    }
    const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(listener, 16) != 0) {
        std::perror("tcp_source: cannot listen");
        return 1;
    }
    for (;;) {
        const int fd = accept(listener, nullptr, nullptr);
        if (fd >= 0) std::thread(pour, fd).detach();
    }
}
