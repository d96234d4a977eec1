// What a client would rather have, as a handler asks for it.
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {
namespace {

TEST(Accepts, ChoosesAsTheClientSays) {
    server app;
    app.get("/", [](request& q, response& a) {
        a.set("Vary", "Accept");
        const auto type = q.accepts({"text/html", "application/json", "image/png"});
        if (type)
            a.text(*type);
        else
            a.problem(406, "");
    });
    client c(app);
    const auto chosen = [&c](std::string_view fields) {
        const reply r = c.send("GET / HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n");
        return r.status == 406 ? "none" : r.body;
    };
    EXPECT_EQ(chosen(""), "text/html") << "the first when nothing is said";
    EXPECT_EQ(chosen("Accept: \r\n"), "text/html");
    EXPECT_EQ(chosen("Accept: */*\r\n"), "text/html");
    EXPECT_EQ(chosen("Accept: application/json\r\n"), "application/json");
    EXPECT_EQ(chosen("Accept: text/html;q=0.5, APPLICATION/json;q=0.6\r\n"), "application/json");
    EXPECT_EQ(chosen("Accept: image/png;q=0.5, */*;q=0.4\r\n"), "image/png");
    EXPECT_EQ(chosen("Accept: text/*;q=0.1\r\nAccept: image/*;q=0.2\r\n"), "image/png") << "all lines count";
    EXPECT_EQ(chosen("Accept: */*, text/html;q=0\r\n"), "application/json");
    EXPECT_EQ(chosen("Accept: text/plain\r\n"), "none");
    EXPECT_EQ(chosen("Accept: text/html;q=0\r\n"), "none");
    EXPECT_EQ(chosen("Accept: ;;;,nonsense\r\n"), "text/html") << "what is malformed is not there";
    // What a browser sends.
    EXPECT_EQ(chosen("Accept: application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"),
              "text/html");
}

TEST(Accepts, TakesWhatItIsOffered) {
    static const std::array<std::string_view, 2> fixed{"a/a", "b/b;v=1"};
    std::vector<std::string_view> many(20, "x/x");
    many[15] = "y/y";
    many[16] = "z/z";
    server app;
    app.get("/fixed", [](request& q, response& a) {
        const auto type = q.accepts(fixed);
        a.text(type && type->data() == fixed[1].data() ? "the one given" : "another");
    });
    app.get("/many", [&many](request& q, response& a) { a.text(q.accepts(many).value_or("none")); });
    app.get("/nothing", [](request& q, response& a) { a.text(q.accepts({}).value_or("none")); });
    app.get("/one", [](request& q, response& a) { a.text(q.accepts({"a/a"}).value_or("none")); });
    client c(app);
    const auto asked = [&c](std::string_view path, std::string_view accept) {
        return c
            .send("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nAccept: " + std::string(accept) + "\r\n\r\n")
            .body;
    };
    EXPECT_EQ(asked("/fixed", "b/b;v=1"), "the one given");
    EXPECT_EQ(asked("/many", "y/y"), "y/y");
    EXPECT_EQ(asked("/many", "z/z"), "none") << "behind the most that are looked at";
    EXPECT_EQ(asked("/nothing", "*/*"), "none");
    EXPECT_EQ(asked("/one", "a/*"), "a/a");
}

} // namespace
} // namespace fastserve::test
