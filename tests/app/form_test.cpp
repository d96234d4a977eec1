// Forms that come as a body, and keys that a query has several times.
#include <fastserve/fastserve.hpp>
#include <fastserve/http/multipart_error.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view form_type = "application/x-www-form-urlencoded";

std::string form_post(std::string_view path, std::string_view body, std::string_view type = form_type) {
    std::string out = "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
    if (!type.empty()) out.append("Content-Type: ").append(type).append("\r\n");
    return out + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// All pairs, or why there are none.
void list_pairs(const request& q, response& a) {
    const auto form = q.form();
    if (!form) {
        a.status(status_of(form.error())).text(form.error().message());
        return;
    }
    std::string all = std::to_string(form->size()) + (form->empty() ? " none" : "");
    for (const auto& [name, value] : *form) all.append(" ").append(name).append("=").append(value);
    a.text(std::move(all));
}

template <class T>
std::string or_message(const result<T>& r) {
    if (!r) return r.error().message();
    if constexpr (std::is_arithmetic_v<T>)
        return std::to_string(*r);
    else
        return std::string(*r);
}

std::string joined(const form_values& values) {
    std::string all;
    for (const std::string_view v : values) all.append(v).append(",");
    return all;
}

TEST(Form, PairsComeDecodedAndInOrder) {
    server app;
    app.post("/list", [](request& q, response& a) { list_pairs(q, a); });
    client c(app);
    const auto listed = [&c](std::string_view body) { return c.send(form_post("/list", body)).body; };
    EXPECT_EQ(listed("a=1&b=x+y%2B%26&&a=2&empty=&bare&%C3%a4=%c3%A4&=v&x=y=z"),
              "8 a=1 b=x y+& a=2 empty= bare= \xc3\xa4=\xc3\xa4 =v x=y=z");
    EXPECT_EQ(listed("a=1&b=2"), "2 a=1 b=2") << "nothing to decode";
    EXPECT_EQ(listed(""), "0 none");
    EXPECT_EQ(listed("&&&"), "0 none");
    EXPECT_EQ(c.send("POST /list HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n3\r\na=%\r\n4\r\n41&b\r\n0\r\n\r\n")
                  .body,
              "2 a=A b=");
    // Longer than the memory a request has of its own.
    EXPECT_EQ(listed("a=" + std::string(100'000, '+')), "1 a=" + std::string(100'000, ' '));
    std::string many, expected = "1000";
    for (int i = 0; i != 1000; ++i) {
        many += "k=" + std::to_string(i) + "&";
        expected += " k=" + std::to_string(i);
    }
    EXPECT_EQ(listed(many), expected);
}

TEST(Form, OnePairThatCannotBeDecodedIsAnErrorOfAll) {
    server app;
    app.post("/list", [](request& q, response& a) { list_pairs(q, a); });
    client c(app);
    for (const std::string_view body : {"a=%", "a=%4", "%zz=1", "a=1&b=%00", "a=1&b=2&c%=3", "+%"}) {
        const reply r = c.send(form_post("/list", body));
        EXPECT_EQ(r.status, 400) << body;
        EXPECT_EQ(r.body, message_of(errc::bad_encoding)) << body;
    }
    EXPECT_EQ(c.send(form_post("/list", std::string_view("a=1\0", 4))).status, 400);
}

TEST(Form, IsToldByItsContentType) {
    server app;
    app.post("/list", [](request& q, response& a) { list_pairs(q, a); });
    client c(app);
    for (const std::string_view type :
         {"application/x-www-form-urlencoded", "Application/X-WWW-Form-URLEncoded; charset=utf-8",
          "application/x-www-form-urlencoded \t;a=b",
          "application/x-www-form-urlencoded\r\nContent-Encoding: identity"})
        EXPECT_EQ(c.send(form_post("/list", "a=1", type)).body, "1 a=1") << type;
    for (const std::string_view type :
         {"", "text/plain", "application/x-www-form-urlencoded2", "application/x-www-form-urlencode",
          "multipart/form-data; boundary=x", "text/plain; application/x-www-form-urlencoded",
          "application/x-www-form-urlencoded\r\nContent-Encoding: gzip"}) {
        const reply r = c.send(form_post("/list", "a=1", type));
        EXPECT_EQ(r.status, 415) << type;
        EXPECT_EQ(r.body, message_of(errc::wrong_type)) << type;
    }
}

TEST(Form, ValuesAreTypedAndMayBeRepeated) {
    server app;
    app.post("/typed", [](request& q, response& a) {
        const auto form = q.form();
        a.text(or_message(form->get<int>("age")) + "|" + or_message(form->get<std::uint8_t>("age")) + "|" +
               or_message(form->get<bool>("on")) + "|" + or_message(form->get("name")) + "|" +
               or_message(form->get<std::string>("name")) + "|" + or_message(form->get<int>("name")) + "|" +
               or_message(form->get<int>("none")) + "|" + or_message(form->get("none")));
    });
    app.post("/tags", [](request& q, response& a) {
        const auto form = q.form();
        const form_values tags = form->all(std::string("tag")); // which does not outlive the call
        a.text(joined(tags) + std::to_string(std::distance(tags.begin(), tags.end())) + (tags.empty() ? "!" : ""));
    });
    client c(app);
    EXPECT_EQ(
        c.send(form_post("/typed", "name=Ann+B&age=300&on=true&age=1&name=C")).body,
        "300|the value is out of range|1|Ann B|Ann B|the value is malformed|the value is missing|the value is missing");
    EXPECT_EQ(c.send(form_post("/tags", "tag=a&x=1&tag=&Tag=no&t%61g=b+c&tagg=no&tag")).body, "a,,b c,,4");
    EXPECT_EQ(c.send(form_post("/tags", "tag=a")).body, "a,1");
    EXPECT_EQ(c.send(form_post("/tags", "x=tag&tags=1")).body, "0!");
    EXPECT_EQ(c.send(form_post("/tags", "")).body, "0!");
    EXPECT_TRUE(form_data().all("a").empty());
}

// Its views are as good as those of the request, of which it changes nothing.
TEST(Form, LivesAsLongAsItsRequest) {
    const auto show = [](const request& q, const form_data& form) {
        return std::string(form.get("a").value()) + std::string(form.get("b").value()) + std::string(q.body());
    };
    server app;
    app.post("/plain", [show](request& q, response& a) { a.text(show(q, q.form().value())); });
    app.post("/coroutine", [show](request& q, response& a) -> awaitable<> {
        const form_data form = q.form().value(), again = q.form().value();
        co_await sleep_for(5ms);
        a.text(show(q, form) == show(q, again) ? show(q, form) : "changed");
    });
    app.post("/blocking", blocking([show](request& q, response& a) { a.text(show(q, q.form().value())); }));
    for (const char* const path : {"/plain", "/coroutine", "/blocking"}) {
        client c(app);
        std::string wire;
        for (int i = 0; i != 10; ++i) wire += form_post(path, "a=%4" + std::to_string(i) + "&b=+" + std::to_string(i));
        c.write(wire);
        for (int i = 0; i != 10; ++i) {
            const std::string n = std::to_string(i);
            const std::string decoded(1, static_cast<char>(0x40 + i));
            EXPECT_EQ(c.read().body, decoded + " " + n + "a=%4" + n + "&b=+" + n) << path;
        }
    }
}

TEST(Form, IsForWholeBodies) {
    server app;
    app.post("/streamed",
             [](request& q, response& a) -> awaitable<> {
                 list_pairs(q, a);
                 co_return;
             },
             {.body = body::streamed});
    client c(app);
    const reply r = c.send(form_post("/streamed", "a=1"));
    EXPECT_EQ(r.status, 500) << "the handler's fault";
    EXPECT_EQ(r.body, message_of(errc::not_whole));
}

TEST(Query, GivesAllValuesOfAKey) {
    server app;
    app.get("/", [](request& q, response& a) {
        const auto values = q.queries(std::string("k")); // which does not outlive the call
        a.text(values ? joined(*values) : values.error().message());
    });
    client c(app);
    EXPECT_EQ(c.get("/?k=1&a=2&k=3").body, "1,3,");
    EXPECT_EQ(c.get("/?k=x+y&k&k=&%6b=%2B&kk=1&K=2").body, "x y,,,+,");
    EXPECT_EQ(c.get("/?k=1").body, "1,");
    for (const char* const none : {"/", "/?", "/?a=k", "/?kk=1&%00=2"}) EXPECT_EQ(c.get(none).body, "") << none;
    EXPECT_EQ(c.get("/?k=1&a=%00&k=2").body, "1,2,") << "only the key's own values must be good";
    for (const char* const bad : {"/?k=%00", "/?k=1&k=%00&k=2", "/?k=+&a=1&k=%00"})
        EXPECT_EQ(c.get(bad).body, message_of(errc::bad_encoding)) << bad;
    std::string target = "/?", expected;
    for (int i = 0; i != 700; ++i) {
        target += "k=" + std::to_string(i) + "+&";
        expected += std::to_string(i) + " ,";
    }
    EXPECT_EQ(c.get(target).body, expected);
}

TEST(StatusOf, TellsTheClientsFaultsFromOurs) {
    EXPECT_EQ(status_of({}), 200);
    EXPECT_EQ(status_of(errc::ok), 200);
    EXPECT_EQ(status_of(errc::missing), 400);
    EXPECT_EQ(status_of(errc::malformed), 400);
    EXPECT_EQ(status_of(errc::out_of_range), 400);
    EXPECT_EQ(status_of(errc::bad_encoding), 400);
    EXPECT_EQ(status_of(errc::wrong_type), 415);
    EXPECT_EQ(status_of(errc::too_many), 413);
    EXPECT_EQ(status_of(errc::too_large), 413);
    for (const errc own : {errc::cancelled, errc::disconnected, errc::not_streamed, errc::not_whole, errc::busy,
                           errc::head_sent, errc::too_long, errc::taken, errc::past})
        EXPECT_EQ(status_of(own), 500) << message_of(own);
    EXPECT_EQ(status_of(make_error_code(http::errc::body_too_large)), 413);
    EXPECT_EQ(status_of(make_error_code(http::multipart_errc::not_form_data)), 415);
    EXPECT_EQ(status_of(make_error_code(http::multipart_errc::file_too_large)), 413);
    EXPECT_EQ(status_of(make_error_code(http::multipart_errc::bad_field)), 400);
    EXPECT_EQ(status_of(std::make_error_code(std::errc::no_space_on_device)), 500);
}

} // namespace
} // namespace fastserve::test
