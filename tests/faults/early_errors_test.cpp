// An error that is answered before the request has ended is really read by a client that is still sending: no reset
// comes first, whether it reads while it sends or only afterwards, with 1 MiB still on its way.
#include "amount.hpp"
#include "house.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>

namespace fastserve::test {
namespace {

constexpr std::size_t still_to_come = 1024 * 1024;

struct early_error {
    const char* name;
    int status;
    std::string begin; // what calls for the error, but for what time does
    bool slow = false; // the error comes of its own accord, by a deadline; only then does the rest follow
    bool full = false; // at a server that has no room
};

std::vector<early_error> errors() {
    const std::string mib = std::to_string(still_to_come);
    const auto post = [](const std::string& path, const std::string& fields) {
        return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    };
    return {
        {"a bad field", 400, "GET /plain/1 HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"},
        {"a bad request line", 400, "GET  /plain/1 HTTP/1.1\r\n"},
        {"a bad chunk", 400, post("/echo/1", "Transfer-Encoding: chunked\r\n") + "5\r\nabcdexx"},
        {"no such path", 404, post("/nowhere", "Content-Length: " + mib + "\r\n")},
        {"not for this method", 405, post("/plain/1", "Content-Length: " + mib + "\r\n")},
        {"a head that does not end", 408, "GET /plain/1 HTTP/1.1\r\nHost: a\r\nX-A: ", true},
        {"a body that does not come", 408, post("/echo/1", "Content-Length: 2000000\r\n") + "abc", true},
        {"a long body", 413, post("/echo/1", "Content-Length: 100000000\r\n")},
        {"a long chunk", 413, post("/echo/1", "Transfer-Encoding: chunked\r\n") + "5F5E100\r\n"},
        {"a long target", 414, "GET /" + std::string(9000, 'a')},
        {"an unknown expectation", 417, post("/echo/1", "Expect: 200-ok\r\nContent-Length: " + mib + "\r\n")},
        {"a long head", 431, "GET /plain/1 HTTP/1.1\r\nHost: a\r\nX-A: " + std::string(20'000, 'a')},
        {"many fields", 431,
         "GET /plain/1 HTTP/1.1\r\nHost: a\r\n" +
             [] {
                 std::string lines;
                 for (int i = 0; i < 200; ++i) lines += "A: b\r\n";
                 return lines + "\r\n";
             }()},
        {"an unknown method", 501, "BREW /plain/1 HTTP/1.1\r\nHost: a\r\nContent-Length: " + mib + "\r\n\r\n"},
        {"no room", 503, post("/echo/1", "Content-Length: " + mib + "\r\n"), false, true},
    };
}

enum class reading { afterwards, meanwhile, in_small_steps };

// What went wrong; empty: the answer was read, and an orderly end behind it.
std::string try_error(std::uint16_t port, const early_error& e, reading mode) {
    client c(port);
    if (!c.connected()) return "cannot connect";
    if (!c.send(e.begin)) return "reset before anything was sent";
    if (e.slow) {
        pollfd p{c.fd(), POLLIN, 0};
        if (::poll(&p, 1, 10'000) != 1) return "the deadline does not come";
    }
    static const std::string rest(still_to_come, 'x');
    const std::size_t piece = mode == reading::afterwards  ? rest.size()
                              : mode == reading::meanwhile ? 64 * 1024
                                                           : 8 * 1024;
    for (std::size_t at = 0; at < rest.size(); at += piece) {
        if (!c.send(std::string_view(rest).substr(at, piece)))
            return "reset after " + std::to_string(at) + " bytes, having read " + std::to_string(c.unread().size());
        if (mode == reading::in_small_steps && at % (64 * 1024) == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        if (mode != reading::afterwards) c.poll();
    }
    const answer a = c.read();
    if (a.status != e.status)
        return "status " + std::to_string(a.status) + (c.was_reset() ? " and a reset" : "") + " after all was sent";
    if (a.field("Connection") != "close") return "it does not say close";
    if (a.status == 503 && a.field("Retry-After").empty()) return "no Retry-After";
    if (!c.read_end()) return c.was_reset() ? "reset after the answer" : "no end after the answer";
    return {};
}

TEST(EarlyErrors, AreReadByWhoIsStillSending) {
    tally t("early errors");
    const std::uint64_t wanted = amount(300);
    options o{.workers = 2};
    o.limits.head_timeout = o.limits.body_grace = std::chrono::milliseconds(200);
    o.limits.body_rate = 1 << 20;
    house h(o);
    h.start();
    options small{.workers = 2};
    small.limits.connections = 1;
    house full(small);
    full.start();
    client inside(full.ports[0]);
    ASSERT_EQ(inside.get("/plain/1").status, 200);

    const std::vector<early_error> all = errors();
    std::mutex mutex;
    const auto work = [&](std::uint64_t own_seed) {
        std::mt19937_64 random(own_seed);
        for (;;) {
            std::uint64_t number;
            {
                const std::lock_guard lock(mutex);
                if (t.tried == wanted) return;
                number = t.tried++;
            }
            const early_error& e = all[number % all.size()];
            const auto mode = static_cast<reading>(random() % 3);
            const std::string what = try_error(e.full ? full.ports[0] : h.ports[0], e, mode);
            if (what.empty()) continue;
            const std::lock_guard lock(mutex);
            t.fail(std::string(e.name) + ", reading mode " + std::to_string(static_cast<int>(mode)) + ": " + what);
        }
    };
    std::vector<std::thread> senders;
    for (std::uint64_t i = 0; i < 16; ++i) senders.emplace_back(work, t.seed + i);
    for (std::thread& s : senders) s.join();
    inside.close();
    for (house* one : {&h, &full})
        if (const std::string what = one->left_behind(); !what.empty()) t.fail(what);
}

} // namespace
} // namespace fastserve::test
