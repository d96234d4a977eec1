// Cookies as handlers set them. What a Set-Cookie field may hold is tested in tests/http/cookie_test.cpp.
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {
namespace set_cookie_cases {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> cookies_of(const reply& r) {
    std::vector<std::string> all;
    for (const auto& [name, value] : r.fields)
        if (name == "Set-Cookie") all.push_back(value);
    return all;
}

TEST(ResponseCookies, AreLinesOfTheirOwn) {
    server app;
    app.get("/", [](request&, response& a) {
        a.set_cookie("id", "a3fWa",
                     {.max_age = 1h,
                      .domain = "example.com",
                      .path = "/app",
                      .secure = true,
                      .http_only = true,
                      .same_site = same_site::strict});
        a.set_cookie("theme", "dark").set_cookie("theme", "light", {.path = ""});
        a.set_cookie("__Host-s", "1", {.secure = true, .same_site = same_site::none, .partitioned = true});
        a.set_cookie("until", "x", {.expires = std::chrono::system_clock::from_time_t(784'111'777) + 999ms});
        a.set_cookie("lax", "", {.same_site = same_site::lax});
        a.clear_cookie("old").clear_cookie("older", {.max_age = 1h, .domain = "example.com", .path = "/x"});
        a.clear_cookie("__Secure-t", {.secure = true});
        a.redirect("/elsewhere");
    });
    app.get("/none", [] { return "none"; });
    client c(app);
    EXPECT_EQ(cookies_of(c.get("/")),
              (std::vector<std::string>{
                  "id=a3fWa; Max-Age=3600; Domain=example.com; Path=/app; Secure; HttpOnly; SameSite=Strict",
                  "theme=dark; Path=/",
                  "theme=light",
                  "__Host-s=1; Path=/; Secure; SameSite=None; Partitioned",
                  "until=x; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Path=/",
                  "lax=; Path=/; SameSite=Lax",
                  "old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/",
                  "older=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Domain=example.com; Path=/x",
                  "__Secure-t=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/; Secure",
              }));
    EXPECT_EQ(cookies_of(c.get("/none")), std::vector<std::string>{});
}

TEST(ResponseCookies, SayWhatToDoAboutWhatBrowsersWouldDrop) {
    struct {
        std::string name, value;
        cookie_options options;
        std::string_view advice;
    } const rows[] = {
        {"a b", "1", {}, "cookie: a cookie's name is a token"},
        {"a\r\nX: y", "1", {}, "cookie: a cookie's name is a token"},
        {"", "1", {}, "is a token"},
        {"a", "1; HttpOnly", {}, "cookie a: a cookie's value is visible ASCII"},
        {"a", "1\r\nX: y", {}, "encode"},
        {"a", "1,2", {}, "encode"},
        {"a", "caf\xC3\xA9", {}, "encode"},
        {"a", "1", {.domain = "example.com; Secure"}, "leave it empty"},
        {"a", "1", {.path = "/;Secure"}, "percent-encode"},
        {"a", "1", {.path = "app"}, "begins with /"},
        {"a", "1", {.same_site = same_site::none}, "set secure"},
        {"a", "1", {.partitioned = true}, "set secure"},
        {"__Secure-a", "1", {}, "__Secure- needs secure"},
        {"__Host-a", "1", {}, "__Host- needs secure"},
        {"__Host-a", "1", {.path = "/app", .secure = true}, "the path /"},
        {"__Host-a", "1", {.domain = "example.com", .secure = true}, "no domain"},
        {"a", std::string(4096, 'v'), {}, "4096 bytes"},
    };
    server app;
    int refused = 0;
    app.get("/caught", [&](request&, response& a) {
        for (const auto& row : rows) {
            try {
                a.set_cookie(row.name, row.value, row.options);
            } catch (const std::invalid_argument& e) {
                ++refused;
                EXPECT_NE(std::string_view(e.what()).find(row.advice), std::string_view::npos) << e.what();
            }
        }
        EXPECT_THROW(a.clear_cookie("a b"), std::invalid_argument);
        EXPECT_THROW(a.clear_cookie("__Host-a"), std::invalid_argument) << "a browser would keep it";
        a.text("caught");
    });
    app.get("/uncaught", [](request& q, response& a) {
        a.set_cookie("good", "1");
        a.set_cookie("bad", *q.query("value"));
    });
    client c(app);
    const reply caught = c.get("/caught");
    EXPECT_EQ(caught.body, "caught");
    EXPECT_EQ(cookies_of(caught), std::vector<std::string>{}) << "what is refused leaves nothing behind";
    EXPECT_EQ(refused, static_cast<int>(std::size(rows)));
    const reply uncaught = c.get("/uncaught?value=1%0d%0aX-Evil:1");
    EXPECT_EQ(uncaught.status, 500);
    EXPECT_EQ(uncaught.field("X-Evil"), "");
    EXPECT_EQ(cookies_of(uncaught), std::vector<std::string>{});
    EXPECT_EQ(cookies_of(c.get("/uncaught?value=2")), (std::vector<std::string>{"good=1; Path=/", "bad=2; Path=/"}));
}

// The head of a stream is sent with its first piece.
TEST(ResponseCookies, AreTooLateBehindTheHead) {
    server app;
    bool late = false;
    app.get("/", [&](request&, response& a) -> awaitable<> {
        a.set_cookie("a", "1");
        const error_code failed = co_await a.write("piece");
        EXPECT_FALSE(failed);
        try {
            a.set_cookie("b", "2");
        } catch (const std::logic_error&) {
            late = true;
        }
    });
    client c(app);
    EXPECT_EQ(cookies_of(c.get("/")), std::vector<std::string>{"a=1; Path=/"});
    EXPECT_TRUE(late);
}

} // namespace
} // namespace set_cookie_cases
} // namespace fastserve::test
