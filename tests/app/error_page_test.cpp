// How router::on_error() words what fastserve answers by itself.
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {
namespace error_page_cases {
namespace {

using namespace std::chrono_literals;

std::string asking(std::string_view method, std::string_view target, std::string_view fields = "") {
    return std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

// A server whose errors say what they know.
struct house {
    explicit house(limits l = {})
        : app({.workers = 1, .limits = l, .log = [this](const log_record& r) { log.emplace_back(r.message); }}) {}

    void word_errors() {
        app.on_error([this](const error_info& e, response& a) {
            ++asked;
            a.set("X-Page", "ours");
            std::string why;
            try {
                if (e.thrown) std::rethrow_exception(e.thrown);
            } catch (const std::exception& x) {
                why = x.what();
            }
            a.html(std::to_string(e.status) + "|" + std::string(e.request ? e.request->target() : "?") + "|" +
                   std::string(e.route_name) + "|" + why);
        });
    }

    std::vector<std::string> log;
    std::vector<responder> held;
    int asked = 0;
    server app;
};

TEST(ErrorPages, WordWhatIsNoHandlersAnswer) {
    house h;
    h.app.get("/", [] { return "root"; });
    h.app.get("/plain/{x}", [](request&, response& a) {
        a.status(201).set("X-Left", "over");
        a.text("half");
        throw std::runtime_error("plain broke");
    });
    h.app.get("/co", [](request&, response& a) -> awaitable<> {
        a.text("half");
        co_await sleep_for(1ms);
        throw std::runtime_error("co broke");
    });
    h.app.get("/blocking", blocking([](request&, response&) { throw std::runtime_error("blocking broke"); }),
              {.name = "the blocking one"});
    h.word_errors();
    client c(h.app);
    const struct {
        std::string wire;
        int status;
        std::string_view page;
    } rows[] = {
        {asking("GET", "/none?a=b"), 404, "404|/none?a=b||"},
        {asking("OPTIONS", "/none"), 404, "404|/none||"},
        {asking("DELETE", "/"), 405, "405|/||"},
        {asking("TRACE", "/none"), 405, "405|/none||"},
        {asking("GET", "/%00"), 400, "400|/%00||"},
        {asking("GET", "https://x/"), 421, "421|https://x/||"},
        {asking("GET", "/plain/1"), 500, "500|/plain/1|/plain/{x}|plain broke"},
        {asking("GET", "/co"), 500, "500|/co|/co|co broke"},
        {asking("GET", "/blocking"), 500, "500|/blocking|the blocking one|blocking broke"},
    };
    for (const auto& row : rows) {
        const reply r = c.send(row.wire);
        EXPECT_EQ(r.status, row.status) << row.wire;
        EXPECT_EQ(r.body, row.page) << row.wire;
        EXPECT_EQ(r.field("Content-Type"), "text/html; charset=utf-8") << row.wire;
        EXPECT_EQ(r.field("X-Page"), "ours") << row.wire;
        EXPECT_EQ(r.field("X-Left"), "") << row.wire;
        EXPECT_EQ(c.get("/").body, "root") << row.wire << "the connection goes on, and nothing is left over";
    }
    EXPECT_EQ(c.send(asking("DELETE", "/")).field("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_NE(c.send(asking("TRACE", "/none")).field("Allow"), "");
    const reply head = c.send(asking("HEAD", "/none"));
    EXPECT_EQ(head.status, 404);
    EXPECT_EQ(head.field("Content-Length"), "11");
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(h.log.size(), 3U) << "one for each handler that threw";
}

TEST(ErrorPages, WordWhatCannotRunNowAndWhatNobodyAnswered) {
    house h;
    h.app.get("/plain", [&h](request&, response& a) { h.held.push_back(a.defer()); }, {.max_in_flight = 1});
    h.app.get("/co", [&h](request&, response& a) -> awaitable<> {
        h.held.push_back(a.defer());
        co_return;
    });
    h.word_errors();
    client one(h.app), two(h.app);
    one.write(asking("GET", "/plain"));
    ASSERT_EQ(h.held.size(), 1U);
    const reply busy = two.get("/plain");
    EXPECT_EQ(busy.status, 503);
    EXPECT_EQ(busy.field("Retry-After"), "1");
    EXPECT_EQ(busy.body, "503|/plain|/plain|");
    h.held.clear();
    reply lost = one.read();
    EXPECT_EQ(lost.status, 500);
    EXPECT_EQ(lost.body, "500|?|/plain|its responder was destroyed without an answer") << "its bytes have gone";
    one.write(asking("GET", "/co"));
    ASSERT_EQ(h.held.size(), 1U);
    h.held.clear();
    lost = one.read();
    EXPECT_EQ(lost.status, 500);
    EXPECT_EQ(lost.body, "500|/co|/co|its responder was destroyed without an answer");
    one.write(asking("GET", "/plain"));
    ASSERT_EQ(h.held.size(), 1U);
    EXPECT_TRUE(h.held[0].complete([](response& a) {
        a.text("half");
        throw std::runtime_error("late");
    }));
    EXPECT_EQ(one.read().body, "500|?|/plain|late");
}

// What is refused after the router has found a route, on its way to the handler or while that is waited for.
TEST(ErrorPages, WordWhatIsRefusedBelowTheRouter) {
    house h;
    h.app.get("/", [] { return "root"; });
    h.app.post("/small", [](request& q, response& a) { a.text(q.body()); }, {.max_body = 8});
    h.app.post("/usual", [](request& q, response& a) { a.text(q.body()); });
    h.app.post("/streamed",
               [](request& q, response& a) -> awaitable<> {
                   for (;;) {
                       const auto piece = co_await q.read();
                       if (!piece || piece->empty()) break;
                   }
                   a.text("read");
               },
               {.body = body::streamed, .max_body = 8});
    h.app.get("/late",
              [](request&, response& a) -> awaitable<> {
                  a.text("half");
                  co_await sleep_for(1h);
              },
              {.deadline = 2s});
    h.app.get("/held", [&h](request&, response& a) { h.held.push_back(a.defer()); }, {.deadline = 2s});
    h.word_errors();
    const std::string chunked = "Transfer-Encoding: chunked\r\n", chunk = "9\r\n123456789\r\n0\r\n\r\n";
    const struct {
        std::string head, body;
        int status;
        std::string_view page;
    } rows[] = {
        {asking("POST", "/small", "Content-Length: 9\r\n"), "123456789", 413, "413|/small|/small|"},
        {asking("POST", "/small", chunked), chunk, 413, "413|/small|/small|"},
        {asking("POST", "/small", "Content-Length: 9\r\nExpect: 100-continue\r\n"), "", 413, "413|/small|/small|"},
        {asking("POST", "/usual", "Content-Length: 9\r\n"), "1", 408, "408|/usual|/usual|"},
        {asking("POST", "/streamed", "Content-Length: 9\r\n"), "123456789", 413, "413|/streamed|/streamed|"},
        {asking("POST", "/streamed", chunked), "5\r\n12345\r\n4\r\n6789\r\n", 413, "413|?|/streamed|"},
        {asking("POST", "/streamed", "Content-Length: 8\r\n"), "1", 408, "408|?|/streamed|"},
        {asking("GET", "/late"), "", 503, "503|?|/late|"},
        {asking("GET", "/held"), "", 503, "503|?|/held|"},
    };
    for (const auto& row : rows) {
        for (const bool at_once : {true, false}) {
            client c(h.app);
            if (at_once) {
                c.write(row.head + row.body);
            } else {
                c.write(row.head);
                if (!c.closed()) c.write(row.body);
            }
            const reply r = c.read();
            // What comes at once is refused before the streaming handler begins.
            const bool early = at_once && row.page == "413|?|/streamed|";
            EXPECT_EQ(r.status, row.status) << row.head;
            EXPECT_EQ(r.body, early ? "413|/streamed|/streamed|" : row.page) << row.head;
            EXPECT_EQ(r.field("X-Page"), "ours") << row.head;
            EXPECT_EQ(r.field("Connection"), "close") << row.head;
            EXPECT_EQ(r.field("Retry-After"), row.status == 503 ? "1" : "") << row.head;
            client other(h.app);
            const reply root = other.get("/");
            EXPECT_EQ(root.body, "root") << row.head;
            EXPECT_EQ(root.field("X-Page"), "") << row.head << "nothing is left over";
        }
    }
    EXPECT_EQ(h.held.size(), 2U);
    for (responder& late : h.held) EXPECT_FALSE(late.complete([](response&) {}));
    client c(h.app);
    c.write(asking("HEAD", "/late"));
    const reply head = c.read(true);
    EXPECT_EQ(head.status, 503);
    EXPECT_EQ(head.field("Content-Length"), "12");
    EXPECT_TRUE(c.closed());
    EXPECT_EQ(h.log.size(), 0U);
}

TEST(ErrorPages, OfWhatIsRefusedBelowTheRouterMayBeLargeOrFail) {
    house h;
    const auto large = std::make_shared<const std::string>(1'000'000, 'x');
    const auto fitting = std::make_shared<const std::string>(100'000, 'x');
    h.app.get("/late", [](request&, response&) -> awaitable<> { co_await sleep_for(1h); }, {.deadline = 2s});
    h.app.post("/large", [] { return ""; }, {.max_body = 1});
    h.app.on_error([&](const error_info& e, response& a) {
        if (e.route_name == "/large") a.bytes(large, "text/x-large");
        if (e.route_name == "/late") a.bytes(fitting, "text/x-fits");
        if (e.route_name == "/none") throw std::runtime_error("page broke");
        a.trailer("X-Trailer", "of no chunked body");
    });
    h.app.post("/none", [] { return ""; }, {.max_body = 1});
    h.app.get("/stream", [](request&, response& a) -> awaitable<> {
        const error_code failed = co_await a.write("x");
        EXPECT_FALSE(failed);
    });
    client one(h.app), two(h.app), three(h.app), four(h.app);
    const reply late = one.get("/late");
    EXPECT_EQ(late.status, 503);
    EXPECT_TRUE(late.body == *fitting);
    EXPECT_EQ(late.field("Content-Type"), "text/x-fits");
    EXPECT_EQ(fitting.use_count(), 1) << "no exchange keeps it";
    EXPECT_TRUE(four.get("/stream").trailers.empty());
    const std::string body = "Content-Length: 2\r\n";
    const reply big = two.send(asking("POST", "/large", body) + "xx");
    EXPECT_EQ(big.status, 413);
    EXPECT_EQ(big.body, "Content Too Large\n");
    EXPECT_EQ(large.use_count(), 1);
    const reply broken = three.send(asking("POST", "/none", body) + "xx");
    EXPECT_EQ(broken.status, 413);
    EXPECT_EQ(broken.body, "Content Too Large\n");
    EXPECT_EQ(h.log.size(), 1U);
}

TEST(ErrorPages, KeepTheStatusAndWhatBelongsToIt) {
    house h;
    h.app.get("/", [] { return "root"; });
    h.app.get("/held", [&h](request&, response& a) { h.held.push_back(a.defer()); }, {.max_in_flight = 1});
    h.app.on_error([](const error_info& e, response& a) {
        a.problem(200, "no \"luck\"");
        a.set("Allow", "NOTHING").set("Content-Type", "text/x-mine");
        if (e.request && e.request->query("later")) a.set("Retry-After", "30");
        a.set_cookie("seen", "1");
    });
    client c(h.app), other(h.app);
    const reply r = c.send(asking("DELETE", "/"));
    EXPECT_EQ(r.status, 405);
    EXPECT_EQ(r.field("Allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(r.field("Content-Type"), "text/x-mine");
    EXPECT_EQ(r.field("Set-Cookie"), "seen=1; Path=/");
    EXPECT_NE(r.body.find("no \\\"luck\\\""), std::string::npos) << r.body;
    other.write(asking("GET", "/held"));
    EXPECT_EQ(c.get("/held").field("Retry-After"), "1");
    EXPECT_EQ(c.get("/held?later").field("Retry-After"), "30");
    EXPECT_EQ(c.get("/held").status, 503);
    const reply root = c.get("/");
    EXPECT_EQ(root.field("Content-Type"), "text/plain; charset=utf-8") << "nothing stays for the next answer";
    EXPECT_EQ(root.field("Set-Cookie"), "");
}

TEST(ErrorPages, ThatCannotBeMadeAreTheReason) {
    house h;
    h.app.get("/", [] { return "root"; });
    h.app.on_error([&h](const error_info& e, response& a) {
        a.set("X-Page", "ours");
        const std::string_view path = e.request->path();
        if (path == "/empty") return;
        a.text("half");
        if (path == "/odd") throw 42;
        if (path == "/defer") h.held.push_back(a.defer());
        if (path == "/header") a.set("X", "a\r\nb");
        throw std::runtime_error("page broke");
    });
    client c(h.app);
    for (const char* path : {"/throws", "/odd", "/defer", "/header"}) {
        h.log.clear();
        const reply r = c.get(path);
        EXPECT_EQ(r.status, 404) << path;
        EXPECT_EQ(r.body, "Not Found\n") << path;
        EXPECT_EQ(r.field("Content-Type"), "text/plain; charset=utf-8") << path;
        EXPECT_EQ(r.field("X-Page"), "") << path;
        ASSERT_EQ(h.log.size(), 1U) << path;
        EXPECT_TRUE(h.log[0].starts_with("on_error failed: ")) << h.log[0];
        EXPECT_EQ(c.get("/").body, "root") << path;
    }
    EXPECT_TRUE(h.held.empty());
    EXPECT_EQ(c.send(asking("DELETE", "/")).field("Allow"), "GET, HEAD, OPTIONS");
    const reply empty = c.get("/empty");
    EXPECT_EQ(empty.body, "Not Found\n");
    EXPECT_EQ(empty.field("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(empty.field("X-Page"), "ours");
}

TEST(ErrorPages, LeaveTheAnswersOfHandlersAlone) {
    house h;
    h.app.get("/own", [](request&, response& a) {
        a.status(404);
        a.text("own");
    });
    h.app.get("/bare", [](request&, response& a) { a.status(500); });
    h.app.get("/half", [](request&, response& a) -> awaitable<> {
        const error_code failed = co_await a.write("half");
        EXPECT_FALSE(failed);
        throw std::runtime_error("too late");
    });
    h.app.not_found([](request&, response& a) { a.text("nothing here"); });
    h.word_errors();
    client c(h.app);
    EXPECT_EQ(c.get("/own").body, "own");
    EXPECT_EQ(c.get("/bare").body, "");
    EXPECT_EQ(c.get("/none").body, "nothing here");
    EXPECT_EQ(c.send(asking("OPTIONS", "/own")).status, 204);
    EXPECT_EQ(c.send(asking("OPTIONS", "*")).status, 204);
    EXPECT_EQ(c.get("/half").status, 0) << "its head was sent: it is cut";
    EXPECT_EQ(h.asked, 0);
    client malformed(h.app);
    const reply r = malformed.send("nonsense\r\n\r\n");
    EXPECT_EQ(r.status, 400);
    EXPECT_EQ(r.body, "Bad Request\n") << "below the router";
    EXPECT_EQ(h.asked, 0);
}

TEST(ErrorPages, SeeTheRequest) {
    house h;
    h.app.get("/users/{id}", [](request&, response&) { throw std::runtime_error("broken"); });
    h.app.on_error([](const error_info& e, response& a) {
        const request& q = *e.request;
        a.text(std::string(q.param("id")) + "|" + std::string(q.query("k") ? *q.query("k") : "-") + "|" +
               std::string(q.field("Accept").value_or("-")) + "|" + std::string(q.cookie("c").value_or("-")) + "|" +
               std::string(q.route_name()) + "|" + std::string(q.body()));
    });
    client c(h.app);
    EXPECT_EQ(c.send(asking("GET", "/users/4%32?k=a+b", "Accept: text/html\r\nCookie: c=1\r\n")).body,
              "42|a b|text/html|1|/users/{id}|");
    EXPECT_EQ(c.send(asking("GET", "/elsewhere/4%32?k=%20", "Content-Length: 2\r\n") + "hi").body, "| |-|-|on_error|")
        << "a body that nobody wants is not read";
    EXPECT_EQ(c.get("/%zz").status, 400);
}

TEST(ErrorPages, AreSettledBeforeTheServerStarts) {
    house h;
    EXPECT_THROW(h.app.on_error({}), std::invalid_argument);
    h.app.on_error([](const error_info&, response& a) { a.text("first"); });
    h.app.on_error([](const error_info&, response& a) { a.text("last"); });
    client c(h.app);
    EXPECT_THROW(h.app.on_error([](const error_info&, response&) {}), std::logic_error);
    EXPECT_EQ(c.get("/none").body, "last");
}

} // namespace
} // namespace error_page_cases
} // namespace fastserve::test
