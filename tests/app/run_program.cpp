// A program whose main is server::run(), for run_test.cpp: run_program ADDRESS GRACE_MS
#include <fastserve/fastserve.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    fastserve::server app({.workers = 1, .grace = std::chrono::milliseconds(std::atoi(argv[2]))});
    app.get("/", [] { return "hello world"; });
    app.get("/slow/{ms}", [](fastserve::request& req, fastserve::response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(std::chrono::milliseconds(*req.param<int>("ms")));
        res.text("done");
    });
    app.get("/stubborn", fastserve::blocking([] { std::this_thread::sleep_for(std::chrono::hours(1)); }));
    return app.run(argv[1]);
}
