// Routes in groups: their prefix, the options they share, and what a group may outlive.
#include "request_line.hpp"

#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

// The message of what f() throws.
template <class F>
std::string refusal(F f) {
    try {
        f();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return {};
}

bool names(const std::string& message, std::string_view what) {
    return message.find('"' + std::string(what) + '"') != std::string::npos;
}

std::string nothing() {
    return {};
}

TEST(Group, PutsItsPrefixBeforeItsRoutes) {
    server app({.workers = 1});
    app.get("/", [] { return "root"; });
    route_group api = app.group("/api");
    api.get("/users", [] { return "users"; }).post("/users", [] { return "posted"; });
    api.get("/users/{id}", [](request& q, response& a) { a.text(q.param("id")); });
    api.get("", [] { return "the prefix"; });
    api.get("/", [] { return "with a slash"; });
    api.put("/all", [] { return "put"; }).patch("/all", [] { return "patched"; });
    api.del("/all", [] { return "deleted"; }).on(http::verb::purge, "/all", [] { return "purged"; });
    api.any("/any/{rest...}", [](request& q, response& a) { a.text(q.param("rest")); });
    client c(app);
    EXPECT_EQ(c.get("/").body, "root");
    EXPECT_EQ(c.get("/api/users").body, "users");
    EXPECT_EQ(c.get("/api/users/42").body, "42");
    EXPECT_EQ(c.get("/api").body, "the prefix");
    EXPECT_EQ(c.get("/api/").body, "with a slash");
    EXPECT_EQ(c.send(request_line("POST", "/api/users")).body, "posted");
    for (const auto& [method, body] : std::initializer_list<std::pair<const char*, const char*>>{
             {"PUT", "put"}, {"PATCH", "patched"}, {"DELETE", "deleted"}, {"PURGE", "purged"}})
        EXPECT_EQ(c.send(request_line(method, "/api/all")).body, body);
    EXPECT_EQ(c.send(request_line("DELETE", "/api/any/a/b")).body, "a/b");
    EXPECT_EQ(c.get("/users").status, 404);
    EXPECT_EQ(c.get("/api/api/users").status, 404);
}

TEST(Group, NestsAndMayHoldParameters) {
    server app({.workers = 1});
    app.group("/users/{user}").group("/posts").get("/{post}", [](request& q, response& a) {
        a.text(std::string(q.param("user")) + ":" + std::string(q.param("post")) + " " + std::string(q.route_name()));
    });
    app.group("").group("/v1").group("").get("/x", [] { return "x"; });
    client c(app);
    EXPECT_EQ(c.get("/users/ann%20b/posts/7").body, "ann b:7 /users/{user}/posts/{post}");
    EXPECT_EQ(c.get("/v1/x").body, "x");
}

// A group is a key: copies are as good, and none needs to be kept.
TEST(Group, IsKeptCopiedAndThrownAway) {
    server app({.workers = 1});
    std::optional<route_group> first = app.group("/a");
    const auto add = [](route_group to, std::string body) { to.get("/added", [body] { return body; }); };
    route_group inner = first->group("/b").get("/chained", [] { return "chained"; });
    add(*first, "by value");
    first.reset();
    route_group copy = inner;
    route_group moved = std::move(copy);
    copy.get("/still", [] { return "still"; }); // NOLINT(bugprone-use-after-move)
    add(moved, "below");
    inner = app.group("/c");
    inner.get("/assigned", [] { return "assigned"; });
    client c(app);
    EXPECT_EQ(c.get("/a/added").body, "by value");
    EXPECT_EQ(c.get("/a/b/added").body, "below");
    EXPECT_EQ(c.get("/a/b/chained").body, "chained");
    EXPECT_EQ(c.get("/a/b/still").body, "still");
    EXPECT_EQ(c.get("/c/assigned").body, "assigned");
}

TEST(Group, OutlivesItsServerAndThrows) {
    const auto captured = std::make_shared<int>(1);
    auto app = std::make_unique<server>(options{.workers = 1});
    route_group g = app->group("/a");
    g.get("/x", [captured] { return std::to_string(*captured); });
    EXPECT_EQ(captured.use_count(), 2);
    app.reset();
    EXPECT_EQ(captured.use_count(), 1) << "handlers go with their server, whoever has a key";
    EXPECT_THROW(g.get("/y", nothing), std::logic_error);
    EXPECT_THROW((void)g.group("/b"), std::logic_error);
}

TEST(Group, IsFixedOnceTheServerRuns) {
    server app({.workers = 1});
    route_group g = app.group("/a");
    const client c(app);
    EXPECT_THROW(g.get("/late", nothing), std::logic_error);
    EXPECT_THROW((void)g.group("/late"), std::logic_error);
    EXPECT_THROW((void)app.group("/late"), std::logic_error);
}

TEST(Group, ConflictsNameWholePatterns) {
    server app;
    app.get("/api/users/{id}", nothing);
    route_group users = app.group("/api").group("/users");
    std::string why = refusal([&] { users.get("/{name}", nothing); });
    EXPECT_TRUE(names(why, "/api/users/{name}") && names(why, "/api/users/{id}")) << why;
    EXPECT_EQ(refusal([&] { users.post("/{name}", nothing); }), "");
    why = refusal([&] { app.group("/api/users/{other}").post("", nothing); });
    EXPECT_TRUE(names(why, "/api/users/{other}") && names(why, "/api/users/{name}")) << why;
    why = refusal([&] { app.group("/{a}").get("/b/{a}", nothing); });
    EXPECT_TRUE(names(why, "/{a}/b/{a}")) << why;
    why = refusal([&] { app.group("/s", {.body = body::streamed}).get("/plain", nothing); });
    EXPECT_NE(why.find("/s/plain: a streamed body needs"), std::string::npos) << why;
}

TEST(Group, MalformedPrefixesAndPatternsAreRefused) {
    server app;
    route_group g = app.group("/a/{x}");
    for (const char* bad : {"/", "a", "/b/", "/{", "/{}", "/{x}", "/{rest...}", "/b{c}", "/b?c", "/%zz"})
        EXPECT_TRUE(names(refusal([&] { (void)g.group(bad); }), bad)) << bad;
    EXPECT_TRUE(names(refusal([&] { (void)g.group("b"); }), "/a/{x}")) << "and tell where";
    EXPECT_EQ(refusal([&] { (void)g.group("/b/{y}"); }), "");
    const std::string why = refusal([&] { g.get("users", nothing); });
    EXPECT_TRUE(names(why, "users") && names(why, "/a/{x}")) << why;
    EXPECT_NE(refusal([&] { app.group("").get("", nothing); }), "") << "that is no path";
}

TEST(Group, NamesAreJoined) {
    server app({.workers = 1});
    const auto tell = [](request& q, response& a) { a.text(q.route_name()); };
    route_group api = app.group("/api", {.name = std::string("api")});
    api.get("/named", tell, {.name = "users"}).get("/pattern", tell);
    api.group("/nested", {.name = "v1"}).get("/named", tell, {.name = "users"});
    api.group("/nameless").get("/named", tell, {.name = "users"});
    app.group("/plain").get("/named", tell, {.name = "users"});
    client c(app);
    EXPECT_EQ(c.get("/api/named").body, "api.users");
    EXPECT_EQ(c.get("/api/pattern").body, "/api/pattern");
    EXPECT_EQ(c.get("/api/nested/named").body, "api.v1.users");
    EXPECT_EQ(c.get("/api/nameless/named").body, "api.users");
    EXPECT_EQ(c.get("/plain/named").body, "users");
}

// ---- options: a route's own, else its group's, else those of the group around it, else the server's

TEST(Group, BoundsTheBodiesOfItsRoutes) {
    server app({.workers = 1, .limits = {.body_bytes = 100}});
    const auto size = [](request& q, response& a) { a.text(std::to_string(q.body().size())); };
    app.post("/server", size);
    route_group small = app.group("/small", {.max_body = 10});
    small.post("/group", size).post("/own", size, {.max_body = 20}).post("/none", size, {.max_body = 0});
    small.group("/in", {.deadline = 1s}).post("/outer", size);
    small.group("/in", {.max_body = 200}).post("/inner", size);
    const std::pair<const char*, std::size_t> most[] = {{"/server", 100},        {"/small/group", 10},
                                                        {"/small/own", 20},      {"/small/none", 0},
                                                        {"/small/in/outer", 10}, {"/small/in/inner", 200}};
    for (const auto& [path, bytes] : most) {
        client c(app);
        const std::string fits(bytes, 'x');
        EXPECT_EQ(c.send(request_line("POST", path, "", fits)).body, std::to_string(bytes)) << path;
        EXPECT_EQ(c.send(request_line("POST", path, "", fits + 'x')).status, 413) << path;
    }
}

TEST(Group, SetsTheDeadlineOfItsRoutes) {
    server app({.workers = 1, .limits = {.handler_timeout = 2s}});
    const auto sleeper = [](request&, response& a) -> awaitable<> {
        co_await sleep_for(10s);
        a.text("slept");
    };
    route_group slow = app.group("/slow", {.deadline = 20s});
    slow.get("/group", sleeper).get("/own", sleeper, {.deadline = 3s}).get("/none", sleeper, {.deadline = 0s});
    slow.group("/in", {.max_body = 1}).get("/outer", sleeper);
    app.get("/server", sleeper);
    for (const auto& [path, status] : std::initializer_list<std::pair<const char*, int>>{{"/slow/group", 200},
                                                                                         {"/slow/own", 503},
                                                                                         {"/slow/none", 200},
                                                                                         {"/slow/in/outer", 200},
                                                                                         {"/server", 503}}) {
        client c(app);
        EXPECT_EQ(c.get(path).status, status) << path;
    }
}

// Each route has the group's number for itself.
TEST(Group, BoundsTheRequestsInFlightOfEachRoute) {
    std::vector<responder> held;
    server app({.workers = 1});
    const auto hold = [&held](request&, response& a) { held.push_back(a.defer()); };
    route_group few = app.group("/few", {.max_in_flight = 1});
    few.get("/a", hold).get("/b", hold).get("/own", hold, {.max_in_flight = 2}).get("/any", hold, {.max_in_flight = 0});
    const auto taken = [&](const char* path, std::size_t of) {
        const std::size_t before = held.size();
        std::vector<std::unique_ptr<client>> all;
        for (std::size_t i = 0; i < of; ++i) {
            all.push_back(std::make_unique<client>(app));
            all.back()->write(request_line("GET", path));
        }
        const std::size_t served = held.size() - before;
        for (std::size_t i = served; i < of; ++i) EXPECT_EQ(all[i]->read().status, 503) << path;
        return served;
    };
    EXPECT_EQ(taken("/few/a", 3), 1U);
    EXPECT_EQ(taken("/few/b", 3), 1U);
    EXPECT_EQ(taken("/few/own", 3), 2U);
    EXPECT_EQ(taken("/few/any", 3), 3U);
}

TEST(Group, StreamsTheBodiesOfItsRoutes) {
    server app({.workers = 1});
    route_group in = app.group("/in", {.body = body::streamed});
    in.post("/streamed", [](request& q, response& a) -> awaitable<> {
        std::size_t size = 0;
        for (;;) {
            const auto piece = co_await q.read();
            if (!piece || piece->empty()) break;
            size += piece->bytes.size();
        }
        a.text("streamed " + std::to_string(size) + " " + std::to_string(q.body().size()));
    });
    in.post("/whole", [](request& q, response& a) { a.text("whole " + std::string(q.body())); }, {.body = body::whole});
    client c(app);
    EXPECT_EQ(c.send(request_line("POST", "/in/streamed", "", "12345")).body, "streamed 5 0");
    EXPECT_EQ(c.send(request_line("POST", "/in/whole", "", "12345")).body, "whole 12345");
}

} // namespace
} // namespace fastserve::test
