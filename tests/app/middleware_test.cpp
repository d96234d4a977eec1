// Middleware: in which order it runs, for which routes, and what becomes of errors.
#include "traced.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

std::string prefixed(std::string_view prefix, std::string_view path) {
    return std::string(prefix).append(path);
}

// ---- order

TEST_F(Middleware, RunsFromTheOutsideInwardsAndHooksBack) {
    app.use(before('a')).use(hook('1'));
    route_group g = app.group("/g").use(before('b')).use(hook('2')).use(before('c'));
    add_all_kinds(g);
    add_all_kinds(g.group("/co").use(around('(', ')')).use(before('d')).use(hook('3')));
    add_all_kinds(app.group("/hooked"));
    for (const std::string_view kind : all_kinds) {
        reply r = ask(prefixed("/g", kind));
        EXPECT_EQ(trace, "abc-21") << kind;
        EXPECT_EQ(r.status, 200) << kind;
        EXPECT_EQ(r.body, "x") << kind;
        r = ask(prefixed("/g/co", kind));
        EXPECT_EQ(trace, "abc(d-)321") << kind;
        EXPECT_EQ(r.status, 200) << kind;
        EXPECT_EQ(r.body, "x") << kind;
        EXPECT_EQ(ask(prefixed("/hooked", kind)).body, "x");
        EXPECT_EQ(trace, "a-1") << kind;
    }
    EXPECT_EQ(log.size(), 0U);
}

TEST_F(Middleware, HooksAloneLeaveHandlersAsTheyAre) {
    app.use(hook('1'));
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) {
        EXPECT_EQ(ask(kind).body, "x") << kind;
        EXPECT_EQ(trace, "-1") << kind;
    }
}

TEST_F(Middleware, IsForRoutesThatAreRegisteredLater) {
    const auto handler = [this] {
        trace += '-';
        return "";
    };
    app.get("/early", handler);
    route_group g = app.group("/g");
    g.get("/early", handler);
    app.use(before('a'));
    app.get("/late", handler);
    g.get("/late", handler); // the group is older than what is used around it, and the route is not
    g.use(before('b'));
    g.get("/later", handler);
    app.group("/g").get("/other", handler);
    app.group("").use(before('c')).get("/special", handler);
    app.get("/latest", handler);
    for (const auto& [path, ran] : std::initializer_list<std::pair<const char*, const char*>>{{"/early", "-"},
                                                                                              {"/g/early", "-"},
                                                                                              {"/late", "a-"},
                                                                                              {"/g/late", "a-"},
                                                                                              {"/g/later", "ab-"},
                                                                                              {"/g/other", "a-"},
                                                                                              {"/special", "ac-"},
                                                                                              {"/latest", "a-"}}) {
        EXPECT_EQ(ask(path).status, 200) << path;
        EXPECT_EQ(trace, ran) << path;
    }
}

verdict by_function(request& q, response& a) {
    a.set("X-Function", q.path());
    return go_on;
}

struct by_object {
    verdict operator()(request&, response& a) {
        a.set("X-Object", *text);
        return go_on;
    }
    std::unique_ptr<std::string> text;
};

TEST_F(Middleware, MayBeAnythingThatCanBeCalled) {
    app.use(by_function);
    app.use(by_object{std::make_unique<std::string>("moved")});
    app.use(std::function<void(request&, response&)>(before('f')));
    app.use([](auto& q, auto& a) { a.set("X-Generic", q.target()); });
    app.use(after([p = std::make_unique<int>(7)](const request& q, response& a) {
        a.set("X-After", std::to_string(*p) + std::string(q.path()));
    }));
    app.get("/x", [] { return ""; });
    const reply r = ask("/x?y");
    EXPECT_EQ(r.field("X-Function"), "/x");
    EXPECT_EQ(r.field("X-Object"), "moved");
    EXPECT_EQ(r.field("X-Generic"), "/x?y");
    EXPECT_EQ(r.field("X-After"), "7/x");
    EXPECT_EQ(trace, "f");
}

// ---- answering at once

verdict guard(request& q, response& a) {
    if (q.field("X-Key")) return go_on;
    a.status(401).set("X-By", "guard");
    a.text("who?");
    return answered;
}

TEST_F(Middleware, WhoAnswersEndsIt) {
    app.use(before('a')).use(hook('1')).use(guard).use(hook('2')).use(before('b'));
    add_all_kinds(app);
    add_all_kinds(app.group("/co").use(around('(', ')')));
    add_all_kinds(app.group("/around").use(around('(', ')')).use([](request& q, response& a) {
        if (!q.field("X-Closed")) return go_on;
        a.status(403);
        return answered;
    }));
    for (const std::string prefix : {"", "/co"}) {
        for (const std::string_view kind : all_kinds) {
            reply r = ask(prefix + std::string(kind));
            EXPECT_EQ(r.status, 401) << prefix << kind;
            EXPECT_EQ(r.body, "who?") << prefix << kind;
            EXPECT_EQ(r.field("X-By"), "guard") << prefix << kind;
            EXPECT_EQ(trace, "a21") << prefix << kind;
            r = ask(prefix + std::string(kind), "X-Key: 1\r\n");
            EXPECT_EQ(r.status, 200) << prefix << kind;
            EXPECT_EQ(trace, prefix.empty() ? "ab-21" : "ab(-)21") << prefix << kind;
        }
    }
    for (const std::string_view kind : all_kinds) {
        EXPECT_EQ(ask(prefixed("/around", kind), "X-Key: 1\r\nX-Closed: 1\r\n").status, 403) << kind;
        EXPECT_EQ(trace, "ab()21") << kind;
    }
}

TEST_F(Middleware, ACoroutineNeedNotAwaitTheRest) {
    app.use([this](request& q, response& a, next rest) -> awaitable<> {
        co_await sleep_for(5ms); // a session is looked up
        trace += 'a';
        if (q.field("X-Key")) {
            co_await rest();
            a.set("X-Session", "good");
        } else {
            a.problem(401, "no session");
        }
    });
    app.use(hook('1'));
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) {
        reply r = ask(kind);
        EXPECT_EQ(r.status, 401) << kind;
        EXPECT_EQ(r.field("Content-Type"), "application/problem+json") << kind;
        EXPECT_EQ(trace, "a1") << kind;
        r = ask(kind, "X-Key: 1\r\n");
        EXPECT_EQ(r.body, "x") << kind;
        EXPECT_EQ(r.field("X-Session"), "good") << kind;
        EXPECT_EQ(trace, "a-1") << kind;
    }
}

TEST_F(Middleware, RefusesTheBodyOfAStreamedRouteUnsent) {
    app.use(guard);
    app.post("/up",
             [](request& q, response& a) -> awaitable<> {
                 std::string all;
                 for (;;) {
                     const auto piece = co_await q.read();
                     if (!piece || piece->empty()) break;
                     all += piece->bytes;
                 }
                 a.text(all);
             },
             {.body = body::streamed});
    const reply r = ask("/up", "Content-Length: 5\r\nExpect: 100-continue\r\n", "POST");
    EXPECT_EQ(r.status, 401);
    EXPECT_TRUE(r.interim.empty());
    client c(app);
    EXPECT_EQ(c.send(request_line("POST", "/up", "X-Key: 1\r\n", "12345")).body, "12345");
}

// ---- what no route answers

TEST_F(Middleware, OfTheRouterSeesWhatNoRouteAnswers) {
    route_group g = app.group("/g").use(before('g'));
    g.get("/y", [] { return "y"; });
    app.get("/x", [] { return "x"; });
    app.use(before('a')).use(hook('1'));
    for (const char* path : {"/none", "/g/none"}) {
        const reply r = ask(path);
        EXPECT_EQ(r.status, 404);
        EXPECT_EQ(r.body, "Not Found\n");
        EXPECT_EQ(r.field("Content-Type"), "text/plain; charset=utf-8");
        EXPECT_EQ(trace, "a1");
    }
    for (const char* path : {"/x", "/g/y"}) {
        reply r = ask(path, "", "POST");
        EXPECT_EQ(r.status, 405);
        EXPECT_EQ(r.body, "Method Not Allowed\n");
        EXPECT_EQ(r.field("Allow"), "GET, HEAD, OPTIONS");
        EXPECT_EQ(trace, "a1");
        r = ask(path, "", "OPTIONS");
        EXPECT_EQ(r.status, 204);
        EXPECT_EQ(r.body, "");
        EXPECT_EQ(r.field("Allow"), "GET, HEAD, OPTIONS");
        EXPECT_EQ(trace, "a1");
    }
    EXPECT_EQ(ask("/x").body, "x");
    EXPECT_EQ(trace, "") << "that route is older";
    EXPECT_EQ(ask("*", "", "OPTIONS").status, 204);
    EXPECT_EQ(trace, "");
    EXPECT_EQ(ask("/%00").status, 400);
    EXPECT_EQ(trace, "");
    EXPECT_EQ(ask("/none", "", "TRACE").status, 405);
    EXPECT_EQ(trace, "");
}

TEST_F(Middleware, OfAGroupDoesNot) {
    app.group("/g").use(before('g')).get("/y", [] { return "y"; });
    EXPECT_EQ(ask("/g/none").status, 404);
    EXPECT_EQ(trace, "");
    EXPECT_EQ(ask("/g/y", "", "OPTIONS").status, 204);
    EXPECT_EQ(trace, "");
}

TEST_F(Middleware, StandsInFrontOfNotFound) {
    app.not_found([this](request& q, response& a) {
        trace += '-';
        a.text(q.route_name());
    });
    app.use(before('a')).use(around('(', ')')).use(hook('1'));
    const reply r = ask("/none");
    EXPECT_EQ(r.status, 404);
    EXPECT_EQ(r.body, "not_found");
    EXPECT_EQ(trace, "a(-)1");
}

TEST_F(Middleware, LeavesItsFieldsToTheWordsOfOnError) {
    app.on_error([this](const error_info& why, response& a) {
        trace += 'e';
        EXPECT_EQ(why.route_name, "");
        ASSERT_NE(why.request, nullptr);
        if (why.request->path() == "/broken") throw std::runtime_error("no words");
        a.set("Allow", "nothing");
        a.html("<p>" + std::string(why.request->path()));
    });
    app.get("/x", [] { return "x"; }).get("/broken", [] { return ""; });
    app.use([](request&, response& a) { a.set("X-Before", "1"); });
    app.use([](request& q, response& a, next rest) -> awaitable<> {
        co_await rest();
        a.set("X-Around", q.path());
    });
    app.use(hook('1'));
    for (const auto& [path, method, status, allow] :
         {std::tuple("/none", "GET", 404, "nothing"), std::tuple("/x", "POST", 405, "GET, HEAD, OPTIONS")}) {
        const reply r = ask(path, "", method);
        EXPECT_EQ(r.status, status) << path;
        EXPECT_EQ(r.body, "<p>" + std::string(path)) << path;
        EXPECT_EQ(r.field("Content-Type"), "text/html; charset=utf-8") << path;
        EXPECT_EQ(r.field("Allow"), allow) << path;
        EXPECT_EQ(r.field("X-Before"), "1") << path;
        EXPECT_EQ(r.field("X-Around"), path) << path;
        EXPECT_EQ(trace, "e1") << path;
    }
    const reply r = ask("/broken", "", "POST");
    EXPECT_EQ(r.status, 405);
    EXPECT_EQ(r.body, "Method Not Allowed\n");
    EXPECT_EQ(r.field("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask("/x", "", "OPTIONS").status, 204);
    EXPECT_EQ(trace, "1");
}

TEST_F(Middleware, AnswersPreflights) {
    app.use([](request& q, response& a) {
        if (q.method() != http::verb::options || !q.field("Access-Control-Request-Method")) return go_on;
        a.set("Access-Control-Allow-Methods", "GET, PUT"); // the status is 204 already
        return answered;
    });
    app.use(after([](response& a) { a.set("Access-Control-Allow-Origin", "https://example.org"); }));
    app.get("/x", [] { return "x"; }).get("/broken", []() -> std::string { throw std::runtime_error("broke"); });
    reply r = ask("/x", "Access-Control-Request-Method: PUT\r\n", "OPTIONS");
    EXPECT_EQ(r.status, 204);
    EXPECT_EQ(r.field("Access-Control-Allow-Methods"), "GET, PUT");
    EXPECT_EQ(r.field("Access-Control-Allow-Origin"), "https://example.org");
    for (const auto& [path, status] : {std::pair("/x", 200), std::pair("/broken", 500), std::pair("/none", 404)}) {
        r = ask(path);
        EXPECT_EQ(r.status, status);
        EXPECT_EQ(r.field("Access-Control-Allow-Origin"), "https://example.org") << path;
    }
}

// ---- errors

TEST_F(Middleware, AnExceptionIsA500ThatHooksSee) {
    app.use([](request& q, response& a) {
        a.set("X-Left", "over");
        if (q.field("X-Break") == "before") throw std::runtime_error("before broke");
    });
    app.use(after([](response& a) { a.set("X-After", std::to_string(a.status())); }));
    const auto add = [this](route_group to) {
        add_all_kinds(to);
        to.get("/bad/plain", []() -> std::string { throw std::runtime_error("plain broke"); });
        to.get("/bad/at_once", []() -> awaitable<std::string> {
            throw std::runtime_error("at_once broke");
            co_return "";
        });
        to.get("/bad/slow", [](request&, response& a) -> awaitable<> {
            a.text("half");
            co_await sleep_for(1ms);
            throw std::runtime_error("slow broke");
        });
        to.get("/bad/blocking", blocking([]() -> std::string { throw std::runtime_error("blocking broke"); }));
    };
    add(app.group("/of"));
    add(app.group("/co").use([](request& q, response&, next rest) -> awaitable<> {
        if (q.field("X-Break") == "around") throw std::runtime_error("around broke");
        co_await rest();
        if (q.field("X-Break") == "late") throw std::runtime_error("late broke");
    }));
    const auto expect_broken = [this](const std::string& path, std::string_view what, std::string_view fields) {
        log.clear();
        const reply r = ask(path, fields);
        EXPECT_EQ(r.status, 500) << path << what;
        EXPECT_EQ(r.body, "Internal Server Error\n") << path << what;
        EXPECT_EQ(r.field("X-Left"), "") << path << what;
        EXPECT_EQ(r.field("X-After"), "500") << path << what;
        EXPECT_EQ(log.size(), 1U) << path << what;
        EXPECT_EQ(logged("handler of " + path + " failed: " + std::string(what) + " broke"), 1U) << path << what;
    };
    for (const std::string prefix : {"/of", "/co"}) {
        for (const std::string_view kind : all_kinds) {
            expect_broken(prefix + std::string(kind), "before", "X-Break: before\r\n");
            expect_broken(prefix + "/bad" + std::string(kind), kind.substr(1), "");
            const reply r = ask(prefix + std::string(kind));
            EXPECT_EQ(r.status, 200) << prefix << kind;
            EXPECT_EQ(r.field("X-Left"), "over") << prefix << kind;
            EXPECT_EQ(r.field("X-After"), "200") << prefix << kind;
        }
    }
    for (const std::string_view kind : all_kinds) {
        expect_broken(prefixed("/co", kind), "around", "X-Break: around\r\n");
        expect_broken(prefixed("/co", kind), "late", "X-Break: late\r\n");
    }
}

struct not_allowed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

TEST_F(Middleware, ACoroutineMayCatchWhatTheHandlerThrows) {
    app.use([](request&, response& a, next rest) -> awaitable<> {
        std::string why;
        try {
            co_await rest();
        } catch (const not_allowed& e) {
            why = e.what();
        }
        if (!why.empty()) a.problem(403, why);
    });
    app.get("/plain", []() -> std::string { throw not_allowed("plain"); });
    app.get("/slow", []() -> awaitable<std::string> {
        co_await sleep_for(1ms);
        throw not_allowed("slow");
    });
    app.get("/blocking", blocking([]() -> std::string { throw not_allowed("blocking"); }));
    for (const char* path : {"/plain", "/slow", "/blocking"}) {
        const reply r = ask(path);
        EXPECT_EQ(r.status, 403) << path;
        EXPECT_NE(r.body.find(path + 1), std::string::npos) << r.body;
    }
    EXPECT_EQ(log.size(), 0U);
}

TEST_F(Middleware, AHookThatThrowsIsNotAskedAgain) {
    app.use(hook('1'));
    app.use(after([this](response& a) {
        trace += '2';
        a.set("X-After", "2");
        throw std::runtime_error("hook broke");
    }));
    app.use(hook('3'));
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) {
        log.clear();
        const reply r = ask(kind);
        EXPECT_EQ(r.status, 500) << kind;
        EXPECT_EQ(r.body, "Internal Server Error\n") << kind;
        EXPECT_EQ(r.field("X-After"), "") << kind;
        EXPECT_EQ(trace, "-32") << kind;
        EXPECT_EQ(logged("hook broke"), 1U) << kind;
    }
}

TEST_F(Middleware, TheRestRunsOnce) {
    app.use([](request&, response&, next rest) -> awaitable<> {
        co_await rest();
        co_await rest();
    });
    add_all_kinds(app);
    for (const std::string_view kind : all_kinds) {
        EXPECT_EQ(ask(kind).status, 500) << kind;
        EXPECT_EQ(trace, "-") << kind;
    }
    EXPECT_EQ(logged("twice"), std::size(all_kinds));
}

TEST_F(Middleware, IsFixedOnceTheServerRuns) {
    route_group g = app.group("/g");
    app.get("/", [] { return "root"; });
    client c(app);
    EXPECT_THROW(app.use(before('a')), std::logic_error);
    EXPECT_THROW(g.use(hook('1')), std::logic_error);
    EXPECT_EQ(c.get("/").body, "root");
    EXPECT_EQ(trace, "");
}

} // namespace
} // namespace fastserve::test
