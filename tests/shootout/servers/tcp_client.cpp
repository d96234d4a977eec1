// Reads from one connection for a time, 4,096 bytes a call, and prints what came, in how long, as JSON.
//
//     tcp_client PORT SECONDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: tcp_client PORT SECONDS\n", stderr);
        return 2;
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
        std::perror("tcp_client: cannot connect");
        return 1;
    }
    using clock = std::chrono::steady_clock;
    const double wanted = std::atof(argv[2]);
    const clock::time_point start = clock::now();
    char packet[4096];
    std::uint64_t bytes = 0, wrong = 0;
    double seconds = 0;
    while (seconds < wanted) {
        const ssize_t n = recv(fd, packet, sizeof packet, 0);
        if (n <= 0) {
            std::perror("tcp_client: the source has stopped");
            return 1;
        }
        bytes += static_cast<std::uint64_t>(n);
        if (packet[0] != 'x' || packet[n - 1] != 'x') ++wrong;
        seconds = std::chrono::duration<double>(clock::now() - start).count();
    }
    std::printf("{\"bytes\": %llu, \"wrong\": %llu, \"seconds\": %.6f}\n", static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(wrong), seconds);
    close(fd);
}
