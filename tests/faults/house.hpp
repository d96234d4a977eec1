// A server with a route of every kind, and a look at what it must have given back when nobody is left.
#pragma once

#include "../app/site.hpp"

#include <fastserve/awaiting.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::test {

inline std::string large_body(std::size_t size) {
    std::string s(size, '\0');
    for (std::size_t i = 0; i < size; ++i) s[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
    return s;
}

inline std::size_t open_descriptors() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
}

// What the chunks at the beginning of `bytes` hold (RFC 9112 7.1).
struct in_chunks {
    std::string body;
    std::size_t size = 0; // of all, with the last chunk and its trailer; 0: it has not come to its end
    bool wrong = false;

    explicit in_chunks(std::string_view bytes) {
        for (std::size_t at = 0;;) {
            const std::size_t line = bytes.find("\r\n", at);
            if (line == bytes.npos) return;
            std::size_t length = 0;
            const auto r = std::from_chars(bytes.data() + at, bytes.data() + line, length, 16);
            wrong = r.ec != std::errc() || r.ptr != bytes.data() + line;
            at = line + 2;
            if (wrong) return;
            if (length == 0) {
                const std::size_t end = bytes.find("\r\n\r\n", line);
                if (end != bytes.npos) size = end + 4;
                return;
            }
            body += bytes.substr(at, length);
            wrong = bytes.size() >= at + length + 2 && bytes.substr(at + length, 2) != "\r\n";
            if (wrong || bytes.size() < at + length + 2) return;
            at += length + 2;
        }
    }
};

// A thread that answers what handlers deferred, a moment later.
class answerer {
public:
    static inline void (*begins)() = nullptr; // called on the thread, if it is set

    answerer() : thread_([this] { run(); }) {}
    ~answerer() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        more_.notify_one();
        thread_.join();
    }
    void put(responder r, std::string text) {
        const std::lock_guard lock(mutex_);
        waiting_.emplace_back(std::move(r), std::move(text));
        more_.notify_one();
    }

private:
    void run() {
        if (begins) begins();
        std::unique_lock lock(mutex_);
        for (;;) {
            more_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            auto now = std::exchange(waiting_, {});
            lock.unlock();
            for (auto& [r, text] : now) r.complete([t = std::move(text)](response& a) { a.text(t); });
            now.clear();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<std::pair<responder, std::string>> waiting_;
    bool ended_ = false;
    std::thread thread_;
};

// Routes, each of which answers with its own path unless it says otherwise:
//   /plain/{id}  /at-once/{id}  /coroutine/{id}  /deferred/{id}  /blocking/{id}  /offload/{id}
//   /echo/{id}      the body of the request, from a plain handler;  /echo-later/{id}: from a coroutine
//   /hooked/plain/{id}  /behind/blocking/{id}: the same behind middleware
//   /large/{size}   so many bytes
//   /pieces-in/{id} the body of the request, which is read in pieces;  /pieces-out/{size}: so many bytes, in pieces;
//   /pieces/{id}    each piece as it comes
struct house {
    // No deadline is met in a test that does not ask for one: what hangs is then seen to hang.
    static options patient(unsigned workers = 2) {
        options o{.workers = workers};
        o.limits.head_timeout = o.limits.body_grace = o.limits.idle_timeout = o.limits.write_stall =
            std::chrono::minutes(2);
        o.blocking_threads = 4;
        o.grace = std::chrono::seconds(5);
        return o;
    }

    explicit house(options o = patient()) : site_(std::move(o)) {
        using namespace std::chrono_literals;
        server& app = site_.app;
        app.get("/plain/{id}", [](request& q, response& a) { a.text(q.path()); });
        app.get("/at-once/{id}", [](request& q, response& a) -> awaitable<> {
            a.text(q.path());
            co_return;
        });
        app.get("/coroutine/{id}", [](request& q, response& a) -> awaitable<> {
            co_await sleep_for(1ms);
            a.text(q.path());
        });
        app.get("/deferred/{id}", [this](request& q, response& a) { answerer_.put(a.defer(), std::string(q.path())); });
        app.get("/blocking/{id}", blocking([](request& q, response& a) { a.text(q.path()); }));
        app.get("/offload/{id}", [](request& q, response& a) -> awaitable<> {
            std::string text;
            co_await offload([&] { text = q.path(); });
            a.text(text);
        });
        app.group("/hooked")
            .use([](request&, response& a) { a.set("X-Before", std::string(100, 'b')); })
            .use(after([](const request& q, response& a) { a.set("X-After", q.path()); }))
            .get("/plain/{id}", [](request& q, response& a) { a.text(q.path()); });
        app.group("/behind")
            .use([](request&, response& a, next rest) -> awaitable<> {
                co_await sleep_for(1ms);
                co_await rest();
                a.set("X-Around", "1");
            })
            .use(after([](const request& q, response& a) { a.set("X-After", q.path()); }))
            .get("/blocking/{id}", blocking([](request& q, response& a) { a.text(q.path()); }));
        app.post("/echo/{id}", [](request& q, response& a) { a.text(q.body()); });
        app.post("/echo-later/{id}", [](request& q, response& a) -> awaitable<> {
            co_await sleep_for(1ms);
            a.text(q.body());
        });
        app.get("/large/{size}", [](request& q, response& a) { a.text(large_body(*q.param<std::size_t>("size"))); });
        app.post("/pieces-in/{id}",
                 [](request& q, response& a) -> awaitable<> {
                     std::string all;
                     for (;;) {
                         const auto piece = co_await q.read();
                         if (!piece) co_return;
                         if (piece->empty()) break;
                         all += piece->bytes;
                     }
                     a.text(all);
                 },
                 {.body = body::streamed});
        app.get("/pieces-out/{size}", [](request& q, response& a) -> awaitable<> {
            // Of sizes that are copied and that are not; the last ones go with the handler.
            const std::string all = large_body(*q.param<std::size_t>("size"));
            std::string_view left = all;
            for (std::size_t most = 1; !left.empty(); most = most * 5 % 40'009) {
                if (co_await a.write(left.substr(0, most))) co_return;
                left.remove_prefix(std::min(left.size(), most));
            }
            a.trailer("X-Size", std::to_string(all.size()));
        });
        app.post("/pieces/{id}",
                 [](request& q, response& a) -> awaitable<> {
                     for (;;) {
                         const auto piece = co_await q.read();
                         if (!piece) co_return;
                         if (co_await a.write(piece->bytes)) co_return;
                         if (piece->empty()) co_return;
                     }
                 },
                 {.body = body::streamed});
    }

    // Further ports are further acceptors: while one backs off, the others go on.
    void start(std::size_t ports_in_all = 1) {
        site_.start();
        ports.push_back(site_.port);
        while (ports.size() < ports_in_all) ports.push_back(site_.app.listen("127.0.0.1:0")->port());
        buffers_at_rest_ = site_.app.snapshot().buffer_pool.in_use;
    }

    // Nobody is connected and no handler has anything left to do.
    bool settled() const {
        const stats s = site_.app.snapshot();
        return s.connections == 0 && s.connection_pool.in_use == 0 && site_.suspended() == 0 &&
               s.offload_running + s.offload_queued == 0 && s.exchange_pool.in_use <= site_.app.workers() &&
               s.buffer_pool.in_use == buffers_at_rest_;
    }
    // What is out of place after a while without clients; empty if nothing is.
    std::string left_behind() {
        const bool good = eventually([this] { return settled(); });
        const stats s = site_.app.snapshot();
        if (good) return {};
        return "connections " + std::to_string(s.connections) + ", their slots " +
               std::to_string(s.connection_pool.in_use) + ", suspended " + std::to_string(site_.suspended()) +
               ", exchanges " + std::to_string(s.exchange_pool.in_use) + ", buffers " +
               std::to_string(s.buffer_pool.in_use) + " of " + std::to_string(buffers_at_rest_) + " at rest";
    }
    // Ends it. What was not given back by then.
    std::string stop() {
        const drain_report r = site_.app.stop();
        const stats s = site_.app.snapshot();
        if (r.clean() && s.exchange_pool.in_use == 0 && s.connection_pool.in_use == 0) return {};
        return "at the end: cut " + std::to_string(r.connections_cut) + " and " + std::to_string(r.handlers_cut) +
               ", exchanges " + std::to_string(s.exchange_pool.in_use);
    }

    server& app() { return site_.app; }
    const log_book& log() const { return site_.log; }

    std::vector<std::uint16_t> ports;

private:
    answerer answerer_; // after the server, whose handlers use it
    site site_;
    std::uint64_t buffers_at_rest_ = 0;
};

} // namespace fastserve::test
