// Every limit on both sides of where it lies, over the public API: those of a server, as configured and by default, and
// those of a route. A row of the table of limits that has no probe here fails the test. Deadlines are exact to the
// millisecond in tests/http/machine_time_test.cpp; here, as workers look at their clocks, to half a second.
#include <fastserve/fastserve.hpp>
#include <fastserve/net/acceptor.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t looks_every = 500; // ms: how late a worker may be

milliseconds ms(std::uint64_t n) {
    return milliseconds(static_cast<std::int64_t>(n));
}

// A server with handlers for all probes; `o` is for /route.
struct house {
    explicit house(const limits& l, const route_options& o = {}) : app({.workers = 1, .limits = l}) {
        app.get("/{any...}", [this] {
            ++served;
            return "x";
        });
        app.post("/", [](request& q, response& a) { a.text(std::to_string(q.body().size())); });
        app.post(
            "/route", [](request& q, response& a) { a.text(std::to_string(q.body().size())); }, o);
        app.post("/form", [](request& q, response& a) {
            const auto form = q.form();
            a.status(form ? 200 : status_of(form.error()));
        });
        app.get("/bytes", [this](request& q, response& a) {
            ++served;
            a.text(std::string(q.query<std::size_t>("n").value(), 'x'));
        });
        for (const char* path : {"/sleep", "/route/sleep"})
            app.get(
                path,
                [](request& q, response& a) -> awaitable<> {
                    const auto time = q.query<std::uint64_t>("ms").value();
                    co_await sleep_for(ms(time));
                    a.text("slept");
                },
                path[1] == 'r' ? o : route_options{});
        for (const char* path : {"/defer", "/route/defer"})
            app.get(
                path, [this](request&, response& a) { held.push_back(a.defer()); },
                path[1] == 'r' ? o : route_options{});
    }

    std::size_t served = 0;
    std::vector<responder> held;
    server app;
};

constexpr std::string_view host = "Host: x\r\n";

std::string get(std::string_view target) {
    return "GET " + std::string(target) + " HTTP/1.1\r\n" + std::string(host) + "\r\n";
}

// Whether the answer is 200 and not `refusal`, which is all else that it may be.
bool good(const reply& r, int refusal) {
    EXPECT_TRUE(r.status == 200 || r.status == refusal) << r.status << " and not " << refusal;
    return r.status == 200;
}

bool asked(const limits& l, const std::string& wire, int refusal) {
    house h(l);
    client c(h.app);
    return good(c.send(wire), refusal);
}

bool posted(const limits& l, std::string_view path, std::uint64_t size, const route_options& o = {}) {
    const std::string body(size, 'b'), post = "POST " + std::string(path) + " HTTP/1.1\r\n" + std::string(host);
    house h(l, o);
    client by_length(h.app), by_chunks(h.app);
    const bool fits = good(by_length.send(post + "Content-Length: " + std::to_string(size) + "\r\n\r\n" + body), 413);
    std::string chunks;
    for (std::size_t at = 0; at < size; at += 1000) {
        char digits[16];
        const std::size_t piece = std::min<std::size_t>(1000, size - at);
        const char* const end = std::to_chars(digits, digits + sizeof digits, piece, 16).ptr;
        chunks.append(std::string_view(digits, static_cast<std::size_t>(end - digits)))
            .append("\r\n")
            .append(body, at, piece)
            .append("\r\n");
    }
    EXPECT_EQ(good(by_chunks.send(post + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n"), 413), fits);
    return fits;
}

bool chunked(const limits& l, const std::string& body, int refusal) {
    return asked(l, "POST / HTTP/1.1\r\n" + std::string(host) + "Transfer-Encoding: chunked\r\n\r\n" + body, refusal);
}

// ---- the probes: whether a server with these limits takes so much

bool head_bytes(const limits& l, std::uint64_t n) {
    const std::string before = "GET / HTTP/1.1\r\n" + std::string(host) + "X: ", after = "\r\n\r\n";
    return asked(l, before + std::string(n - before.size() - after.size(), 'v') + after, 431);
}

bool head_fields(const limits& l, std::uint64_t n) {
    std::string wire = "GET / HTTP/1.1\r\n" + std::string(host);
    for (std::uint64_t i = 1; i < n; ++i) wire += "A: 1\r\n";
    return asked(l, wire + "\r\n", 431);
}

bool target_bytes(const limits& l, std::uint64_t n) {
    return asked(l, get("/" + std::string(n - 1, 'a')), 414);
}

bool body_bytes(const limits& l, std::uint64_t n) {
    return posted(l, "/", n);
}

bool chunk_line_bytes(const limits& l, std::uint64_t n) {
    return chunked(l, "1;" + std::string(n - 2, 'a') + "\r\nx\r\n0\r\n\r\n", 400);
}

bool chunk_overhead_bytes(const limits& l, std::uint64_t n) {
    std::string body;
    while (n != 0) {
        const std::uint64_t piece = n <= 200 ? n : n == 201 ? 199 : 200; // ";" alone is no extension
        body += "1;" + std::string(piece - 1, 'a') + "\r\nx\r\n";
        n -= piece;
    }
    return chunked(l, body + "0\r\n\r\n", 413);
}

bool trailer_bytes(const limits& l, std::uint64_t n) {
    const std::string name = "A: ", after = "\r\n\r\n";
    return chunked(l, "0\r\n" + name + std::string(n - name.size() - after.size(), 'v') + after, 431);
}

bool trailer_fields(const limits& l, std::uint64_t n) {
    std::string body = "0\r\n";
    for (std::uint64_t i = 0; i < n; ++i) body += "A: 1\r\n";
    return chunked(l, body + "\r\n", 431);
}

bool form_pairs(const limits& l, std::uint64_t n) {
    std::string body;
    for (std::uint64_t i = 0; i < n; ++i) body += "a=1&";
    return asked(l,
                 "POST /form HTTP/1.1\r\n" + std::string(host) +
                     "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body,
                 413);
}

// The peer does not read: what a turn answers is all that is answered.
bool turn_requests(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app, {.window = 4096});
    c.pause();
    std::string wire;
    for (std::uint64_t i = 0; i < n; ++i) wire += get("/");
    EXPECT_LE(wire.size(), 4096U);
    c.write(wire);
    EXPECT_LE(h.served, n);
    return h.served == n;
}

// The peer does not read: behind an answer of so many bytes nothing is taken up.
bool output_bytes(const limits& l, std::uint64_t n) {
    house h(l);
    client asks(h.app), c(h.app, {.window = 4096});
    const std::size_t head = asks.get("/bytes?n=9000").raw.size() - 9000; // as long for each of four digits
    c.pause();
    h.served = 0;
    c.write(get("/bytes?n=" + std::to_string(n - head)) + get("/"));
    EXPECT_GE(h.served, 1U);
    return h.served == 2;
}

bool connections(const limits& l, std::uint64_t n) {
    net::gate door(l);
    bool all = true;
    for (std::uint64_t peer = 1; peer <= n; ++peer) {
        EXPECT_TRUE(all) << "one too many is the last that is tried";
        all = door.enter(peer);
    }
    if (!all) {
        door.leave(n, false);
        EXPECT_FALSE(door.enter(n)) << "who was refused has left no place";
        door.leave(1, true);
        EXPECT_TRUE(door.enter(n));
    }
    return all;
}

bool connections_per_peer(const limits& l, std::uint64_t n) {
    net::gate door(l);
    bool all = true;
    for (std::uint64_t i = 0; i < n; ++i) {
        EXPECT_TRUE(all);
        all = door.enter(7);
    }
    EXPECT_TRUE(door.enter(8)) << "another peer";
    if (!all) {
        door.leave(7, true);
        EXPECT_TRUE(door.enter(7));
    }
    return all;
}

bool requests_per_connection(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    for (std::uint64_t i = 1; i < n; ++i) EXPECT_EQ(c.get("/").status, 200) << i;
    return c.get("/").status == 200;
}

bool held_at_once(const limits& l, std::string_view path, std::uint64_t n, const route_options& o = {}) {
    house h(l, o);
    std::vector<std::unique_ptr<client>> all;
    for (std::uint64_t i = 0; i < n; ++i) {
        all.push_back(std::make_unique<client>(h.app));
        all.back()->write(get(path));
    }
    const auto last = all.back()->try_read();
    EXPECT_EQ(last ? last->status : 503, 503);
    EXPECT_EQ(h.held.size(), last ? n - 1 : n);
    for (responder& r : h.held) EXPECT_TRUE(r.complete([](response& a) { a.text("late"); }));
    for (std::uint64_t i = 0; i < h.held.size(); ++i) EXPECT_EQ(all[i]->read().body, "late");
    h.held.clear();
    return !last;
}

bool suspended_exchanges(const limits& l, std::uint64_t n) {
    return held_at_once(l, "/defer", n);
}

bool connection_age(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    c.advance(ms(n));
    const reply r = c.get("/");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.closed, r.field("Connection") == "close");
    return !r.closed;
}

bool head_timeout(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    c.write("G");
    c.advance(ms(n));
    return good(c.send(get("/").substr(1)), 408);
}

bool body_grace(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    c.write("POST / HTTP/1.1\r\n" + std::string(host) + "Content-Length: 1\r\n\r\n");
    c.advance(ms(n));
    if (const auto early = c.try_read()) return good(*early, 408);
    c.write("x");
    return good(c.read(), 408);
}

// So many bytes every second, until whoever sends one too few has used up the grace.
bool body_rate(limits l, std::uint64_t n) {
    const std::uint64_t seconds = static_cast<std::uint64_t>(l.body_grace / 1s) * l.body_rate + 10;
    l.body_bytes = n * seconds;
    house h(l);
    client c(h.app);
    c.write("POST / HTTP/1.1\r\n" + std::string(host) + "Content-Length: " + std::to_string(n * seconds) + "\r\n\r\n");
    const std::string piece(n, 'x');
    for (std::uint64_t i = 0; i < seconds; ++i) {
        c.advance(1s);
        if (const auto early = c.try_read()) return good(*early, 408);
        c.write(piece);
    }
    return good(c.read(), 408);
}

bool write_stall(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    c.pause();
    c.write(get("/bytes?n=300000"));
    c.advance(ms(n));
    return h.app.snapshot().connections == 1;
}

bool idle_timeout(const limits& l, std::uint64_t n) {
    house h(l);
    client c(h.app);
    EXPECT_EQ(c.get("/").status, 200);
    c.advance(ms(n));
    return c.get("/").status == 200;
}

bool handler_timeout(const limits& l, std::uint64_t n) {
    return asked(l, get("/sleep?ms=" + std::to_string(n)), 503);
}

// ---- the table

enum class kind : std::uint8_t {
    most,     // as much as the limit says, and no more
    reached,  // what reaches the limit is too much
    least,    // as little as the limit says, and no less
    deadline, // what takes longer; the worker looks twice a second
};

struct row {
    std::string_view name;
    std::uint64_t configured;
    std::uint64_t by_default;
    kind of;
    bool (*takes)(limits, std::uint64_t);
    bool default_tried = true;
};

template <bool (*Probe)(const limits&, std::uint64_t)>
bool with(limits l, std::uint64_t n) {
    return Probe(l, n);
}

constexpr row rows[] = {
    {"head-bytes", 300, 16 * 1024, kind::most, with<head_bytes>},
    {"head-fields", 7, 100, kind::most, with<head_fields>},
    {"target-bytes", 50, 8 * 1024, kind::most, with<target_bytes>},
    {"body-bytes", 5000, 4 * 1024 * 1024, kind::most, with<body_bytes>},
    {"chunk-line-bytes", 20, 256, kind::most, with<chunk_line_bytes>},
    {"chunk-overhead-bytes", 450, 16 * 1024, kind::most, with<chunk_overhead_bytes>},
    {"trailer-bytes", 60, 4 * 1024, kind::most, with<trailer_bytes>},
    {"trailer-fields", 3, 32, kind::most, with<trailer_fields>},
    {"form-pairs", 5, 1000, kind::most, with<form_pairs>},
    {"turn-requests", 60, 128, kind::most, with<turn_requests>},
    // The default is what a turn of a worker gathers in any case.
    {"output-bytes", 9900, 128 * 1024, kind::reached, with<output_bytes>, false},
    {"max-connections", 5, 65'536, kind::most, with<connections>},
    {"connections-per-peer", 3, 0, kind::most, with<connections_per_peer>},
    {"requests-per-connection", 4, 0, kind::most, with<requests_per_connection>},
    // The default takes more memory than a test may have; nothing else depends on the number.
    {"suspended-exchanges", 3, 65'536, kind::most, with<suspended_exchanges>, false},
    {"connection-age", 20'000, 0, kind::reached, with<connection_age>},
    {"head-timeout", 2'000, 10'000, kind::deadline, with<head_timeout>},
    {"body-grace", 3'000, 5'000, kind::deadline, with<body_grace>},
    {"body-rate", 10, 1024, kind::least, body_rate},
    {"write-stall", 7'000, 30'000, kind::deadline, with<write_stall>},
    {"idle-timeout", 4'000, 75'000, kind::deadline, with<idle_timeout>},
    {"handler-timeout", 6'000, 0, kind::deadline, with<handler_timeout>},
};

const row* find(std::string_view name) {
    const auto* const found =
        std::find_if(std::begin(rows), std::end(rows), [&](const row& r) { return r.name == name; });
    return found == std::end(rows) ? nullptr : found;
}

void expect_boundary(const row& r, const limits& l, std::uint64_t at) {
    const std::string what = std::string(r.name) + " of " + std::to_string(at);
    EXPECT_EQ(r.takes(l, at - 1), r.of != kind::least) << what << ", one below";
    if (r.of == kind::deadline) {
        EXPECT_FALSE(r.takes(l, at + looks_every)) << what << ", after it";
    } else {
        EXPECT_EQ(r.takes(l, at), r.of != kind::reached) << what << ", at it";
        EXPECT_EQ(r.takes(l, at + 1), r.of == kind::least) << what << ", one above";
    }
}

TEST(LimitTable, EachRowIsKeptAsConfigured) {
    for (const http::limit_row& of : http::limit_table) {
        const row* const r = find(of.name);
        ASSERT_NE(r, nullptr) << "no test tries the limits of " << of.name;
        limits l;
        of.set(l, r->configured);
        expect_boundary(*r, l, r->configured);
    }
    EXPECT_EQ(std::size(rows), std::size(http::limit_table));
}

TEST(LimitTable, EachRowIsKeptByDefault) {
    for (const http::limit_row& of : http::limit_table) {
        const row* const r = find(of.name);
        ASSERT_NE(r, nullptr) << of.name;
        EXPECT_EQ(of.get({}), r->by_default) << of.name;
        if (r->by_default != 0 && r->default_tried) expect_boundary(*r, {}, r->by_default);
    }
}

// Where zero means "no limit", far more than any other default is taken.
TEST(LimitTable, ZeroIsNoLimit) {
    const struct {
        std::string_view name;
        std::uint64_t amount;
    } unlimited[] = {{"connections-per-peer", 60'000},
                     {"requests-per-connection", 1'000},
                     {"connection-age", 86'400'000},
                     {"head-timeout", 86'400'000},
                     {"body-rate", 1},
                     {"write-stall", 86'400'000},
                     {"idle-timeout", 86'400'000},
                     {"handler-timeout", 3'000'000}};
    for (const auto& [name, amount] : unlimited) {
        limits l{.idle_timeout = 0ms};
        for (const http::limit_row& of : http::limit_table)
            if (of.name == name) of.set(l, 0);
        EXPECT_TRUE(find(name)->takes(l, amount)) << name;
    }
}

// ---- of a route

TEST(RouteLimits, MaxBody) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{1024}, std::size_t{5'000'000}}) {
        const limits l{.body_bytes = 2000}; // of the other routes: a route may take less, or more
        for (const std::size_t size : {most - 1, most, most + 1})
            EXPECT_EQ(posted(l, "/route", size, {.max_body = most}), size <= most) << size << " of " << most;
    }
    EXPECT_TRUE(posted({}, "/route", 0, {.max_body = 0}));
    EXPECT_FALSE(posted({}, "/route", 1, {.max_body = 0}));
    EXPECT_TRUE(posted({.body_bytes = 2000}, "/route", 2000));
    EXPECT_FALSE(posted({.body_bytes = 2000}, "/route", 2001)) << "without one it has the server's";
}

TEST(RouteLimits, Deadline) {
    const auto in_time = [](const limits& l, const route_options& o, std::uint64_t takes) {
        house h(l, o);
        client c(h.app);
        return good(c.get("/route/sleep?ms=" + std::to_string(takes)), 503);
    };
    const limits l{.handler_timeout = 3s};
    for (const std::uint64_t deadline : {1'000U, 3'000U, 60'000U}) {
        EXPECT_TRUE(in_time(l, {.deadline = ms(deadline)}, deadline - 1)) << deadline;
        EXPECT_FALSE(in_time(l, {.deadline = ms(deadline)}, deadline + looks_every)) << deadline;
    }
    EXPECT_TRUE(in_time(l, {.deadline = 0ms}, 600'000)) << "none";
    EXPECT_TRUE(in_time(l, {}, 2'999));
    EXPECT_FALSE(in_time(l, {}, 3'000 + looks_every)) << "the server's";
}

TEST(RouteLimits, MaxInFlight) {
    for (const unsigned most : {1U, 2U, 20U}) {
        for (const unsigned n : {most - 1, most, most + 1})
            EXPECT_EQ(n == 0 || held_at_once({}, "/route/defer", n, {.max_in_flight = most}), n <= most) << n;
    }
    EXPECT_TRUE(held_at_once({}, "/route/defer", 200)) << "any";
    // The server's stays above it.
    EXPECT_FALSE(held_at_once({.suspended_exchanges = 3}, "/route/defer", 4, {.max_in_flight = 10}));
}

} // namespace
} // namespace fastserve::test
