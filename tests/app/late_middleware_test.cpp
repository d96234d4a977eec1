// Middleware and answers that come late, in pieces, or never, and where it runs.
#include "traced.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

TEST_F(Middleware, HooksWaitForADeferredAnswer) {
    const auto defer = [this](request&, response& a) {
        trace += '-';
        held.push_back(a.defer());
    };
    app.use(before('a')).use(hook('1'));
    app.get("/plain", defer);
    app.group("").use(around('(', ')')).get("/co", defer);
    app.get("/slow", [this](request&, response& a) -> awaitable<> {
        held.push_back(a.defer());
        co_await sleep_for(10ms);
        trace += '-';
    });
    for (const auto& [path, ran] : {std::pair("/plain", "a-"), std::pair("/co", "a(-)"), std::pair("/slow", "a-")}) {
        trace.clear();
        client c(app);
        c.write(request_line("GET", path));
        c.advance(20ms);
        EXPECT_EQ(trace, ran) << path;
        ASSERT_EQ(held.size(), 1U);
        EXPECT_TRUE(held.back().complete([this](response& a) {
            trace += '!';
            a.text("later");
        }));
        held.clear();
        EXPECT_EQ(c.read().body, "later");
        EXPECT_EQ(trace, std::string(ran) + "!1") << path;

        trace.clear();
        c.write(request_line("GET", path));
        c.advance(20ms);
        held.clear(); // unanswered
        EXPECT_EQ(c.read().status, 500);
        EXPECT_EQ(trace, std::string(ran) + "1") << path;
    }
    // A coroutine goes on for longer than its answer needs.
    trace.clear();
    client c(app);
    c.write(request_line("GET", "/slow"));
    ASSERT_EQ(held.size(), 1U);
    EXPECT_TRUE(held.back().complete([this](response&) { trace += '!'; }));
    EXPECT_EQ(c.read().status, 200);
    EXPECT_EQ(trace, "a!-1");
}

TEST_F(Middleware, MayDeferItself) {
    app.use([this](request&, response& a) {
        trace += 'a';
        held.push_back(a.defer());
        return answered;
    });
    app.use(hook('1'));
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) {
        trace.clear();
        client c(app);
        c.write(request_line("GET", kind));
        ASSERT_EQ(held.size(), 1U) << kind;
        EXPECT_TRUE(held.back().complete([](response& a) { a.status(403).set("X-By", "a"); }));
        held.clear();
        EXPECT_EQ(c.read().status, 403) << kind;
        EXPECT_EQ(trace, "a1") << kind;
    }
}

// Plain handlers work on bytes that are gone when they have put off their answer: routes with such a hook keep them.
TEST_F(Middleware, HooksMayAskWhatWasAsked) {
    app.use(after([](const request& q, response& a) {
        a.set("X-Asked", std::string(q.path()) + "|" + std::string(q.field("X-Field").value_or("?")) + "|" +
                             std::string(q.body()) + "|" + std::string(q.param("n")));
    }));
    app.post("/later/{n}", [this](request&, response& a) { held.push_back(a.defer()); });
    app.post("/now/{n}", [](request&, response& a) { a.text("now"); });
    const std::string other = request_line("POST", "/now/overwrites", "X-Field: zzzzzzzz\r\n", "yyyyyyyyyyyyyyyy");
    client c(app), d(app);
    c.write(request_line("POST", "/later/7", "X-Field: of c\r\n", "the body"));
    EXPECT_EQ(d.send(other).field("X-Asked"), "/now/overwrites|zzzzzzzz|yyyyyyyyyyyyyyyy|overwrites");
    ASSERT_EQ(held.size(), 1U);
    EXPECT_TRUE(held.back().complete([](response& a) { a.text("later"); }));
    EXPECT_EQ(c.read().field("X-Asked"), "/later/7|of c|the body|7");
}

constexpr const char* piece_texts[] = {"one ", "two ", "three"};

TEST_F(Middleware, HooksComeBeforeTheHeadIsSent) {
    app.use(before('a')).use(after([this](const request& q, response& a) {
        trace += '1';
        if (q.field("X-Break")) throw std::runtime_error("hook broke");
        a.set("X-After", q.path());
    }));
    const auto pieces = [this](request&, response& a) -> awaitable<> {
        for (const char* piece : piece_texts) {
            trace += *piece;
            const error_code failed = co_await a.write(piece);
            if (failed) co_return;
        }
        a.trailer("X-Trailer", "there");
    };
    app.get("/pieces", pieces);
    app.group("").use(around('(', ')')).get("/co", pieces);
    reply r = ask("/pieces");
    EXPECT_EQ(r.body, "one two three");
    EXPECT_EQ(r.field("X-After"), "/pieces");
    EXPECT_EQ(trace, "ao1tt");
    r = ask("/co");
    EXPECT_EQ(r.body, "one two three");
    EXPECT_EQ(r.field("X-After"), "/co");
    EXPECT_EQ(trace, "a(o1tt)");
    r = ask("/pieces", "X-Break: 1\r\n");
    EXPECT_EQ(r.status, 500) << "nothing was sent yet";
}

TEST_F(Middleware, NoHookForWhoHasLeft) {
    app.use(before('a')).use(around('(', ')')).use(hook('1'));
    app.get("/", [this](request&, response&) -> awaitable<> {
        trace += '-';
        co_await sleep_for(1h);
        trace += '+';
    });
    {
        client c(app);
        c.write(request_line("GET", "/"));
        EXPECT_EQ(trace, "a(-");
        c.reset();
        c.run();
    }
    client c(app);
    c.advance(2h);
    EXPECT_EQ(trace, "a(-") << "it was cancelled";
    EXPECT_EQ(log.size(), 0U);
}

TEST_F(Middleware, MayNotDeferWhatIsComplete) {
    app.use(after([this](response& a) { held.push_back(a.defer()); }));
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) EXPECT_EQ(ask(kind).status, 500) << kind;
    EXPECT_EQ(logged("cannot be deferred"), std::size(all_kinds));
    EXPECT_TRUE(held.empty());
}

// ---- where it runs

TEST_F(Middleware, OnlyTheBlockingHandlerLeavesTheWorker) {
    std::optional<per_worker<int>> of;
    const auto number = [&of](const request& q) { return std::to_string((*of)(q)); };
    const auto add = [&](const char* prefix, auto before_it, auto after_it) {
        route_group g = app.group(prefix).use(before_it).use(after_it);
        g.get("/fine", blocking([] { return "x"; }));
        g.get("/per_worker", blocking([number](request& q, response& a) { a.text(number(q)); }));
        g.get("/defers", blocking([this](request&, response& a) { held.push_back(a.defer()); }));
    };
    const auto ahead = [number](request& q, response& a) { a.set("X-Before", number(q)); };
    const auto behind = after([number](const request& q, response& a) { a.set("X-After", number(q)); });
    const auto about = [number](request& q, response& a, next rest) -> awaitable<> {
        co_await rest();
        a.set("X-Before", number(q));
    };
    add("/hook", after([](response& a) { a.set("X-Before", "7"); }), behind);
    add("/plain", ahead, behind);
    add("/co", about, behind);
    client c(app);
    of.emplace(app, [](worker&) { return 7; });
    for (const std::string prefix : {"/hook", "/plain", "/co"}) {
        log.clear();
        reply r = c.get(prefix + "/fine");
        EXPECT_EQ(r.body, "x") << prefix;
        EXPECT_EQ(r.field("X-Before"), "7") << prefix;
        EXPECT_EQ(r.field("X-After"), "7") << prefix;
        r = c.get(prefix + "/per_worker");
        EXPECT_EQ(r.status, 500) << prefix;
        EXPECT_EQ(r.field("X-After"), "7") << prefix;
        EXPECT_EQ(c.get(prefix + "/defers").status, 500) << prefix;
        EXPECT_EQ(logged("per_worker is not for blocking handlers"), 1U) << prefix;
        EXPECT_EQ(logged("it cannot defer"), 1U) << prefix;
    }
}

TEST_F(Middleware, MayNotDeferAndLetABlockingHandlerRun) {
    app.use([this](request&, response& a) { held.push_back(a.defer()); });
    add_all_kinds(app);
    EXPECT_EQ(ask("/blocking").status, 500);
    EXPECT_EQ(trace, "");
    EXPECT_EQ(logged("has deferred the answer"), 1U);
    EXPECT_FALSE(held.back().complete([](response&) {}));
}

TEST_F(Middleware, LeavesPlainHandlersPlain) {
    std::vector<responder> kept;
    server small({.workers = 1, .limits = {.suspended_exchanges = 1}});
    small.use(before('a')).use(hook('1')).use(after([](const request&, response&) {}));
    add_all_kinds(small);
    small.get("/keep", [&kept](request&, response& a) { kept.push_back(a.defer()); });
    small.group("").use(around('(', ')')).get("/co", [] { return "x"; });
    client first(small), c(small);
    first.write(request_line("GET", "/keep"));
    ASSERT_EQ(kept.size(), 1U);
    trace.clear();
    EXPECT_EQ(c.get("/plain").body, "x");
    EXPECT_EQ(trace, "a-1");
    for (const char* path : {"/at_once", "/slow", "/blocking", "/co"}) {
        trace.clear();
        const reply r = c.get(path);
        EXPECT_EQ(r.status, 503) << path << ": no more handlers may wait";
        EXPECT_EQ(r.field("Retry-After"), "1") << path;
        EXPECT_EQ(trace, "1") << path << ": hooks see it";
    }
}

TEST_F(Middleware, HooksSeeThatTooManyAreInWork) {
    app.use(before('a')).use(hook('1'));
    app.get("/", [this](request&, response& a) { held.push_back(a.defer()); }, {.max_in_flight = 1});
    client one(app), two(app);
    one.write(request_line("GET", "/"));
    trace.clear();
    EXPECT_EQ(two.get("/").status, 503);
    EXPECT_EQ(trace, "1");
}

} // namespace
} // namespace fastserve::test
