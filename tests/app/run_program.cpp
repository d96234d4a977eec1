// A program whose main is server::run(), for run_test.cpp: run_program ADDRESS GRACE_MS [SIGNAL]
// SIGNAL comes as soon as it listens, where nobody can send it from outside.
#include <fastserve/fastserve.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
int signal_at_listen = 0;
}

// Instead of the C library's.
extern "C" int listen(int fd, int backlog) noexcept {
    const long done = ::syscall(SYS_listen, fd, backlog);
    if (const int s = std::exchange(signal_at_listen, 0)) ::kill(::getpid(), s); // a drain listens once more
    return static_cast<int>(done);
}

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) return 2;
    if (argc == 4) signal_at_listen = std::atoi(argv[3]);
    fastserve::server app({.workers = 1, .grace = std::chrono::milliseconds(std::atoi(argv[2]))});
    app.get("/", [] { return "hello world"; });
    app.get("/slow/{ms}", [](fastserve::request& req, fastserve::response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(std::chrono::milliseconds(*req.param<int>("ms")));
        res.text("done");
    });
    app.get("/stubborn", fastserve::blocking([] { std::this_thread::sleep_for(std::chrono::hours(1)); }));
    return app.run(argv[1]);
}
