// A warm keep-alive request takes nothing from the heap. A binary of its own: it counts what malloc is asked for.
#include "../support/malloc_family.hpp"
#include "site.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace {

std::atomic<std::size_t> allocations{0};
thread_local bool counted = true; // what the test itself allocates is not

} // namespace

bool fastserve::test::may_allocate() noexcept {
    if (counted) allocations.fetch_add(1, std::memory_order_relaxed);
    return true;
}

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

constexpr int requests = 1000;

class Allocation : public testing::Test {
protected:
    void SetUp() override { counted = false; }
    void TearDown() override {
        s.app.stop();
        counted = true;
    }

    // What the server's threads allocate for 1,000 requests on a warm connection. Asio keeps blocks of any size for
    // reuse and lends a large one to whoever comes first, so that it may take more than one round until all that are
    // in use are large enough: the best of a few rounds counts.
    std::size_t for_requests(const std::string& bytes, std::string_view body) {
        client c = s.connect();
        std::size_t least = ~std::size_t{0};
        for (int round = 0; round < 5 && least != 0; ++round) {
            const std::size_t before = allocations.load(std::memory_order_relaxed);
            EXPECT_GT(before, 0U) << "the count counts";
            for (int i = 0; i < requests; ++i) {
                c.send(bytes);
                const answer a = c.read();
                EXPECT_EQ(a.status, 200);
                EXPECT_EQ(a.body, body);
                if (a.status != 200) return least;
            }
            if (round > 0) least = std::min(least, allocations.load(std::memory_order_relaxed) - before);
        }
        return least;
    }

    site s;
};

TEST(Counting, SeesTheWholeFamily) {
    std::size_t before = allocations.load(std::memory_order_relaxed);
    const auto grew = [&before] {
        const std::size_t now = allocations.load(std::memory_order_relaxed);
        return std::exchange(before, now) < now;
    };
    void* volatile p = std::malloc(10);
    EXPECT_TRUE(grew());
    p = std::realloc(p, 100'000);
    EXPECT_TRUE(grew());
    std::free(p);
    p = std::calloc(10, 10);
    EXPECT_TRUE(grew());
    std::free(p);
    p = std::aligned_alloc(64, 128);
    EXPECT_TRUE(grew());
    std::free(p);
    void* q = nullptr;
    EXPECT_EQ(::posix_memalign(&q, 64, 100), 0);
    EXPECT_TRUE(grew());
    std::free(q);
    const std::unique_ptr<int> i(new int);
    EXPECT_TRUE(grew());
    EXPECT_NE(i, nullptr);
}

TEST_F(Allocation, NoneForAPlainHandler) {
    s.app.get("/", [] { return "hello world"; });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/"), "hello world"), 0U);
}

TEST_F(Allocation, NoneForAPlainHandlerBehindMiddleware) {
    s.app.use([](request& q, response&) { return q.field("X-Key") ? go_on : answered; })
        .use([](request&, response& a) { a.set("X-Before", "1"); })
        .use(after([](response& a) { a.set("X-After", "2"); }));
    route_group g = s.app.group("/g").use([](request&, response&) { return go_on; });
    g.get("/response", [] { return "hello world"; });
    g.use(after([](const request& q, response& a) { a.set("X-Path", q.path()); }));
    g.get("/request", [] { return "hello world"; });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/g/response", "X-Key: k\r\n"), "hello world"), 0U);
    EXPECT_EQ(for_requests(request_line("GET", "/g/request", "X-Key: k\r\n"), "hello world"), 0U);
}

// Plain steps need no frames of their own.
TEST_F(Allocation, NoneForACoroutineBehindMiddleware) {
    s.app.use([](request&, response&) {}).use(after([](response& a) { a.set("X-After", "2"); }));
    s.app.get("/", [](request&, response& a) -> awaitable<> {
        a.text("at once");
        co_return;
    });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/"), "at once"), 0U);
}

TEST_F(Allocation, NoneForAParameterAndAField) {
    s.app.get("/users/{id}/{rest...}", [](request& q, response& a) {
        a.set("X-User", q.param("id")).set("Cache-Control", "no-store");
        a.text(q.param("rest"));
    });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/users/a%20b/c%2fd?x=y", "X-F: 1\r\n"), "c/d"), 0U);
}

TEST_F(Allocation, NoneForAnEchoedBody) {
    s.app.post("/echo/{name}", [](request& q, response& a) {
        a.set("Content-Type", q.field("Content-Type").value_or("text/plain"));
        a.text(q.body());
    });
    s.start();
    const std::string body(500, 'b');
    EXPECT_EQ(for_requests(request_line("POST", "/echo/x", "Content-Type: a/b\r\n", body), body), 0U);
}

TEST_F(Allocation, NoneForASmallForm) {
    s.app.post("/", [](request& q, response& a) {
        const auto form = q.form();
        const auto tags = q.queries("tag");
        std::size_t size = 0;
        for (const std::string_view tag : *tags) size += tag.size();
        a.text(size == 4 ? form->get("b").value() : "?");
    });
    s.start();
    const std::string sent =
        request_line("POST", "/?tag=a&tag=b+c", "Content-Type: application/x-www-form-urlencoded\r\n", "a=1&b=x+%41");
    EXPECT_EQ(for_requests(sent, "x A"), 0U);
}

TEST_F(Allocation, NoneForTrailersAndRepeatedFields) {
    s.app.post("/", [](request& q, response& a) {
        std::size_t size = 0;
        for (const std::string_view value : q.fields("X-List")) size += value.size();
        a.text(size == 3 ? q.trailer("X-Sum").value_or("none") : "?");
    });
    s.start();
    const std::string sent = request_line("POST", "/", "X-List: a\r\nX-List: bc\r\nTransfer-Encoding: chunked\r\n") +
                             "5\r\nhello\r\n0\r\nX-Sum: 17\r\n\r\n";
    EXPECT_EQ(for_requests(sent, "17"), 0U);
}

TEST_F(Allocation, NoneForACoroutineThatReturns) {
    s.app.get("/", [](request&, response& a) -> awaitable<> {
        a.text("at once");
        co_return;
    });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/"), "at once"), 0U);
}

TEST_F(Allocation, NoneForACoroutineThatSleeps) {
    s.app.get("/", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(1ms);
        a.text("slept");
    });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/"), "slept"), 0U);
}

TEST_F(Allocation, NoneForACoroutineThatAwaitsATimer) {
    s.app.get("/", [](request&, response& a) -> awaitable<> {
        boost::asio::steady_timer t(co_await boost::asio::this_coro::executor, 1ms);
        co_await t.async_wait(boost::asio::deferred);
        a.text("waited");
    });
    s.start();
    EXPECT_EQ(for_requests(request_line("GET", "/"), "waited"), 0U);
}

// read() and write() are coroutines of their own, of one frame each, and Asio keeps two frames a thread for reuse:
// those are the handler's and the one that started it.
TEST_F(Allocation, AtMostThreeForAnEchoInOnePiece) {
    s.app.post("/echo",
               [](request& q, response& a) -> awaitable<> {
                   for (;;) {
                       const auto piece = co_await q.read();
                       if (!piece || piece->empty()) co_return;
                       const error_code failed = co_await a.write(piece->bytes);
                       if (failed) co_return;
                   }
               },
               {.body = body::streamed});
    s.start();
    const std::string body(500, 'b');
    // A read that brings a piece, a write, and a read that brings the end and waits for nothing.
    EXPECT_LE(for_requests(request_line("POST", "/echo", "", body), body), 3U * requests);
}

} // namespace
} // namespace fastserve::test
