// The server that the wire cases are sent to, made of what any user of the library has.
//
//     wire_fixture [PORT]
//
// Serves on 127.0.0.1, by default at a port the kernel chooses, which it writes on a line of its own; ends with TERM,
// or when its standard input ends if that is a pipe, which it does with whoever started it. What it offers:
//
//     /            GET and HEAD: 200                 /204, /205        GET and HEAD: that status
//     /echo        any method: the body comes back   /redirect?to=X    302 with that Location
//     /small       the same, of 1 KiB at most        /static/NAME      a file of a folder that it makes (folder.hpp)
//     /get-only    GET and HEAD: 200                 anything else     404
//
// and in pieces
//
//     /stream-echo   any method: each piece of the body comes back as it comes
//     /stream-refuse any method: 403, and the body is not read
//     /stream        GET and HEAD: "hello world"     /early    GET: 103 with a Link, then 200
//     /trailer       GET: "hello", and X-Sum behind it
#include "files.hpp"
#include "folder.hpp"

#include <fastserve/fastserve.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

void echo(fastserve::request& q, fastserve::response& r) {
    r.bytes(std::string(q.body()), q.field("Content-Type").value_or("application/octet-stream"));
}

void redirect(fastserve::request& q, fastserve::response& r) {
    const auto to = q.query("to");
    const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
    if (!to || !std::all_of(to->begin(), to->end(), visible)) {
        r.problem(400, "to= is no location");
        return;
    }
    r.redirect(*to);
}

fastserve::awaitable<> stream_echo(fastserve::request& q, fastserve::response& r) {
    for (;;) {
        const auto piece = co_await q.read();
        if (!piece) co_return;
        if (co_await r.write(piece->bytes)) co_return;
        if (piece->empty()) co_return;
    }
}

fastserve::awaitable<> stream_refuse(fastserve::request&, fastserve::response& r) {
    r.status(403).text("not wanted\n");
    co_return;
}

fastserve::awaitable<> stream(fastserve::request&, fastserve::response& r) {
    for (const char* const piece : {"hello", "", " ", "world"})
        if (co_await r.write(piece)) co_return;
}

fastserve::awaitable<> early(fastserve::request&, fastserve::response& r) {
    r.add("Link", "</style.css>; rel=preload; as=style");
    const fastserve::error_code failed = co_await r.interim(103);
    if (!failed) r.text("late");
}

fastserve::awaitable<> trailer(fastserve::request&, fastserve::response& r) {
    const fastserve::error_code failed = co_await r.write("hello");
    if (!failed) r.trailer("X-Sum", "5");
}

// Until one of `signals` comes, or standard input ends: a pipe, as /dev/null has ended from the beginning.
void wait_for_the_end(int signals) {
    struct stat about {};
    const bool piped = ::fstat(STDIN_FILENO, &about) == 0 && S_ISFIFO(about.st_mode);
    pollfd ends[] = {{.fd = piped ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
                     {.fd = signals, .events = POLLIN, .revents = 0}};
    for (;;) {
        if (::poll(ends, 2, -1) < 0) continue;
        if (ends[1].revents != 0) return;
        char dropped[256];
        if (ends[0].revents != 0 && ::read(STDIN_FILENO, dropped, sizeof dropped) <= 0) return;
    }
}

} // namespace

int main(int argc, char** argv) {
    // Before there are threads, so that none of them takes a signal.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
    const int signals = ::signalfd(-1, &ends, SFD_CLOEXEC);

    const wire::folder folder;
    fastserve::server app(
        {.workers = 2, .grace = std::chrono::milliseconds(500), .log = [](const fastserve::log_record& r) {
             std::fprintf(stderr, "%.*s\n", static_cast<int>(r.message.size()), r.message.data());
         }});
    app.get("/", [] { return "hello world"; });
    app.get("/get-only", [] { return "got"; });
    app.any("/echo", echo);
    app.any("/small", echo, {.max_body = 1024});
    // With what must not be sent.
    app.get("/204", [](fastserve::request&, fastserve::response& r) { r.status(204).text("no content\n"); });
    app.get("/205", [](fastserve::request&, fastserve::response& r) { r.status(205).text("reset content\n"); });
    app.get("/redirect", redirect);
    app.any("/stream-echo", stream_echo, {.body = fastserve::body::streamed});
    app.any("/stream-refuse", stream_refuse, {.body = fastserve::body::streamed});
    app.get("/stream", stream);
    app.get("/early", early);
    app.get("/trailer", trailer);
    app.get("/static/{name...}",
            [&folder](fastserve::request& q, fastserve::response& r) { wire::serve_file(folder.root(), q, r); });

    const std::string where = std::string("127.0.0.1:") + (argc > 1 ? argv[1] : "0");
    const auto at = app.listen(where);
    if (!at) {
        std::fprintf(stderr, "%s\n", fastserve::listen_error(where, at.error()).c_str());
        return 1;
    }
    if (const auto e = app.start()) {
        std::fprintf(stderr, "%s\n", e.message().c_str());
        return 1;
    }
    std::printf("%u\n", at->port());
    std::fflush(stdout);
    wait_for_the_end(signals);
    app.stop(); // clients that wait for the end of a case may be cut
    return 0;
}
