// The site that the machine's tests serve, and the answers it must give, byte for byte.
#pragma once

#include "machine_driver.hpp"

#include <charconv>
#include <string>
#include <string_view>

namespace machine_test {

// ---- what the site answers

inline std::string date_lines() {
    return "Server: fastserve\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
}

// An answer of the site; `connection` is "", "close" or "keep-alive".
inline std::string answer(int status, std::string_view body, std::string_view connection = {}, bool head_only = false) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason(status)) + "\r\n" + date_lines();
    if (!connection.empty()) text += "Connection: " + std::string(connection) + "\r\n";
    if (status != 204 && status != 304) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n";
    return head_only ? text : text + std::string(body);
}
inline std::string ok(std::string_view body, std::string_view connection = {}) {
    return answer(200, body, connection);
}

inline const std::string hello = ok("hello world");

// An answer of the machine itself, after which it closes.
inline std::string refused(int status, bool head_only = false) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason(status)) + "\r\n" + date_lines();
    if (status == 503) text += "Retry-After: 1\r\n";
    text += "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: " +
            std::to_string(reason(status).size() + 1) + "\r\n\r\n";
    return head_only ? text : text + std::string(reason(status)) + "\n";
}

constexpr std::string_view continue_text = "HTTP/1.1 100 Continue\r\n\r\n";

// What large bodies are made of: no two places close together look alike.
inline std::string pattern(std::size_t size) {
    std::string text;
    text.reserve(size + 24);
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2'654'435'761U) + '/';
    text.resize(size);
    return text;
}

inline std::string repeated(std::string_view text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i != count; ++i) all += text;
    return all;
}

// All that a handler can see of its request.
inline std::string report(const exchange& x) {
    std::string text = std::string(x.head.method_text()) + ' ' + std::string(x.head.target()) + " 1." +
                       std::to_string(x.head.version_minor) + '\n';
    for (const field_line& line : x.head.fields)
        text += std::string(x.head.name(line)) + '=' + std::string(x.head.value(line)) + '\n';
    return text + "host " + std::string(x.head.host()) + " path " + std::string(x.head.path()) + " query " +
           std::string(x.head.query()) + '\n' + std::string(x.body);
}

// The path of a target is a list of words; the last is the kind of answer:
//     /report  report(), /hello "hello world", /no 404 at routing, /204 /304 /500, /close with Connection: close,
//     /piece a body in pieces that the test reads and sends (streamed, suspended),
//     /large?N and /shared?N N bytes, moved or shared, /stream a body in pieces, /wide?N a field of N bytes
// The first may be /owned (the handler is not plain), /later (it is suspended, and not plain) or /defer (plain, and
// suspended nevertheless).
inline void serve(exchange& x) {
    const auto path = x.head.path();
    const auto word = path.substr(path.rfind('/') + 1);
    std::size_t n = 0;
    const auto query = x.head.query();
    std::from_chars(query.data(), query.data() + query.size(), n);
    if (word == "report") x.response.body(report(x));
    if (word == "hello") x.response.body("hello world");
    if (word == "no" || word == "204" || word == "304" || word == "500") {
        x.response.status(word == "no" ? 404 : static_cast<int>(word[0] - '0') * 100 + word[2] - '0');
        x.response.body("not sent for every status");
    }
    if (word == "close") x.response.close();
    if (word == "large") x.response.body(pattern(n));
    if (word == "shared") x.response.body(std::make_shared<const std::string>(pattern(n)));
    if (word == "stream") x.response.stream();
    if (word == "wide") x.response.add("X-Wide", std::string(n, 'w'));
}

inline bool begins(const exchange& x, std::string_view prefix) {
    return x.head.path().substr(0, prefix.size()) == prefix;
}

// Counters of one site, and its limits.
struct site_state {
    std::uint64_t body_bytes = 1 << 20;
    std::chrono::milliseconds handler_timeout{0};
    std::size_t served = 0;
};

inline site test_site(site_state& state) {
    site s;
    s.route = [&state](exchange& x) {
        decision d;
        d.body_bytes = state.body_bytes;
        d.handler_timeout = state.handler_timeout;
        d.plain = !begins(x, "/owned/") && !begins(x, "/later/");
        d.streamed = begins(x, "/piece");
        d.answered = x.head.path() == "/no";
        if (d.answered) serve(x);
        return d;
    };
    s.handle = [&state](exchange& x) {
        ++state.served;
        if (begins(x, "/defer/")) {
            x.response.body("deferred"); // its request is gone when it returns
            return false;
        }
        if (begins(x, "/later/") || begins(x, "/piece")) return false;
        serve(x);
        return true;
    };
    s.finish = [](exchange& x) {
        if (x.response.kind() == body_kind::none)
            serve(x);
        else
            EXPECT_TRUE(x.body.empty()) << "borrowed, and gone";
    };
    return s;
}

struct site_driver : site_state, driver {
    site_driver() : site_driver(options{}) {}
    explicit site_driver(options o) : driver(test_site(*this), o) {}
};

inline std::string get(std::string_view target, std::string_view fields = {}, std::string_view version = "1.1") {
    return "GET " + std::string(target) + " HTTP/" + std::string(version) + "\r\nHost: a\r\n" + std::string(fields) +
           "\r\n";
}
inline std::string post(std::string_view target, std::string_view body, std::string_view fields = {}) {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
// In chunks of at most `most` bytes, with an extension and a trailer field.
inline std::string chunks(std::string_view body, std::size_t most) {
    std::string text;
    while (!body.empty()) {
        const auto piece = body.substr(0, most);
        char size[18];
        text.append(size, write_chunk_head(size, piece.size())).append(piece).append("\r\n");
        body.remove_prefix(piece.size());
    }
    return text + "0;last\r\nX-Sum: 1\r\n\r\n";
}
inline std::string post_chunks(std::string_view target, std::string_view body, std::size_t most,
                               std::string_view fields = {}) {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) +
           "Transfer-Encoding: chunked\r\n\r\n" + chunks(body, most);
}
// What report() says about the above.
inline std::string reported(std::string_view method, std::string_view path, std::string_view fields,
                            std::string_view body) {
    return std::string(method) + ' ' + std::string(path) + " 1.1\nHost=a\n" + std::string(fields) + "host a path " +
           std::string(path) + " query \n" + std::string(body);
}

} // namespace machine_test
