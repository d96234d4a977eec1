// limit: the floor under every HTTP server on this machine. It counts where heads end and answers each with one
// constant; it parses nothing, checks nothing and routes nothing. What a server costs above it is the server's own.
//
//     limit PORT WORKERS BODY
//
// A worker is a thread on one CPU with an epoll set of its own. The main thread accepts, gives a connection to the
// worker of the CPU that its packets arrive on, and its worker asks again every 64 requests and hands it over when that
// has changed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t input_size = 64 * 1024;
constexpr std::int8_t look_again_after = 64;
constexpr int most_descriptors = 1 << 16;

struct worker {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int cpu = 0;
};

std::vector<int> usable_cpus() {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

class server {
public:
    server(std::size_t workers, std::string_view body)
        : workers_(workers), unanswered_(most_descriptors), answer_(compose("", body)),
          last_answer_(compose("Connection: close\r\n", body)) {
        const std::vector<int> cpus = usable_cpus();
        for (std::size_t i = 0; i < workers; ++i) workers_[i].cpu = cpus[i % cpus.size()];
    }

    [[noreturn]] void run(int listener) {
        for (const worker& w : workers_) std::thread([this, &w] { work(w); }).detach();
        for (;;) {
            const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) continue;
            if (fd >= most_descriptors) {
                close(fd);
                continue;
            }
            const int on = 1;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            give(fd, owner_of(fd));
        }
    }

private:
    static std::string compose(std::string_view field, std::string_view body) {
        std::string answer = "HTTP/1.1 200 OK\r\n"
                             "Server: limit\r\n"
                             "Date: Mon, 30 Nov 2026 00:00:00 GMT\r\n"
                             "Content-Type: text/plain\r\n"
                             "Content-Length: ";
        answer.append(std::to_string(body.size())).append("\r\n").append(field).append("\r\n").append(body);
        return answer;
    }

    // Of several workers on one CPU, the descriptor's number picks one.
    const worker& owner_of(int fd) const {
        int cpu = -1;
        socklen_t size = sizeof cpu;
        getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &size);
        const auto on_cpu = [cpu](const worker& w) { return w.cpu == cpu; };
        const auto number = static_cast<std::size_t>(fd);
        const auto there = static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), on_cpu));
        if (there == 0) return workers_[number % workers_.size()];
        auto found = std::find_if(workers_.begin(), workers_.end(), on_cpu);
        for (std::size_t skip = number % there; skip > 0; --skip)
            found = std::find_if(found + 1, workers_.end(), on_cpu);
        return *found;
    }

    void give(int fd, const worker& to) {
        unanswered_[static_cast<std::size_t>(fd)] = look_again_after;
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        event.data.fd = fd;
        epoll_ctl(to.epoll, EPOLL_CTL_ADD, fd, &event);
    }

    [[noreturn]] void work(const worker& self) {
        stay_on(self.cpu);
        std::vector<char> input(input_size);
        std::string output;
        std::array<epoll_event, 512> events;
        for (;;) {
            const int ready = epoll_wait(self.epoll, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < ready; ++i) serve(self, events[static_cast<std::size_t>(i)].data.fd, input, output);
        }
    }

    void serve(const worker& self, int fd, std::vector<char>& input, std::string& output) {
        const ssize_t got = recv(fd, input.data(), input.size(), 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            close(fd);
            return;
        }
        const char* const end = input.data() + got;
        const bool last = find(input.data(), end, "Connection: close") != nullptr;
        const std::string& answer = last ? last_answer_ : answer_;
        int heads = 0;
        output.clear();
        for (const char* at = input.data(); (at = find(at, end, "\r\n\r\n")) != nullptr; at += 4, ++heads)
            output += answer;
        if (heads > 0) send(fd, output.data(), output.size(), MSG_NOSIGNAL);
        if (last) {
            close(fd);
            return;
        }
        std::int8_t& left = unanswered_[static_cast<std::size_t>(fd)];
        if (heads < left) {
            left = static_cast<std::int8_t>(left - heads);
            return;
        }
        left = look_again_after;
        const worker& owner = owner_of(fd);
        if (owner.cpu == self.cpu) return;
        epoll_ctl(self.epoll, EPOLL_CTL_DEL, fd, nullptr);
        give(fd, owner);
    }

    // memmem knows wider instructions than std::string_view::find does.
    static const char* find(const char* from, const char* end, std::string_view what) {
        return static_cast<const char*>(memmem(from, static_cast<std::size_t>(end - from), what.data(), what.size()));
    }

    std::vector<worker> workers_;
    std::vector<std::int8_t> unanswered_; // requests until the next look, by descriptor; its owner's alone
    std::string answer_, last_answer_;
};

int open_listener(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(fd, 4096) != 0) {
        std::perror("limit: cannot listen");
        std::exit(1);
    }
    return fd;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: limit PORT WORKERS BODY\n", stderr);
        return 2;
    }
    server s(static_cast<std::size_t>(std::max(1, std::atoi(argv[2]))), argv[3]);
    s.run(open_listener(std::atoi(argv[1])));
}
