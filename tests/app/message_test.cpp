// What a handler can ask of a request, and put into a response.
#include "site.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <memory>

namespace fastserve::test {
namespace {

template <class T>
std::string shown(const result<T>& r) {
    if (!r) {
        for (const errc e : {errc::missing, errc::malformed, errc::out_of_range, errc::bad_encoding})
            if (r.error() == e) return std::string(message_of(e));
        return "another error";
    }
    if constexpr (std::is_convertible_v<T, std::string_view>)
        return std::string(*r);
    else
        return std::to_string(*r);
}

TEST(Request, ParametersAreTyped) {
    site s;
    s.app.get("/int/{x}", [](request& q, response& a) { a.text(shown(q.param<int>("x"))); });
    s.app.get("/byte/{x}", [](request& q, response& a) { a.text(shown(q.param<std::uint8_t>("x"))); });
    s.app.get("/bool/{x}", [](request& q, response& a) { a.text(shown(q.param<bool>("x"))); });
    s.app.get("/real/{x}", [](request& q, response& a) { a.text(shown(q.param<double>("x"))); });
    s.app.get("/text/{x}", [](request& q, response& a) { a.text(shown(q.param<std::string>("x"))); });
    s.app.get("/wrong/{x}", [](request& q, response& a) { a.text(shown(q.param<int>("y"))); });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/int/-42").body, "-42");
    EXPECT_EQ(c.get("/int/4%32").body, "42");
    for (const char* bad : {"/int/x", "/int/4x", "/int/+4", "/int/%204", "/int/99999999999x", "/bool/yes", "/byte/-1"})
        EXPECT_EQ(c.get(bad).body, "the value is malformed") << bad;
    EXPECT_EQ(c.get("/int/99999999999").body, "the value is out of range");
    EXPECT_EQ(c.get("/byte/256").body, "the value is out of range");
    EXPECT_EQ(c.get("/byte/255").body, "255");
    EXPECT_EQ(c.get("/bool/true").body, "1");
    EXPECT_EQ(c.get("/bool/0").body, "0");
    EXPECT_EQ(c.get("/real/0.25").body, "0.250000");
    EXPECT_EQ(c.get("/text/a%2fb").body, "a/b");
    EXPECT_EQ(c.get("/wrong/1").body, "the value is missing");
}

TEST(Request, QueriesAreDecodedAndTyped) {
    site s;
    s.app.get("/text", [](request& q, response& a) { a.text("[" + shown(q.query("k")) + "]"); });
    s.app.get("/int", [](request& q, response& a) { a.text(shown(q.query<int>("k"))); });
    s.app.get("/odd", [](request& q, response& a) { a.text(shown(q.query("a b&"))); });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/text?k=v").body, "[v]");
    EXPECT_EQ(c.get("/text?a=b&&k=1&k=2").body, "[1]") << "the first counts";
    EXPECT_EQ(c.get("/text?k").body, "[]");
    EXPECT_EQ(c.get("/text?k=").body, "[]");
    EXPECT_EQ(c.get("/text?k=a+b%20c%2Bd=e").body, "[a b c+d=e]");
    EXPECT_EQ(c.get("/text?%6b=v").body, "[v]");
    EXPECT_EQ(c.get("/text").body, "[the value is missing]");
    EXPECT_EQ(c.get("/text?").body, "[the value is missing]");
    EXPECT_EQ(c.get("/text?kk=1&%00=2&K=3").body, "[the value is missing]");
    EXPECT_EQ(c.get("/text?k=%00").body, "[the value is not validly percent-encoded]");
    EXPECT_EQ(c.get("/odd?a+b%26=x").body, "x");
    EXPECT_EQ(c.get("/int?k=7").body, "7");
    EXPECT_EQ(c.get("/int?k=").body, "the value is malformed");
    EXPECT_EQ(c.get("/int?k=%001").body, "the value is not validly percent-encoded");
    EXPECT_EQ(c.get("/int").body, "the value is missing");
    // Longer than the memory an exchange has of its own.
    EXPECT_EQ(c.get("/text?k=" + std::string(2000, '+')).body, "[" + std::string(2000, ' ') + "]");
}

TEST(Request, FieldsAndCookies) {
    site s;
    s.app.get("/field", [](request& q, response& a) {
        a.text(std::string(q.field("x-UNKNOWN").value_or("-")) + "|" +
               std::string(q.field("USER-agent").value_or("-")) + "|" + std::string(q.field("accept").value_or("-")));
    });
    s.app.get("/cookie", [](request& q, response& a) { a.text(q.cookie("id").value_or("none")); });
    s.start();
    EXPECT_EQ(s.send(request_line("GET", "/field", "X-Unknown:  1 \r\nX-Unknown: 2\r\nUser-Agent: me\r\n")).body,
              "1|me|-");
    const auto cookie = [&](std::string_view fields) { return s.send(request_line("GET", "/cookie", fields)).body; };
    EXPECT_EQ(cookie(""), "none");
    EXPECT_EQ(cookie("Cookie: id=1\r\n"), "1");
    EXPECT_EQ(cookie("Cookie: aid=0; id=a=b; id=2\r\n"), "a=b");
    EXPECT_EQ(cookie("Cookie: a=1;\tid=2 ;b=3\r\n"), "2");
    EXPECT_EQ(cookie("Cookie: id\r\nCookie: x; id=\"q\"\r\n"), "\"q\"");
    EXPECT_EQ(cookie("Cookie: ID=1; idx=2; =id; ;;\r\n"), "none");
}

TEST(Request, GivesTheValuesOfAllLinesOfAName) {
    site s;
    s.app.get("/", [](request& q, response& a) {
        std::string all;
        for (const std::string name : {"accept", "X-UNKNOWN", "Host", "Cookie", "X-None"}) {
            const field_values values = q.fields(std::string(name)); // which does not outlive the call
            all += values.empty() ? "-" : "";
            for (const std::string_view value : values) all.append(value).append(",");
            all += std::to_string(std::distance(values.begin(), values.end())) + ";";
        }
        a.text(std::move(all));
    });
    s.start();
    EXPECT_EQ(s.send(request_line("GET", "/",
                                  "Accept: a\r\nx-unknown: 1\r\nX-Other: no\r\nACCEPT:\r\nX-Unknown: 2\r\n"
                                  "x-UNKNOWN:  3 \r\nAccept: b, c\r\n"))
                  .body,
              "a,,b, c,3;1,2,3,3;localhost,1;-0;-0;");
}

TEST(Request, KnowsWhatWasSentAndByWhom) {
    site s;
    s.app.any("/{x...}", [](request& q, response& a) {
        a.text(std::string(q.target()) + " " + std::string(q.path()) + " " + std::string(q.host()) + " " +
               std::to_string(q.version_minor()) + " " + std::string(q.body()));
    });
    s.start();
    EXPECT_EQ(s.send("GET /a?b HTTP/1.1\r\nHost: h:1\r\n\r\n").body, "/a?b /a h:1 1 ");
    EXPECT_EQ(s.send("GET http://o/a?b HTTP/1.1\r\nHost: h\r\n\r\n").body, "http://o/a?b /a o 1 ");
    EXPECT_EQ(s.send("GET /a HTTP/1.0\r\n\r\n").body, "/a /a  0 ");
    EXPECT_EQ(
        s.send("PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1;e\r\nz\r\n0\r\n\r\n").body,
        "/a /a h 1 xyz");
}

TEST(Request, KnowsThePeersAddress) {
    site s;
    s.app.get("/peer", [](request& q, response& a) { a.text(q.peer().to_string()); });
    s.start();
    client c = s.connect();
    sockaddr_in own{};
    socklen_t size = sizeof own;
    ASSERT_EQ(::getsockname(c.fd(), reinterpret_cast<sockaddr*>(&own), &size), 0);
    EXPECT_EQ(c.get("/peer").body, "127.0.0.1:" + std::to_string(ntohs(own.sin_port)));
}

TEST(Request, OfEachKindKeepsItsViewsWhileItsHandlerRuns) {
    site s;
    const auto all = [](const request& q) {
        return std::string(q.param("x")) + std::string(*q.query("q")) + std::string(q.field("X-F").value_or("")) +
               std::string(q.cookie("c").value_or("")) + std::string(q.body());
    };
    s.app.post("/co/{x}", [all](request& q, response& a) -> awaitable<> {
        const std::string before = all(q);
        const std::string_view body = q.body();
        co_await sleep_for(std::chrono::milliseconds(5));
        a.text(before == all(q) && body == q.body() ? before : "changed");
    });
    s.app.post("/blocking/{x}", blocking([all](request& q, response& a) { a.text(all(q)); }));
    s.start();
    for (const char* kind : {"/co/", "/blocking/"}) {
        client c = s.connect();
        std::string requests, expected;
        for (int i = 0; i < 20; ++i) {
            const std::string n = std::to_string(i);
            requests += request_line("POST", kind + n + "%20?q=" + n + "+",
                                     "X-F: f" + n + "\r\nCookie: c=" + n + "\r\n", "body" + n);
        }
        c.send(requests);
        for (int i = 0; i < 20; ++i) {
            const std::string n = std::to_string(i);
            ASSERT_EQ(c.read().body, n + " " + n + " f" + n + n + "body" + n) << kind;
        }
    }
}

TEST(Response, HasBodiesOfManyKinds) {
    static const auto shared = std::make_shared<const std::string>(200'000, 's');
    site s;
    s.app.get("/text", [](request&, response& a) { a.text("t\xc3\xa4xt"); });
    s.app.get("/html", [](request&, response& a) { a.html("<p>"); });
    s.app.get("/json", [](request&, response& a) { a.json({{"long", std::string(10'000, 'j')}}); });
    s.app.get("/moved", [](request&, response& a) { a.bytes(std::string(300'000, 'm'), "application/x-m"); });
    s.app.get("/shared", [](request&, response& a) { a.bytes(shared, "application/x-s"); });
    s.app.get("/null", [](request&, response& a) { a.bytes(std::shared_ptr<const std::string>(), "text/x-null"); });
    s.app.get("/typed", [](request&, response& a) {
        a.set("content-TYPE", "text/csv");
        a.text("a,b");
    });
    s.app.get("/twice", [](request&, response& a) {
        a.json({{"a", 1}});
        a.html("<p>");
    });
    s.app.get("/nocontent", [](request&, response& a) { a.status(204); });
    s.start();
    client c = s.connect();
    const auto check = [&c](const char* path, std::string_view type, std::string_view body) {
        for (int again = 0; again < 2; ++again) {
            const answer a = c.get(path);
            EXPECT_EQ(a.status, 200) << path;
            EXPECT_EQ(a.field("Content-Type"), type) << path;
            EXPECT_TRUE(a.body == body) << path;
        }
    };
    check("/text", "text/plain; charset=utf-8", "t\xc3\xa4xt");
    check("/html", "text/html; charset=utf-8", "<p>");
    check("/json", "application/json", R"({"long":")" + std::string(10'000, 'j') + "\"}");
    check("/moved", "application/x-m", std::string(300'000, 'm'));
    check("/shared", "application/x-s", *shared);
    check("/null", "text/x-null", "");
    check("/typed", "text/csv", "a,b");
    check("/twice", "text/html; charset=utf-8", "<p>");
    EXPECT_EQ(c.get("/nocontent").status, 204);
    c.send(request_line("HEAD", "/moved"));
    EXPECT_EQ(c.read(true).field("Content-Length"), "300000");
    EXPECT_EQ(c.get("/html").body, "<p>");
    s.app.stop();
    EXPECT_EQ(shared.use_count(), 1) << "no exchange keeps it";
}

TEST(Response, HasFieldsAndAStatus) {
    site s;
    s.app.get("/", [](request&, response& a) {
        a.status(201).set("X-One", "1").set("x-one", "2").add("Set-Cookie", "a=1").add("Set-Cookie", "b=2");
        if (a.status() != 201) a.status(500);
        a.text("made");
    });
    s.app.get("/close", [](request&, response& a) { a.set("Connection", "close"); });
    s.start();
    client c = s.connect();
    const answer a = c.get("/");
    EXPECT_EQ(a.status, 201);
    EXPECT_EQ(a.field("X-One"), "2");
    EXPECT_NE(a.head.find("Set-Cookie: a=1\r\n"), std::string::npos);
    EXPECT_NE(a.head.find("Set-Cookie: b=2\r\n"), std::string::npos);
    EXPECT_EQ(a.head.find("X-One: 1"), std::string::npos);
    EXPECT_EQ(c.get("/close").field("Connection"), "close");
    EXPECT_TRUE(c.read_end());
}

TEST(Response, HasProblemsAndRedirects) {
    site s;
    s.app.get("/problem", [](request&, response& a) { a.problem(422, "no \"such\" thing"); });
    s.app.get("/short", [](request&, response& a) {
        a.text("not this");
        a.problem(404, "");
    });
    s.app.get("/moved", [](request&, response& a) {
        a.text("not this");
        a.redirect("/to?a=b");
    });
    s.app.get("/permanently", [](request&, response& a) { a.redirect("https://example.org/", 308); });
    s.app.get("/nowhere", [](request&, response& a) { a.redirect("/", 200); });
    s.start();
    client c = s.connect();
    answer a = c.get("/problem");
    EXPECT_EQ(a.status, 422);
    EXPECT_EQ(a.field("Content-Type"), "application/problem+json");
    const auto problem = boost::json::parse(a.body);
    EXPECT_EQ(problem.at("status"), 422);
    EXPECT_EQ(problem.at("detail"), "no \"such\" thing");
    EXPECT_EQ(problem.at("title"), "Unprocessable Content");
    a = c.get("/short");
    EXPECT_EQ(a.field("Content-Type"), "application/problem+json");
    EXPECT_FALSE(boost::json::parse(a.body).as_object().contains("detail"));
    a = c.get("/moved");
    EXPECT_EQ(a.status, 302);
    EXPECT_EQ(a.field("Location"), "/to?a=b");
    EXPECT_EQ(a.body, "");
    EXPECT_EQ(c.get("/permanently").status, 308);
    EXPECT_EQ(c.get("/nowhere").status, 500);
}

TEST(Errc, HasAMessageEach) {
    for (std::uint8_t i = 0; i < errc_count; ++i) {
        const std::error_code e = static_cast<errc>(i);
        EXPECT_EQ(e.message(), message_of(static_cast<errc>(i)));
        EXPECT_NE(e.message(), "unknown error");
    }
    EXPECT_EQ(std::error_code(errc_count, app_category()).message(), "unknown error");
}

} // namespace
} // namespace fastserve::test
