// Requests of all kinds over many connections at once, each answer compared byte by byte with what it must be.
//
// One thread and non-blocking sockets. A connection sends a pipeline of a few requests, reads the answers, and then
// sends another, closes, half-closes first, or says Connection: close. The server may close whenever it wants: what
// came before that must have been right as far as it came.
#pragma once

#include "amount.hpp"
#include "house.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>

namespace fastserve::test {

class load {
public:
    struct counts {
        std::uint64_t requests = 0, right = 0, lost = 0, refused = 0, connections = 0;
    };

    load(std::vector<std::uint16_t> ports, std::size_t connections, tally& t)
        : ports_(std::move(ports)), tally_(t), random_(t.seed), all_(connections) {}
    load(const load&) = delete;
    load& operator=(const load&) = delete;

    counts run(std::uint64_t requests) {
        wanted_ = requests;
        set_ = ::epoll_create1(EPOLL_CLOEXEC);
        for (peer& p : all_) open(p);
        last_look_ = now();
        while (std::any_of(all_.begin(), all_.end(), [](const peer& p) { return p.fd >= 0; })) {
            epoll_event events[64];
            const int n = ::epoll_wait(set_, events, 64, 100);
            for (int i = 0; i < n; ++i) serve(all_[events[i].data.u32]);
            look_for_the_stuck();
        }
        ::close(set_);
        tally_.tried += counts_.requests;
        return counts_;
    }

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds patience{10};

    struct expected {
        std::string path; // for the report
        std::string body;
        bool to_head = false;
        bool in_chunks = false;
    };
    enum class ending { more, half_close, says_close };
    struct peer {
        int fd = -1;
        std::string out, in;
        std::size_t sent = 0;
        std::deque<expected> awaited;
        ending then = ending::more;
        clock::time_point progress{};
    };

    static clock::time_point now() { return clock::now(); }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    void open(peer& p) {
        p.out.clear();
        p.in.clear();
        p.sent = 0;
        p.awaited.clear();
        if (counts_.requests >= wanted_) return;
        // A smaller buffer is eaten up by small chunks, each in a packet of its own; its window then never opens by a
        // whole segment, and the system sends 2 KB a probe, which is every 0.2 s.
        client c(ports_[counts_.connections++ % ports_.size()], below(4) == 0 ? 16 * 1024 : 0);
        if (!c.connected()) {
            tally_.fail("cannot connect");
            return;
        }
        p.fd = ::fcntl(c.fd(), F_DUPFD_CLOEXEC, 0);
        ::fcntl(p.fd, F_SETFL, O_NONBLOCK);
        epoll_event e{};
        e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        e.data.u32 = static_cast<std::uint32_t>(&p - all_.data());
        ::epoll_ctl(set_, EPOLL_CTL_ADD, p.fd, &e);
        p.progress = now();
        fill(p);
    }

    void close(peer& p) {
        ::close(std::exchange(p.fd, -1));
        open(p);
    }

    // Another pipeline.
    void fill(peer& p) {
        p.out.clear();
        p.sent = 0;
        const std::size_t dice = below(16);
        p.then = dice == 0 ? ending::half_close : dice == 1 ? ending::says_close : ending::more;
        const std::size_t count = below(3) == 0 ? 1 + below(12) : 1;
        for (std::size_t i = 0; i < count; ++i) add(p, p.then == ending::says_close && i + 1 == count);
    }

    void add(peer& p, bool last) {
        static constexpr std::string_view simple[] = {"/plain/",    "/plain/",    "/at-once/", "/coroutine/",
                                                      "/deferred/", "/blocking/", "/offload/"};
        const std::string id = std::to_string(++counts_.requests);
        const std::string fields = last ? "Connection: close\r\n" : "";
        const std::size_t dice = below(12);
        if (dice < 7) {
            const std::string path = std::string(simple[dice]) + id;
            const bool to_head = below(8) == 0;
            p.out += request_line(to_head ? "HEAD" : "GET", path, fields);
            p.awaited.push_back({path, path, to_head});
            return;
        }
        if (dice == 7) {
            const std::size_t size = below(4) == 0 ? below(400'000) : below(40'000);
            const std::string path = "/large/" + std::to_string(size);
            p.out += request_line("GET", path, fields);
            p.awaited.push_back({path, large_body(size)});
            return;
        }
        if (dice == 8) {
            const std::size_t size = below(4) == 0 ? below(400'000) : below(40'000);
            const std::string path = "/pieces-out/" + std::to_string(size);
            p.out += request_line("GET", path, fields);
            // Of nothing there is no piece.
            p.awaited.push_back({path, large_body(size), false, size != 0});
            return;
        }
        std::string body = id + " " + large_body(below(3) == 0 ? below(60'000) : below(600));
        static constexpr std::string_view echoes[] = {"/echo/", "/echo-later/", "/pieces-in/", "/pieces/"};
        const std::string_view kind = echoes[below(4)];
        const std::string path = std::string(kind) + id;
        if (dice < 10) {
            p.out += request_line("POST", path, fields, body);
        } else {
            p.out += request_line("POST", path, fields + "Transfer-Encoding: chunked\r\n");
            for (std::string_view rest = body; !rest.empty();) {
                const std::string_view piece = rest.substr(0, 1 + below(std::max<std::size_t>(body.size() / 4, 1)));
                rest.remove_prefix(piece.size());
                char size[16];
                p.out.append(size, std::to_chars(size, size + sizeof size, piece.size(), 16).ptr);
                p.out.append("\r\n").append(piece).append("\r\n");
            }
            p.out += "0\r\n\r\n";
        }
        p.awaited.push_back({path, std::move(body), false, kind == "/pieces/"});
    }

    // Both directions, as far as they go.
    void serve(peer& p) {
        if (p.fd < 0) return;
        for (;;) {
            if (!send(p)) return;
            char part[65536];
            const ssize_t n = ::recv(p.fd, part, sizeof part, 0);
            if (n < 0 && errno == EAGAIN) return;
            p.progress = now();
            if (n > 0) {
                p.in.append(part, static_cast<std::size_t>(n));
                if (!read_answers(p)) return close(p);
                continue;
            }
            return gone(p);
        }
    }

    // False: the connection has ended.
    bool send(peer& p) {
        while (p.sent < p.out.size()) {
            const ssize_t n = ::send(p.fd, p.out.data() + p.sent, p.out.size() - p.sent, MSG_NOSIGNAL);
            if (n < 0) return true; // what it answered before it closed is still read
            p.progress = now();
            p.sent += static_cast<std::size_t>(n);
            if (p.sent == p.out.size() && p.then == ending::half_close) ::shutdown(p.fd, SHUT_WR);
        }
        return true;
    }

    // The server has closed. What has come of the answer in work must be the beginning of the right one.
    void gone(peer& p) {
        if (!p.awaited.empty() && !p.in.empty()) (void)compare(p, true);
        counts_.lost += p.awaited.size();
        close(p);
    }

    // False: the connection is of no more use.
    bool read_answers(peer& p) {
        while (!p.in.empty()) {
            if (p.awaited.empty()) {
                if (!is_refusal(p)) tally_.fail("bytes that nobody asked for: " + p.in.substr(0, 100));
                return false;
            }
            const verdict v = compare(p, false);
            if (v == verdict::partial) return true;
            if (v == verdict::over) return false;
            ++counts_.right;
            p.awaited.pop_front();
        }
        if (!p.awaited.empty() || p.sent < p.out.size()) return true;
        if (p.then != ending::more) return true; // it closes
        if (counts_.requests >= wanted_ || below(20) == 0) return false;
        fill(p);
        return true;
    }

    enum class verdict { partial, right, over };

    bool is_refusal(const peer& p) const {
        return p.in.starts_with("HTTP/1.1 503") && p.in.find("Retry-After:") != std::string::npos &&
               p.in.find("Connection: close") != std::string::npos;
    }

    verdict compare(peer& p, bool at_end) {
        const expected& e = p.awaited.front();
        static constexpr std::string_view good = "HTTP/1.1 200 OK\r\n";
        const auto wrong = [&](const std::string& why) {
            tally_.fail(e.path + ": " + why + ": " + p.in.substr(0, 200));
            counts_.lost += p.awaited.size();
            p.awaited.clear();
            return verdict::over;
        };
        const std::size_t head_size = p.in.find("\r\n\r\n");
        if (head_size == std::string::npos) {
            const std::string_view start = std::string_view(p.in).substr(0, good.size());
            if (!good.starts_with(start) && !std::string_view("HTTP/1.1 503").starts_with(start.substr(0, 12)))
                return wrong("not the beginning of an answer");
            return verdict::partial;
        }
        answer a;
        a.head = p.in.substr(0, head_size + 2);
        if (is_refusal(p)) {
            ++counts_.refused;
            counts_.lost += p.awaited.size() - 1;
            p.awaited.clear();
            return verdict::over;
        }
        if (!p.in.starts_with(good)) return wrong("another status");
        if (e.in_chunks) {
            const in_chunks chunks(std::string_view(p.in).substr(head_size + 4));
            if (a.field("Transfer-Encoding") != "chunked" || chunks.wrong) return wrong("no chunks");
            if (!e.body.starts_with(chunks.body)) return wrong("another body");
            if (chunks.size == 0) return verdict::partial;
            if (chunks.body.size() != e.body.size()) return wrong("an end before it");
            if (!at_end) p.in.erase(0, head_size + 4 + chunks.size);
            return verdict::right;
        }
        if (a.field("Content-Length") != std::to_string(e.body.size())) return wrong("another length");
        const std::string_view body = std::string_view(p.in).substr(head_size + 4);
        const std::size_t size = e.to_head ? 0 : e.body.size();
        if (body.substr(0, size) != std::string_view(e.body).substr(0, std::min(size, body.size())))
            return wrong("another body");
        if (body.size() < size) return verdict::partial;
        if (!at_end) p.in.erase(0, head_size + 4 + size);
        return verdict::right;
    }

    void look_for_the_stuck() {
        if (now() - last_look_ < std::chrono::milliseconds(500)) return;
        last_look_ = now();
        for (peer& p : all_) {
            if (p.fd < 0 || last_look_ - p.progress < patience) continue;
            tally_.fail((p.awaited.empty() ? "its end" : p.awaited.front().path) +
                        ": neither an answer nor an end; sent " + std::to_string(p.sent) + " of " +
                        std::to_string(p.out.size()) + ", received " + std::to_string(p.in.size()));
            close(p);
        }
    }

    const std::vector<std::uint16_t> ports_;
    tally& tally_;
    std::mt19937_64 random_;
    std::vector<peer> all_;
    std::uint64_t wanted_ = 0;
    int set_ = -1;
    counts counts_;
    clock::time_point last_look_{};
};

} // namespace fastserve::test
