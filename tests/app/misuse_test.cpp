// Using a request or a response after its handler has ended, which a debug build reports with the route's name.
#include "site.hpp"

#include <fastserve/pool/detail/poison.hpp>

#ifndef NDEBUG

#include <atomic>
#include <cstdio>

namespace fastserve::test {
namespace {

// Where AddressSanitizer is on it may be faster: the pool tells it what has been given back.
std::string says(const char* words) {
    return pool::detail::has_asan ? std::string(words) + "|use-after-poison" : words;
}

struct Misuse : testing::Test {
    Misuse() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    // Serves `path` once, then calls `late` with what the handler has kept.
    template <class F>
    static void serve_then(const char* path, F late) {
        std::atomic<request*> asked{nullptr};
        std::atomic<response*> answer{nullptr};
        server app({.workers = 1, .log = [](const log_record& r) {
                        std::fprintf(stderr, "%.*s\n", static_cast<int>(r.message.size()), r.message.data());
                    }});
        const auto keep = [&](request& q, response& a) {
            asked = &q;
            answer = &a;
            a.text(q.path());
        };
        app.get("/plain/{x}", keep);
        app.get("/co", [keep](request& q, response& a) -> awaitable<> {
            co_await sleep_for(std::chrono::milliseconds(1));
            keep(q, a);
        });
        app.get("/blocking", blocking(keep), {.name = "the blocking one"});
        app.get("/later", [&asked](request& q, response& a) {
            a.defer().complete([&](response&) {
                asked = &q;
                (void)q.path(); // the request's end is the handler's, not the answer's
            });
        });
        const auto at = app.listen("127.0.0.1:0");
        if (!at || app.start()) return;
        client c(at->port());
        if (c.get(path).body != path) return;
        late(*asked.load(), *answer.load());
    }
};

TEST_F(Misuse, OfARequestNamesItsRoute) {
    EXPECT_DEATH(serve_then("/plain/1", [](request& q, response&) { (void)q.path(); }),
                 says("request used after the handler of /plain/\\{x\\} had ended"));
    EXPECT_DEATH(serve_then("/co", [](request& q, response&) { (void)q.param("x"); }),
                 says("request used after the handler of /co had ended"));
    EXPECT_DEATH(serve_then("/blocking", [](request& q, response&) { (void)q.field("Host"); }),
                 says("request used after the handler of the blocking one had ended"));
    EXPECT_DEATH(serve_then("/later", [](request&, response&) {}),
                 says("request used after the handler of /later had ended"));
}

TEST_F(Misuse, OfAResponseNamesItsRoute) {
    EXPECT_DEATH(serve_then("/plain/1", [](request&, response& a) { a.text("late"); }),
                 says("response used after the handler of /plain/\\{x\\} had ended"));
    EXPECT_DEATH(serve_then("/co", [](request&, response& a) { a.status(500); }),
                 says("response used after the handler of /co had ended"));
    EXPECT_DEATH(serve_then("/blocking", [](request&, response& a) { a.set("X", "y"); }),
                 says("response used after the handler of the blocking one had ended"));
}

} // namespace
} // namespace fastserve::test

#endif
