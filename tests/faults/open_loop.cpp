// A crowd in front of a server: requests come at a rate that does not care whether answers do.
//
//   faults_open_loop PORT PATH MODE AMOUNT SECONDS
//
// MODE peak: AMOUNT connections, each of which asks again as soon as it is answered. MODE rate: AMOUNT requests a
// second by a crowd of 1,000 clients. A request takes a client who has nothing to do, rather one who is connected than
// one who must connect first; without one it is given up. A client who is told 503 comes back after a second, as
// Retry-After says. Prints one line a second: answers 200, 503s, requests given up, connections that ended otherwise,
// and the latency of the answers from the moment their request was due: the median and the 99th percentile in
// microseconds.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using clock_type = std::chrono::steady_clock;
using time_point = clock_type::time_point;
using namespace std::chrono_literals;

struct client {
    int fd = -1;
    bool busy = false;
    bool sent = false; // connected, and the request is out
    time_point due{};
    std::string in;
};

class crowd {
public:
    crowd(std::uint16_t port, const std::string& path, std::size_t size)
        : request_("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"), clients_(size), set_(::epoll_create1(0)) {
        to_.sin_family = AF_INET;
        to_.sin_port = htons(port);
        to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (std::uint32_t i = 0; i < size; ++i) outside_.push_back(i);
    }

    void run(bool closed_loop, double rate, int seconds) {
        const time_point began = clock_type::now();
        time_point report = began + 1s;
        std::uint64_t asked = 0;
        for (;;) {
            const time_point now = clock_type::now();
            if (now >= report) {
                tell();
                if (report >= began + std::chrono::seconds(seconds)) return;
                report += 1s;
            }
            while (!resting_.empty() && resting_.front().first <= now) {
                outside_.push_back(resting_.front().second);
                resting_.pop();
            }
            if (closed_loop) {
                while (!inside_.empty() || !outside_.empty()) ask(now);
            } else {
                const auto due = static_cast<std::uint64_t>(std::chrono::duration<double>(now - began).count() * rate);
                for (; asked < due; ++asked)
                    ask(began + std::chrono::duration_cast<clock_type::duration>(
                                    std::chrono::duration<double>(static_cast<double>(asked) / rate)));
            }
            std::array<epoll_event, 256> events;
            const int n = ::epoll_wait(set_, events.data(), static_cast<int>(events.size()), 1);
            for (int i = 0; i < n; ++i) on_event(events[static_cast<std::size_t>(i)].data.u32);
        }
    }

private:
    void ask(time_point due) {
        if (inside_.empty() && outside_.empty()) {
            ++given_up_;
            return;
        }
        std::vector<std::uint32_t>& from = inside_.empty() ? outside_ : inside_;
        const std::uint32_t i = from.back();
        from.pop_back();
        client& c = clients_[i];
        c.due = due;
        c.busy = true;
        c.sent = false;
        c.in.clear();
        if (c.fd < 0) {
            c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            const int one = 1;
            ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            epoll_event e{};
            e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
            e.data.u32 = i;
            ::epoll_ctl(set_, EPOLL_CTL_ADD, c.fd, &e);
            if (::connect(c.fd, reinterpret_cast<sockaddr*>(&to_), sizeof to_) != 0 && errno != EINPROGRESS) {
                end(i, true);
                return;
            }
        }
        send(c);
    }

    void send(client& c) {
        c.sent = ::send(c.fd, request_.data(), request_.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request_.size());
    }

    // `rests`: for a second.
    void end(std::uint32_t i, bool rests) {
        client& c = clients_[i];
        ::close(c.fd);
        c.fd = -1;
        c.busy = false;
        if (rests)
            resting_.emplace(clock_type::now() + 1s, i);
        else
            outside_.push_back(i);
    }

    void on_event(std::uint32_t i) {
        client& c = clients_[i];
        if (c.fd < 0) return;
        if (c.busy && !c.sent) send(c);
        char part[4096];
        for (;;) {
            const ssize_t n = ::recv(c.fd, part, sizeof part, 0);
            if (n < 0 && errno == EAGAIN) return;
            if (n > 0) {
                c.in.append(part, static_cast<std::size_t>(n));
                if (c.in.ends_with("done")) {
                    ++good_;
                    latencies_.push_back(clock_type::now() - c.due);
                    c.busy = false;
                    c.in.clear();
                    inside_.push_back(i);
                }
                continue;
            }
            if (c.in.starts_with("HTTP/1.1 503")) {
                ++refused_;
                return end(i, true);
            }
            if (!c.busy) std::erase(inside_, i);
            ++broken_;
            return end(i, true);
        }
    }

    void tell() {
        std::sort(latencies_.begin(), latencies_.end());
        const auto at = [this](double share) -> long long {
            if (latencies_.empty()) return 0;
            const auto place = static_cast<std::size_t>(share * static_cast<double>(latencies_.size() - 1));
            return std::chrono::duration_cast<std::chrono::microseconds>(latencies_[place]).count();
        };
        std::printf("%llu %llu %llu %llu %lld %lld\n", good_, refused_, given_up_, broken_, at(0.5), at(0.99));
        std::fflush(stdout);
        good_ = refused_ = given_up_ = broken_ = 0;
        latencies_.clear();
    }

    const std::string request_;
    sockaddr_in to_{};
    std::vector<client> clients_;
    std::vector<std::uint32_t> inside_, outside_; // those who have nothing to do: connected, and not
    std::queue<std::pair<time_point, std::uint32_t>> resting_;
    const int set_;
    unsigned long long good_ = 0, refused_ = 0, given_up_ = 0, broken_ = 0;
    std::vector<clock_type::duration> latencies_;
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    const bool closed_loop = std::string_view(argv[3]) == "peak";
    const double rate = std::atof(argv[4]);
    crowd(static_cast<std::uint16_t>(std::atoi(argv[1])), argv[2], closed_loop ? static_cast<std::size_t>(rate) : 1000)
        .run(closed_loop, rate, std::atoi(argv[5]));
}
