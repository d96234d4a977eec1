#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

// What is tested: routes, as the program registers them on its server.
void add_routes(fastserve::server& app) {
    app.get("/users/{id}", [](fastserve::request& req, fastserve::response& res) {
        res.text("user " + std::string(req.param("id")));
    });
    app.post("/echo", [](fastserve::request& req, fastserve::response& res) { res.text(req.body()); });
    app.get("/report", [](fastserve::request&, fastserve::response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(20min);
        res.text("ready");
    });
}

void expect(bool right, const char* what) {
    if (right) return;
    std::cerr << "wrong: " << what << '\n';
    std::exit(1);
}

int main() {
    fastserve::server app; // no listen(), no start()
    add_routes(app);

    // One connection: answers of the real server, byte for byte.
    fastserve::test::client c(app);
    const auto user = c.get("/users/42");
    expect(user.status == 200 && user.body == "user 42", "the user");
    expect(user.field("Content-Type") == "text/plain; charset=utf-8", "its type");
    expect(c.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").body == "hi", "an echo");

    // Time passes as it is needed, and nobody waits for it.
    expect(c.get("/report").body == "ready" && c.now() == 20min, "the report");

    // What happens meanwhile can be looked at.
    c.write("GET /report HTTP/1.1\r\nHost: x\r\n\r\n");
    c.advance(19min);
    expect(!c.try_read(), "not yet");
    c.advance(1min);
    expect(c.try_read().has_value(), "now");

    // A head that is never finished is answered at its deadline.
    expect(c.send("GET /users/").status == 408 && c.closed(), "a slow head");

    // A bad network: pieces of random size that take their time. The same seed gives the same run.
    fastserve::test::client bad(app, {.seed = 7, .splits = true, .delays = 50ms});
    const std::string large(100'000, 'x');
    expect(bad.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + large).body == large,
           "pieces");

    // A peer that is cut off in the middle of its request.
    fastserve::test::client cut(app, {.reset_at = 20});
    expect(cut.get("/users/42").status == 0 && cut.broken(), "the cut");
}
