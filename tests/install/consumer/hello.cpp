// The README's program as somebody else's project builds it; it asks itself once instead of serving for ever.
#include <fastserve/coding/decoder.hpp>
#include <fastserve/coding/encoder.hpp>
#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <chrono>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

std::string ask(std::uint16_t port, std::string_view path) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::string got;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
        std::string request = "GET ";
        request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        if (::send(fd, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
            char part[4096];
            for (ssize_t n; (n = ::recv(fd, part, sizeof part, 0)) > 0;) got.append(part, static_cast<std::size_t>(n));
        }
    }
    ::close(fd);
    return got;
}

// All that was built in is linked.
bool codes() {
    using namespace fastserve::coding;
    context_cache cache;
    const std::string body(1000, 'a');
    for (const auto c : {gzip, deflate, br, zstd}) {
        std::string coded, back;
        if (available(c) && (encode_whole(cache, c, body, coded) != errc::ok ||
                             decode_whole(cache, c, coded, back) != errc::ok || back != body))
            return false;
    }
    return true;
}

} // namespace

int main() {
    fastserve::server app({.workers = 2});
    app.get("/", [] { return "hello world"; });
    app.get("/users/{id}", [](fastserve::request& req, fastserve::response& res) { res.text(req.param("id")); });
    app.get("/slow", [](fastserve::request&, fastserve::response& res) -> fastserve::awaitable<> {
        co_await fastserve::sleep_for(1ms);
        res.text("done");
    });
    const auto at = app.listen("127.0.0.1:0");
    if (!at || app.start()) return 1;
    const bool right = ask(at->port(), "/").ends_with("\r\n\r\nhello world") &&
                       ask(at->port(), "/users/42").ends_with("\r\n\r\n42") &&
                       ask(at->port(), "/slow").ends_with("\r\n\r\ndone");
    // What its tests are written with is installed, too.
    fastserve::server tested;
    tested.get("/", [] { return "hello test"; });
    const bool testable = fastserve::test::client(tested).get("/").body == "hello test";
    return app.stop().clean() && right && testable && codes() ? 0 : 2;
}
