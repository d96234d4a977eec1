// Every signature a handler may have, and what its exceptions become.
#include "site.hpp"

#include <boost/json/value.hpp>

#include <iterator>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

const std::string kept = "kept";

std::string by_function(const request& q) {
    return "function at " + std::string(q.path());
}

struct by_object {
    std::string operator()() const { return text; }
    std::string text;
};

TEST(Handlers, OfEverySignatureAnswer) {
    site s;
    s.app.get("/chars", [] { return "chars"; });
    s.app.get("/string", [] { return std::string("string"); });
    s.app.get("/view", [](const request& q) { return q.param("x").empty() ? q.path() : q.path(); });
    s.app.get("/reference", []() -> const std::string& { return kept; });
    s.app.get("/json", [] { return json::value{{"a", 1}}; });
    s.app.get("/function", by_function);
    s.app.get("/object", by_object{"object"});
    s.app.get("/mutable", [](request& q) { return std::string(q.target()); });
    s.app.get("/plain", [](request&, response& a) { a.text("plain"); });
    s.app.get("/generic", [](auto& q, auto& a) { a.text(q.path()); });
    s.app.get("/nothing", [](request&, response&) {});
    s.app.get("/nothing_at_all", [] {});
    s.app.get("/co", [](request&, response& a) -> awaitable<> {
        a.text("co");
        co_return;
    });
    s.app.get("/co_string", []() -> awaitable<std::string> { co_return "co_string"; });
    s.app.get("/co_view", [](const request& q) -> awaitable<std::string_view> { co_return q.path(); });
    s.app.get("/co_json", [](request&) -> awaitable<json::value> { co_return json::array{1, 2}; });
    s.app.get("/co_nothing", []() -> awaitable<> { co_return; });
    s.app.get("/blocking", blocking([](request& q, response& a) { a.text(q.path()); }));
    s.app.get("/blocking_string", blocking([] { return std::string("blocking_string"); }));
    s.app.get("/blocking_json", blocking([](const request&) { return json::value("x"); }));
    s.app.get("/forwarded", [](request&, response& a) {
        return [](response& b) -> awaitable<> {
            co_await sleep_for(1ms);
            b.text("forwarded");
        }(a);
    });
    s.start();

    client c = s.connect();
    for (const auto& [path, body] : std::initializer_list<std::pair<const char*, const char*>>{
             {"/chars", "chars"},
             {"/string", "string"},
             {"/view", "/view"},
             {"/reference", "kept"},
             {"/json", R"({"a":1})"},
             {"/function", "function at /function"},
             {"/object", "object"},
             {"/mutable", "/mutable"},
             {"/plain", "plain"},
             {"/generic", "/generic"},
             {"/nothing", ""},
             {"/nothing_at_all", ""},
             {"/co", "co"},
             {"/co_string", "co_string"},
             {"/co_view", "/co_view"},
             {"/co_json", "[1,2]"},
             {"/co_nothing", ""},
             {"/blocking", "/blocking"},
             {"/blocking_string", "blocking_string"},
             {"/blocking_json", R"("x")"},
             {"/forwarded", "forwarded"},
         }) {
        for (int again = 0; again < 2; ++again) {
            const answer a = c.get(path);
            EXPECT_EQ(a.status, 200) << path;
            EXPECT_EQ(a.body, body) << path;
            const bool is_json = std::string_view(path).find("json") != std::string_view::npos;
            EXPECT_EQ(a.field("Content-Type"),
                      *body == '\0' ? "" : (is_json ? "application/json" : "text/plain; charset=utf-8"))
                << path;
        }
    }
}

// A view that a handler returns is not copied if it is written at once. Where it is not, because other answers stand
// before it or the peer is slow, what it shows may have changed by then.
TEST(Handlers, AReturnedViewIsTheAnswerHoweverLateItIsWritten) {
    site s;
    s.app.get("/{size}/{fill}", [](const request& q) -> std::string_view {
        thread_local std::string scratch;
        scratch.assign(q.param<std::size_t>("size").value(), q.param("fill").front());
        return scratch;
    });
    s.app.get("/shared",
              [](request&, response& a) { a.bytes(std::make_shared<const std::string>("shared"), "text/plain"); });
    s.start();
    const std::size_t sizes[] = {0, 1, 3'000, 16'000, 17'000, 200'000};
    std::string sent;
    std::vector<std::string> expected;
    for (int i = 0; i < 120; ++i) {
        const std::size_t size = sizes[static_cast<std::size_t>(i) % std::size(sizes)];
        const auto fill = static_cast<char>('a' + i % 26);
        sent += "GET /" + std::to_string(size) + "/" + fill + " HTTP/1.1\r\nHost: a\r\n\r\n";
        expected.emplace_back(size, fill);
        if (i % 7 == 0) {
            sent += "GET /shared HTTP/1.1\r\nHost: a\r\n\r\n";
            expected.emplace_back("shared");
        }
    }
    client c = s.connect();
    c.send(sent);
    for (const std::string& body : expected) ASSERT_TRUE(c.read().body == body) << body.size();
}

TEST(Handlers, PipelinedRequestsOfAllKindsAreAnsweredInOrder) {
    site s;
    s.app.get("/plain/{n}", [](request& q, response& a) { a.text(q.param("n")); });
    s.app.get("/co/{n}", [](request& q, response& a) -> awaitable<> {
        co_await sleep_for(2ms);
        a.text(q.param("n"));
    });
    s.app.get("/blocking/{n}", blocking([](request& q, response& a) { a.text(q.param("n")); }));
    s.start();
    client c = s.connect();
    std::string all;
    constexpr int count = 60;
    for (int i = 0; i < count; ++i) {
        const char* kinds[] = {"/plain/", "/co/", "/blocking/"};
        all += request_line("GET", kinds[i % 3] + std::to_string(i));
    }
    c.send(all);
    for (int i = 0; i < count; ++i) ASSERT_EQ(c.read().body, std::to_string(i));
}

TEST(Handlers, AnExceptionIsA500AndIsLoggedWithItsRoute) {
    site s;
    s.app.get("/plain", [](request&, response& a) {
        a.status(201).set("X-Left", "over");
        a.text("half");
        throw std::runtime_error("plain broke");
    });
    s.app.get("/returning", []() -> std::string { throw std::runtime_error("returning broke"); });
    s.app.get("/co/{x}", [](request&, response&) -> awaitable<> {
        throw std::runtime_error("co broke");
        co_return;
    });
    s.app.get("/co_later", [](request&, response& a) -> awaitable<> {
        a.text("half");
        co_await sleep_for(1ms);
        throw std::runtime_error("co_later broke");
    });
    s.app.get("/co_value", []() -> awaitable<std::string> {
        co_await sleep_for(1ms);
        throw std::runtime_error("co_value broke");
    });
    s.app.get("/before_co", [](request& q, response&) -> awaitable<> {
        if (q.path() != "") throw std::runtime_error("before_co broke");
        return {};
    });
    s.app.get("/blocking", blocking([](request&, response& a) {
                  a.text("half");
                  throw std::runtime_error("blocking broke");
              }));
    s.app.get("/odd", [](request&, response&) { throw 42; }, {.name = "the odd one"});
    s.app.get("/fine", [] { return "fine"; });
    s.start();

    client c = s.connect();
    for (const char* path :
         {"/plain", "/returning", "/co/1", "/co_later", "/co_value", "/before_co", "/blocking", "/odd"}) {
        const answer a = c.get(path);
        EXPECT_EQ(a.status, 500) << path;
        EXPECT_EQ(a.body, "Internal Server Error\n") << path;
        EXPECT_EQ(a.field("X-Left"), "") << path;
        EXPECT_EQ(c.get("/fine").body, "fine") << path << ": the connection goes on";
    }
    EXPECT_EQ(s.log.size(), 8U);
    EXPECT_EQ(s.log.count("/plain", "plain broke"), 1U);
    EXPECT_EQ(s.log.count("/returning", "returning broke"), 1U);
    EXPECT_EQ(s.log.count("/co/{x}", "co broke"), 1U);
    EXPECT_EQ(s.log.count("/co_later", "co_later broke"), 1U);
    EXPECT_EQ(s.log.count("/co_value", "co_value broke"), 1U);
    EXPECT_EQ(s.log.count("/before_co", "before_co broke"), 1U);
    EXPECT_EQ(s.log.count("/blocking", "blocking broke"), 1U);
    EXPECT_EQ(s.log.count("the odd one"), 1U);
}

TEST(Handlers, ALogThatThrowsHurtsNobody) {
    options o{.workers = 1, .log = [](const log_record&) { throw std::runtime_error("no log"); }};
    server app(o);
    app.get("/", [](request&, response&) { throw std::runtime_error("x"); });
    const auto at = app.listen("127.0.0.1:0");
    ASSERT_TRUE(at);
    ASSERT_FALSE(app.start());
    client c(at->port());
    EXPECT_EQ(c.get("/").status, 500);
    EXPECT_EQ(c.get("/").status, 500);
    app.stop();
}

TEST(Handlers, TextFromTheNetworkCannotBecomeFields) {
    site s;
    s.app.get("/value/{x}", [](request& q, response& a) { a.set("X-Echo", q.param("x")); });
    s.app.get("/name/{x}", [](request& q, response& a) { a.add(q.param("x"), "v"); });
    s.app.get("/type/{x}", [](request& q, response& a) { a.bytes("x", q.param("x")); });
    s.app.get("/to/{x}", [](request& q, response& a) { a.redirect(q.param("x")); });
    s.app.get("/framing/{x}", [](request& q, response& a) { a.set(q.param("x"), "1"); });
    s.app.get("/status/{x}", [](request& q, response& a) { a.status(*q.param<int>("x")); });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/value/good").field("X-Echo"), "good");
    for (const char* bad : {"/value/a%0d%0aX-Evil:%20b", "/value/%01", "/name/a%20b", "/name/%0a", "/type/a%0ab",
                            "/to/%0d%0ax", "/framing/Content-Length", "/framing/transfer-encoding", "/status/99",
                            "/status/101", "/status/1000", "/status/-1"}) {
        const answer a = c.get(bad);
        EXPECT_EQ(a.status, 500) << bad;
        EXPECT_EQ(a.field("X-Evil"), "") << bad;
    }
    EXPECT_EQ(c.get("/value/good").status, 200);
}

} // namespace
} // namespace fastserve::test
