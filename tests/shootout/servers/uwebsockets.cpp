// uWebSockets: an App a thread, each with a listener of its own on the one port.
//
//     uwebsockets PORT THREADS BODY
#include "App.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

void serve(int port, std::string_view body) {
    uWS::App app;
    app.get("/*", [body](auto* res, auto*) { res->writeHeader("Content-Type", "text/plain")->end(body); });
    app.listen("127.0.0.1", port, [](auto* listener) {
        if (listener) return;
        std::fputs("uwebsockets: cannot listen\n", stderr);
        std::exit(1);
    });
    app.run();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: uwebsockets PORT THREADS BODY\n", stderr);
        return 2;
    }
    const int port = std::atoi(argv[1]);
    std::vector<std::thread> threads;
    for (int i = 1; i < std::atoi(argv[2]); ++i) threads.emplace_back(serve, port, argv[3]);
    serve(port, argv[3]);
}
