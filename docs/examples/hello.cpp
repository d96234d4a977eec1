#include <fastserve/fastserve.hpp>
using namespace std::chrono_literals;

int main() {
    fastserve::server app({.workers = 8});
    app.get("/", [] { return "hello world"; });
    app.get("/users/{id}", [](fastserve::request& req, fastserve::response& res) { res.text(req.param("id")); });
    app.get("/slow", [](fastserve::request&, fastserve::response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(50ms);
        res.text("done");
    });
    return app.run("127.0.0.1:8080");
}
