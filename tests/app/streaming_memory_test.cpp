// What many large bodies in pieces hold of memory at once: uploads to slow handlers, and downloads to slow peers.
//
// Runs for FASTSERVE_STREAMING_SECONDS (1 unless set) with bodies of 1 GiB, which are cut short by then; with 0 seconds
// it goes on until all bodies are through.
#include "site.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t peers = 200;
constexpr std::size_t body_bytes = std::size_t{1} << 30;
constexpr std::size_t allowed = 256 * 1024; // a connection

std::chrono::seconds seconds() {
    const char* const text = std::getenv("FASTSERVE_STREAMING_SECONDS");
    return std::chrono::seconds(text ? std::atoi(text) : 1);
}

std::size_t resident_bytes() {
    std::size_t total = 0, resident = 0;
    if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) resident = 0;
        std::fclose(f);
    }
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// How much a call that does not wait has moved. A connection that broke fails the test, and has no more to do.
std::size_t moved_by(ssize_t n, std::size_t& left) {
    if (n > 0) return static_cast<std::size_t>(n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    ADD_FAILURE() << "the connection ended with " << left << " bytes to go";
    left = 0;
    return 0;
}

// Nothing the peers own grows: one buffer for all.
struct peer {
    client c;
    std::size_t left;
};

// Gives each peer `a_tick` bytes of work every 20 ms, by `move`, and returns the most memory seen above `before`.
template <class Move>
std::size_t drive(std::vector<peer>& all, std::size_t a_tick, std::size_t before, Move move) {
    const auto begin = clock::now();
    std::size_t most = 0;
    for (auto next = begin;; next += 20ms) {
        bool open = false;
        for (peer& p : all) {
            for (std::size_t moved = 0; p.left != 0 && moved < a_tick;) {
                const std::size_t n = move(p, std::min(a_tick - moved, p.left));
                if (n == 0) break;
                moved += n;
                p.left -= n;
            }
            open = open || p.left != 0;
        }
        const std::size_t now = resident_bytes();
        most = std::max(most, now > before ? now - before : 0);
        if (!open || (seconds() != 0s && clock::now() > begin + seconds())) return most;
        std::this_thread::sleep_until(next + 20ms);
    }
}

std::vector<peer> connect(const site& s, std::string_view request) {
    std::vector<peer> all;
    for (std::size_t i = 0; i != peers; ++i) {
        all.push_back({s.connect(), body_bytes});
        EXPECT_TRUE(all.back().c.send(request));
    }
    return all;
}

void report(const char* what, const std::vector<peer>& all, std::size_t most) {
    std::size_t moved = 0;
    for (const peer& p : all) moved += body_bytes - p.left;
    std::printf("%s: %zu MiB of %zu bodies, at most %zu bytes a connection\n", what, moved >> 20, peers, most / peers);
    EXPECT_GT(moved, peers * 256 * 1024) << "more than is allowed to be held went through";
    EXPECT_LT(most / peers, allowed);
}

TEST(StreamingMemory, UploadsToSlowHandlers) {
    std::atomic<std::size_t> got{0};
    site s{{.workers = 2}};
    s.app.post("/slow",
               [&](request& q, response& a) -> awaitable<> {
                   for (;;) {
                       const auto piece = co_await q.read();
                       if (!piece || piece->empty()) break;
                       got += piece->bytes.size();
                       co_await sleep_for(20ms);
                   }
                   a.text("done");
               },
               {.body = body::streamed});
    s.start();
    const std::string piece(64 * 1024, 'x');
    const std::size_t before = resident_bytes();
    std::vector<peer> all =
        connect(s, request_line("POST", "/slow", "Content-Length: " + std::to_string(body_bytes) + "\r\n"));
    // As fast as the socket takes it.
    const std::size_t most = drive(all, body_bytes, before, [&](peer& p, std::size_t n) {
        const ssize_t sent = ::send(p.c.fd(), piece.data(), std::min(n, piece.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
        return moved_by(sent, p.left);
    });
    report("uploads", all, most);
    if (seconds() == 0s) {
        for (peer& p : all) EXPECT_EQ(p.c.read().status, 200);
        EXPECT_EQ(got, peers * body_bytes);
    }
}

TEST(StreamingMemory, DownloadsToSlowPeers) {
    const std::string piece(64 * 1024, 'x');
    site s{{.workers = 2}};
    s.app.get("/large", [&](request&, response& a) -> awaitable<> {
        for (std::size_t left = body_bytes; left != 0; left -= piece.size())
            if (co_await a.write(piece)) co_return;
    });
    s.start();
    const auto buffer = std::make_unique<char[]>(64 * 1024);
    const std::size_t before = resident_bytes();
    std::vector<peer> all = connect(s, request_line("GET", "/large"));
    // 1 MB/s, heads and chunks counted as body: the last bytes are left to the end of the test.
    const std::size_t most = drive(all, 20'000, before, [&](peer& p, std::size_t n) {
        const ssize_t read = ::recv(p.c.fd(), buffer.get(), std::min<std::size_t>(n, 64 * 1024), MSG_DONTWAIT);
        return moved_by(read, p.left);
    });
    report("downloads", all, most);
}

} // namespace
} // namespace fastserve::test
