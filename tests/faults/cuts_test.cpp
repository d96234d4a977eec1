// A peer that resets, closes or half-closes at every byte of its request and of the answer. Whoever still reads gets
// what is due to it, and nothing of whoever left stays behind.
#include "amount.hpp"
#include "house.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fastserve::test {
namespace {

// What is sent on one connection, and what is due for it.
struct script {
    std::string name{};
    std::string bytes{};
    struct part {
        std::size_t end; // of the request in `bytes`
        std::string body;
        bool to_head = false;
        bool in_chunks = false;
    };
    std::vector<part> parts{};
    std::size_t answer = 0; // how many bytes come back

    script& add(std::string request, std::string body, bool to_head = false) {
        bytes += request;
        parts.push_back({bytes.size(), std::move(body), to_head});
        return *this;
    }
    script& add_in_chunks(std::string request, std::string body) {
        add(std::move(request), std::move(body));
        parts.back().in_chunks = true;
        return *this;
    }
};

std::string chunked(std::string_view path, std::string_view body) {
    return request_line("POST", path, "Transfer-Encoding: chunked\r\n") + "5;x=y\r\n" + std::string(body.substr(0, 5)) +
           "\r\n3\r\n" + std::string(body.substr(5)) + "\r\n0\r\nX-T: 1\r\n\r\n";
}

std::vector<script> scripts() {
    std::vector<script> all;
    for (const char* kind : {"plain", "at-once", "coroutine", "deferred", "blocking", "offload"}) {
        const std::string path = std::string("/") + kind + "/1";
        all.push_back(script{.name = kind}.add(request_line("GET", path), path));
    }
    const std::string body = large_body(100);
    all.push_back(script{.name = "length"}.add(request_line("POST", "/echo/1", "", body), body));
    all.push_back(script{.name = "chunked"}.add(chunked("/echo-later/1", "12345678"), "12345678"));
    all.push_back(
        script{.name = "continue"}.add(request_line("POST", "/echo-later/1", "Expect: 100-continue\r\n", body), body));
    all.push_back(script{.name = "pipeline"}
                      .add(request_line("GET", "/plain/a"), "/plain/a")
                      .add(request_line("HEAD", "/coroutine/b"), "/coroutine/b", true)
                      .add(chunked("/echo/c", "abcdefgh"), "abcdefgh")
                      .add(request_line("GET", "/deferred/d"), "/deferred/d"));
    all.push_back(script{.name = "large"}.add(request_line("GET", "/large/300000"), large_body(300'000)));
    all.push_back(script{.name = "upload"}.add(request_line("POST", "/echo-later/1", "", large_body(150'000)),
                                               large_body(150'000)));
    const std::string hundred = large_body(100), large = large_body(150'000);
    all.push_back(script{.name = "pieces"}.add_in_chunks(request_line("POST", "/pieces/1", "", hundred), hundred));
    all.push_back(script{.name = "pieces in chunks"}
                      .add_in_chunks(chunked("/pieces/1", "12345678"), "12345678")
                      .add(request_line("GET", "/plain/a"), "/plain/a"));
    all.push_back(script{.name = "pieces out"}.add_in_chunks(request_line("GET", "/pieces-out/150000"), large));
    all.push_back(script{.name = "pieces in"}.add(request_line("POST", "/pieces-in/1", "", large), large));
    all.push_back(script{.name = "pieces that wait"}.add(
        request_line("POST", "/pieces-in/1", "Expect: 100-continue\r\n", hundred), hundred));
    return all;
}

enum class how { reset, close, half_close };
constexpr const char* names[] = {"reset", "close", "half-close"};

struct cut {
    const script* of;
    how by;
    bool in_answer;
    std::size_t at;
};

// Every byte; of large ones, some.
std::vector<cut> all_cuts(const std::vector<script>& scripts, std::mt19937_64& random) {
    std::vector<cut> all;
    for (const script& s : scripts) {
        for (const how by : {how::reset, how::close, how::half_close})
            for (const bool in_answer : {false, true}) {
                const std::size_t bytes = in_answer ? s.answer : s.bytes.size();
                const std::size_t step = bytes < 2'000 ? 1 : bytes / 300;
                for (std::size_t at = 0; at <= bytes; at += step == 1 ? 1 : 1 + random() % (2 * step))
                    all.push_back({&s, by, in_answer, at});
            }
    }
    std::shuffle(all.begin(), all.end(), random);
    return all;
}

// At most `size` bytes, all of them unless the stream ends. False: not even an end came.
bool receive(const client& c, std::string& into, std::size_t size) {
    char part[16384];
    while (size != 0) {
        const ssize_t n = ::recv(c.fd(), part, std::min(size, sizeof part), 0);
        if (n < 0) return false;
        if (n == 0) return true;
        into.append(part, static_cast<std::size_t>(n));
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

// A request that was cut may have been answered as far as it came.
bool begins_answer(std::string_view got, const script::part& p) {
    const std::size_t head = got.find("\r\n\r\n");
    if (!p.in_chunks || !got.starts_with("HTTP/1.1 200 OK\r\n") || head == std::string_view::npos) return false;
    const in_chunks chunks(got.substr(head + 4));
    return !chunks.wrong && chunks.size == 0 && p.body.starts_with(chunks.body);
}

// What is wrong with all that came until the end, when the requests that were whole are due an answer.
std::string judge(std::string_view got, const script& s, std::size_t sent) {
    for (const script::part& p : s.parts) {
        if (p.end > sent) {
            if (begins_answer(got, p)) return {};
            break;
        }
        if (got.starts_with("HTTP/1.1 100")) got.remove_prefix(got.find("\r\n\r\n") + 4);
        const std::size_t head = got.find("\r\n\r\n");
        if (!got.starts_with("HTTP/1.1 200 OK\r\n") || head == std::string_view::npos)
            return "no answer to a whole request: " + std::string(got.substr(0, 100));
        if (p.in_chunks) {
            const in_chunks chunks(got.substr(head + 4));
            if (chunks.body != p.body || chunks.size == 0) return "another body in chunks";
            got.remove_prefix(head + 4 + chunks.size);
            continue;
        }
        const std::string length = "\r\nContent-Length: " + std::to_string(p.body.size()) + "\r\n";
        if (got.substr(0, head + 2).find(length) == std::string_view::npos) return "another length";
        got.remove_prefix(head + 4);
        if (p.to_head) continue;
        if (!got.starts_with(p.body)) return "another body";
        got.remove_prefix(p.body.size());
    }
    // Half a request is no request, and may have been told to go on.
    if (got.empty() || got == "HTTP/1.1 100 Continue\r\n\r\n") return {};
    return "bytes that nobody asked for: " + std::string(got.substr(0, 100));
}

// One connection. What went wrong; empty: nothing.
std::string try_cut(std::uint16_t port, const cut& c, std::mt19937_64& random) {
    client peer(port, random() % 4 == 0 ? 4096 : 0);
    if (!peer.connected()) return "cannot connect";
    const timeval patience{10, 0};
    ::setsockopt(peer.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::size_t sent = c.in_answer ? c.of->bytes.size() : c.at;
    if (!peer.send(std::string_view(c.of->bytes).substr(0, sent))) return "cannot send";
    std::string got;
    if (c.in_answer && (!receive(peer, got, c.at) || got.size() < c.at))
        return "the answer does not come: " + std::to_string(got.size()) + " bytes of it did";
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
    switch (c.by) {
    case how::reset: peer.reset(); return {};
    case how::close: peer.close(); return {};
    case how::half_close:
        peer.finish_sending();
        if (!receive(peer, got, got.max_size())) return "no end after " + std::to_string(got.size()) + " bytes";
        return judge(got, *c.of, sent);
    }
    return {};
}

TEST(Cuts, AtEveryByteOfRequestAndAnswer) {
    tally t("cuts");
    const std::uint64_t wanted = amount(3'000);
    std::vector<script> all = scripts();
    const std::size_t descriptors = open_descriptors();
    {
        house h;
        h.start();
        for (script& s : all) {
            client c(h.ports[0]);
            c.send(s.bytes);
            c.finish_sending();
            std::string came;
            ASSERT_TRUE(receive(c, came, came.max_size()));
            ASSERT_EQ(judge(came, s, s.bytes.size()), "");
            s.answer = came.size();
        }
        std::mt19937_64 random(t.seed);
        std::vector<cut> todo;
        std::mutex mutex;
        std::atomic<std::uint64_t> by[3]{};
        const auto work = [&](std::uint64_t own_seed) {
            std::mt19937_64 own(own_seed);
            for (;;) {
                cut c{};
                {
                    const std::lock_guard lock(mutex);
                    if (t.tried == wanted) return;
                    if (todo.empty()) todo = all_cuts(all, random);
                    c = todo.back();
                    todo.pop_back();
                    ++t.tried;
                }
                ++by[static_cast<int>(c.by)];
                const std::string what = try_cut(h.ports[0], c, own);
                if (what.empty()) continue;
                const std::lock_guard lock(mutex);
                t.fail(c.of->name + ", " + names[static_cast<int>(c.by)] + " at byte " + std::to_string(c.at) +
                       " of the " + (c.in_answer ? "answer" : "request") + ": " + what);
            }
        };
        std::vector<std::thread> peers;
        for (std::uint64_t i = 0; i < 6; ++i) peers.emplace_back(work, t.seed + i);
        for (std::thread& p : peers) p.join();
        if (const std::string what = h.left_behind(); !what.empty()) t.fail(what);
        if (client(h.ports[0]).get("/plain/last").body != "/plain/last") t.fail("it serves no more");
        if (const std::string what = h.stop(); !what.empty()) t.fail(what);
        // A worker that waits for a CPU is none of the peers' doing.
        if (h.log().size() != h.log().count("has been kept for")) t.fail("something was logged");
        t.more = ", resets " + std::to_string(by[0]) + ", closes " + std::to_string(by[1]) + ", half-closes " +
                 std::to_string(by[2]);
    }
    if (open_descriptors() != descriptors) t.fail("descriptors stayed open");
}

} // namespace
} // namespace fastserve::test
