// What the shipped program does not serve: another body at /, and at /upload one that is counted while it arrives.
// Written as any user of the library would; all else is as shipped.
//
//     fastserve_body ADDRESS WORKERS BODY      WORKERS 0: one a CPU
#include <fastserve/fastserve.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

fastserve::awaitable<> count(fastserve::request& req, fastserve::response& res) {
    std::uint64_t bytes = 0;
    for (;;) {
        const auto piece = co_await req.read();
        if (!piece) co_return; // the server answers why
        if (piece->empty()) break;
        bytes += piece->bytes.size();
    }
    res.bytes(std::to_string(bytes), "text/plain");
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: fastserve_body ADDRESS WORKERS BODY\n", stderr);
        return 2;
    }
    fastserve::server app({.workers = static_cast<unsigned>(std::atoi(argv[2]))});
    const std::string body = argv[3];
    app.get("/",
            [&body](fastserve::request&, fastserve::response& res) { res.bytes(std::string(body), "text/plain"); });
    app.post("/upload", count, {.body = fastserve::body::streamed});
    return app.run(argv[1]);
}
