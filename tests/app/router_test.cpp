// Which handler answers what, seen from outside. The rules of matching themselves are tested in route_tree_test.cpp.
#include "site.hpp"

#include <stdexcept>

namespace fastserve::test {
namespace {

TEST(Router, FindsLiteralsParametersAndTails) {
    site s;
    s.app.get("/", [] { return "root"; });
    s.app.get("/users", [] { return "users"; });
    s.app.get("/users/me", [] { return "me"; });
    s.app.get("/users/{id}", [](request& q, response& a) { a.text("user " + std::string(q.param("id"))); });
    s.app.get("/users/{id}/files/{path...}", [](request& q, response& a) {
        a.text(std::string(q.param("id")) + ":" + std::string(q.param("path")) + ":" + std::string(q.param("none")));
    });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/").body, "root");
    EXPECT_EQ(c.get("/users").body, "users");
    EXPECT_EQ(c.get("/users/me").body, "me");
    EXPECT_EQ(c.get("/users/42?x=/y").body, "user 42");
    EXPECT_EQ(c.get("/users/42/files/a/b.txt").body, "42:a/b.txt:");
    EXPECT_EQ(c.get("/users/42/files/").body, "42::");
    EXPECT_EQ(c.get("/users/42/files").status, 404);
    EXPECT_EQ(c.get("/users/").status, 404);
}

TEST(Router, AnswersForMethodsByItself) {
    site s;
    s.app.get("/thing", [] { return "thing"; });
    s.app.put("/thing", [] { return "put"; });
    s.app.patch("/other", [] { return "patched"; });
    s.app.del("/other", [] { return "deleted"; });
    s.app.post("/other", [] { return "posted"; });
    s.app.on(http::verb::purge, "/thing", [] { return "purged"; });
    s.start();
    client c = s.connect();

    c.send(request_line("HEAD", "/thing"));
    answer a = c.read(true);
    EXPECT_EQ(a.status, 200);
    EXPECT_EQ(a.field("Content-Length"), "5");

    c.send(request_line("DELETE", "/thing"));
    a = c.read();
    EXPECT_EQ(a.status, 405);
    EXPECT_EQ(a.field("Allow"), "GET, HEAD, PUT, OPTIONS, PURGE");

    c.send(request_line("OPTIONS", "/thing"));
    a = c.read();
    EXPECT_EQ(a.status, 204);
    EXPECT_EQ(a.field("Allow"), "GET, HEAD, PUT, OPTIONS, PURGE");

    c.send(request_line("OPTIONS", "*"));
    a = c.read();
    EXPECT_EQ(a.status, 204);
    EXPECT_NE(a.field("Allow").find("GET"), std::string::npos);

    c.send(request_line("OPTIONS", "http://localhost")); // the same, as a proxy is asked for it
    a = c.read();
    EXPECT_EQ(a.status, 204);
    EXPECT_NE(a.field("Allow").find("GET"), std::string::npos);

    for (const auto& [method, body] : {std::pair("PUT", "put"), std::pair("PURGE", "purged")}) {
        c.send(request_line(method, "/thing"));
        EXPECT_EQ(c.read().body, body);
    }
    for (const auto& [method, body] :
         {std::pair("PATCH", "patched"), std::pair("DELETE", "deleted"), std::pair("POST", "posted")}) {
        c.send(request_line(method, "/other"));
        EXPECT_EQ(c.read().body, body);
    }
    c.send(request_line("OPTIONS", "/nothing"));
    EXPECT_EQ(c.read().status, 404);
    c.send(request_line("TRACE", "/nothing"));
    EXPECT_EQ(c.read().status, 405);
    EXPECT_EQ(c.get("/thing").body, "thing") << "after all that the connection goes on";
}

// RFC 9110 7.4: what is meant for an encrypted connection is misdirected on a clear one.
TEST(Router, ATargetWithHttpsIsRefusedOnAClearConnection) {
    site s;
    s.app.get("/", [] { return "root"; });
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "https://localhost/"));
    EXPECT_EQ(c.read().status, 421);
    c.send(request_line("GET", "http://localhost/"));
    EXPECT_EQ(c.read().body, "root");
}

TEST(Router, AnyTakesWhatNobodyElseDoes) {
    site s;
    s.app.any("/a", [](request& q, response& a) { a.text("any " + std::string(http::to_string(q.method()))); });
    s.app.get("/a", [] { return "get"; });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/a").body, "get");
    c.send(request_line("DELETE", "/a"));
    EXPECT_EQ(c.read().body, "any DELETE");
    c.send(request_line("OPTIONS", "/a"));
    EXPECT_EQ(c.read().body, "any OPTIONS");
    c.send(request_line("TRACE", "/a"));
    const answer refused = c.read();
    EXPECT_EQ(refused.status, 405);
    EXPECT_EQ(refused.field("Allow").find("TRACE"), std::string::npos);
}

TEST(Router, NotFoundHasAHandler) {
    site s;
    s.app.get("/", [] { return "root"; });
    s.app.not_found([](request& q, response& a) { a.text("nothing at " + std::string(q.path())); });
    s.start();
    client c = s.connect();
    answer a = c.get("/x");
    EXPECT_EQ(a.status, 404);
    EXPECT_EQ(a.body, "nothing at /x");
    c.send(request_line("POST", "/"));
    EXPECT_EQ(c.read().status, 405) << "that is another fault";
    EXPECT_EQ(c.get("/").body, "root");
}

TEST(Router, NotFoundMaySetAnotherStatusAndMayWait) {
    site s;
    s.app.not_found([](request&, response& a) -> awaitable<> {
        co_await sleep_for(std::chrono::milliseconds(1));
        a.status(410).set("X-Reason", "moved away");
        a.text("gone");
    });
    s.start();
    const answer a = s.get("/x");
    EXPECT_EQ(a.status, 410);
    EXPECT_EQ(a.body, "gone");
    EXPECT_EQ(a.field("X-Reason"), "moved away");
}

TEST(Router, PathsArePercentDecoded) {
    site s;
    s.app.get("/users/me", [] { return "me"; });
    s.app.get("/a b/{x}", [](request& q, response& a) { a.text(q.param("x")); });
    s.app.get("/u/{x}",
              [](request& q, response& a) { a.text(std::string(q.param("x")) + "|" + std::string(q.path())); });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/users/%6d%65").body, "me");
    EXPECT_EQ(c.get("/a%20b/c%2fd").body, "c/d") << "an encoded slash splits no segment";
    EXPECT_EQ(c.get("/u/%c3%A4%20+").body, "\xc3\xa4 +|/u/%c3%A4%20+") << "the path is as it was sent";
    EXPECT_EQ(c.get("/u/100%25").body, "100%|/u/100%25");
    EXPECT_EQ(c.get("/u/%00").status, 400);
    EXPECT_EQ(c.get("/users/me").body, "me") << "the connection goes on";
    for (const char* bad : {"/u/%", "/u/%4", "/u/%zz", "/%"}) EXPECT_EQ(s.get(bad).status, 400) << bad;
}

TEST(Router, AHandlerSeesItsRoute) {
    site s;
    s.app.get("/a/{x}", [](request& q, response& a) { a.text(q.route_name()); });
    s.app.get("/b", [](request& q, response& a) { a.text(q.route_name()); }, {.name = std::string("the ") + "b"});
    s.start();
    EXPECT_EQ(s.get("/a/1").body, "/a/{x}");
    EXPECT_EQ(s.get("/b").body, "the b");
}

// The message of what f() throws.
template <class F>
std::string fault(F f) {
    try {
        f();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

TEST(Router, ConflictsNameBothRoutes) {
    server app;
    app.get("/users/{id}", [] { return ""; });
    const std::string why = fault([&] { app.get("/users/{name}", [] { return ""; }); });
    EXPECT_NE(why.find("/users/{id}"), std::string::npos) << why;
    EXPECT_NE(why.find("/users/{name}"), std::string::npos) << why;
    EXPECT_EQ(fault([&] { app.post("/users/{name}", [] { return ""; }); }), "") << "another method is no conflict";
    app.any("/any", [] { return ""; });
    EXPECT_NE(fault([&] { app.any("/any", [] { return ""; }); }), "");
}

TEST(Router, MalformedPatternsAreRefused) {
    server app;
    for (const char* bad : {"", "a", "/{", "/{}", "/{a}b", "/{a...}/b", "/a?b", "/%zz", "/{a}/{a}"})
        EXPECT_NE(fault([&] { app.get(bad, [] { return ""; }); }), "") << bad;
}

TEST(Router, RoutesAreFixedOnceTheServerRuns) {
    site s;
    s.app.get("/", [] { return "root"; });
    s.start();
    EXPECT_THROW(s.app.get("/late", [] { return ""; }), std::logic_error);
    EXPECT_THROW(s.app.not_found([] { return ""; }), std::logic_error);
    EXPECT_EQ(s.get("/late").status, 404);
}

TEST(RouteOptions, BoundTheBody) {
    site s;
    s.app.post("/small", [](request& q, response& a) { a.text(q.body()); }, {.max_body = 8});
    s.app.post("/none", [] { return "none"; }, {.max_body = 0});
    s.app.post("/usual", [](request& q, response& a) { a.text(std::to_string(q.body().size())); });
    s.start();
    EXPECT_EQ(s.send(request_line("POST", "/small", "", "12345678")).body, "12345678");
    EXPECT_EQ(s.send(request_line("POST", "/small", "", "123456789")).status, 413);
    EXPECT_EQ(s.send("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n4\r\n").status,
              413);
    EXPECT_EQ(s.send(request_line("POST", "/none", "", "1")).status, 413);
    EXPECT_EQ(s.send(request_line("POST", "/none")).body, "none");
    EXPECT_EQ(s.send(request_line("POST", "/usual", "", std::string(100'000, 'x'))).body, "100000");
}

TEST(RouteOptions, BoundTheRequestsInFlight) {
    shelf held;
    site s;
    s.app.get("/held", [&held](request&, response& a) { held.put(a.defer()); }, {.max_in_flight = 2});
    s.app.get("/free", [] { return "free"; });
    s.start();
    client one = s.connect(), two = s.connect(), three = s.connect();
    one.send(request_line("GET", "/held"));
    two.send(request_line("GET", "/held"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 2; }));
    const answer refused = three.get("/held");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.field("Retry-After"), "1");
    EXPECT_EQ(three.get("/free").body, "free");
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(held.take().complete([](response& a) { a.text("now"); }));
    EXPECT_EQ(one.read().body, "now");
    EXPECT_EQ(two.read().body, "now");
    three.send(request_line("GET", "/held"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 1; })) << "their places are free again";
    EXPECT_TRUE(held.take().complete([](response& a) { a.text("third"); }));
    EXPECT_EQ(three.read().body, "third");
}

TEST(Limits, BoundSuspendedHandlers) {
    options o{.workers = 1};
    o.limits.suspended_exchanges = 2;
    shelf held;
    site s(o);
    s.app.get("/deferred", [&held](request&, response& a) { held.put(a.defer()); });
    s.app.get("/coroutine", [](request&, response& a) -> awaitable<> {
        co_await sleep_for(std::chrono::milliseconds(1));
        a.text("slept");
    });
    s.app.get("/blocking", blocking([] { return "blocked"; }));
    s.app.get("/plain", [] { return "plain"; });
    s.start();
    client one = s.connect(), two = s.connect(), three = s.connect();
    EXPECT_EQ(three.get("/coroutine").body, "slept");
    EXPECT_EQ(three.get("/blocking").body, "blocked");
    one.send(request_line("GET", "/deferred"));
    two.send(request_line("GET", "/deferred"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 2; }));
    for (const char* path : {"/deferred", "/coroutine", "/blocking"}) {
        const answer a = three.get(path);
        EXPECT_EQ(a.status, 503) << path;
        EXPECT_EQ(a.field("Retry-After"), "1") << path;
    }
    EXPECT_EQ(three.get("/plain").body, "plain");
    EXPECT_EQ(s.log.size(), 0U) << "being busy is no fault of the handler";
    for (int i = 0; i < 2; ++i) held.take(); // and destroyed unanswered
    EXPECT_EQ(one.read().status, 500);
    EXPECT_EQ(two.read().status, 500);
    EXPECT_EQ(three.get("/coroutine").body, "slept");
}

} // namespace
} // namespace fastserve::test
