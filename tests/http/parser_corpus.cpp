#include "parser_corpus.hpp"

#include "parser_support.hpp"

#include <utility>

namespace parser_test {
namespace {

using fastserve::http::errc;

std::string get(std::string_view fields) {
    return "GET / HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) + "\r\n";
}
std::string post(std::string_view fields) {
    return "POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) + "\r\n";
}
std::string line(std::string_view request_line) {
    return std::string(request_line) + "\r\nHost: localhost\r\n\r\n";
}
std::string target(std::string_view t) {
    return line("GET " + std::string(t) + " HTTP/1.1");
}
std::string host(std::string_view value) {
    return "GET / HTTP/1.1\r\nHost: " + std::string(value) + "\r\nAccept: */*\r\n\r\n";
}

void add_request_lines(std::vector<sample>& all) {
    const std::pair<std::string, errc> cases[] = {
        {line("GET / HTTP/1.1"), errc::ok},
        {line("GET / HTTP/1.0"), errc::ok},
        {line("GET / HTTP/1.2"), errc::ok},
        {line("M-SEARCH /a?b HTTP/1.1"), errc::ok},
        {line("DELETE /a HTTP/1.1"), errc::ok},
        {line("BREW / HTTP/1.1"), errc::unknown_method},
        {line("get / HTTP/1.1"), errc::unknown_method},
        {line("GETS / HTTP/1.1"), errc::unknown_method},
        {line(repeat("A", 32) + " / HTTP/1.1"), errc::unknown_method},
        {repeat("A", 33), errc::unknown_method},
        {line("BREW / HTTP/2.0"), errc::unsupported_version},
        {"GE(T", errc::bad_method},
        {"GET\t/", errc::bad_method},
        {"\x16\x03\x01\x02", errc::bad_method},
        {std::string("\0GET / HTTP/1.1\r\n\r\n", 19), errc::bad_method},
        {" / HTTP/1.1\r\n", errc::bad_request_line},
        {"BAD\r\n\r\n", errc::bad_request_line},
        {"GET /\r\nHost: localhost\r\n\r\n", errc::bad_request_line},
        {"GET  / HTTP/1.1\r\n", errc::bad_request_line},
        {"GET\n/", errc::bad_line_end},
        {"GET / HTTP/1.1\nHost: localhost\r\n\r\n", errc::bad_line_end},
        {"GET / HTTP/1.1\rHost: localhost\r\n\r\n", errc::bad_line_end},
        {"GET / HTTP/1.1\r\rHost: localhost\r\n\r\n", errc::bad_line_end},
        {"GET /\nHTTP/1.1\r\n", errc::bad_line_end},
        {line("GET /  HTTP/1.1"), errc::bad_version},
        {line("GET / HTTP/1.1 "), errc::bad_version},
        {line("GET /a b HTTP/1.1"), errc::bad_version},
        {line("GET / http/1.1"), errc::bad_version},
        {line("GET / HTTP/1"), errc::bad_version},
        {line("GET / HTTP/01.1"), errc::bad_version},
        {line("GET / HTTP/1.01"), errc::bad_version},
        {line("GET / HTTP/ 1.1"), errc::bad_version},
        {line("GET / HTTP/1,1"), errc::bad_version},
        {line("GET / HTTP/x.1"), errc::bad_version},
        {line("GET / FTP/1.1"), errc::bad_version},
        {line("GET / HTTP/\r\r1.1"), errc::bad_version},
        {line("GET / HTTP/2.0"), errc::unsupported_version},
        {line("GET / HTTP/0.9"), errc::unsupported_version},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", errc::bad_target},
        {"\r\n" + get(""), errc::ok},
        {repeat("\r\n", 8) + get("X: y\r\n"), errc::ok},
        {repeat("\r\n", 9), errc::bad_request_line},
        {"\n" + get(""), errc::bad_line_end},
        {"\r\r\n" + get(""), errc::bad_line_end},
        {"\r\n GET / HTTP/1.1\r\n", errc::bad_request_line},
    };
    for (const auto& [text, error] : cases) all.push_back({text, error});
}

void add_targets(std::vector<sample>& all) {
    const std::pair<std::string, errc> cases[] = {
        {target("/a/b;c=1/d-._~!$&'()*+,:@=?x=/?:@&y[]=%20%aF"), errc::ok},
        {target("//x"), errc::ok},
        {target("/?"), errc::ok},
        {target("/%00"), errc::ok},
        {target("/" + repeat("%41", 60) + "?" + repeat("a?", 40)), errc::ok},
        {target("/?" + repeat("a", 7900)), errc::ok},
        {target("/%"), errc::bad_target},
        {target("/%4"), errc::bad_target},
        {target("/%4g"), errc::bad_target},
        {target("/%%41"), errc::bad_target},
        {target("/a%zz"), errc::bad_target},
        {target("/a?b%-1"), errc::bad_target},
        {target("/a\x01"
                "b"),
         errc::bad_target},
        {target("/a\tb"), errc::bad_target},
        {target("/a\x7f"), errc::bad_target},
        {target("/caf\xc3\xa9"), errc::bad_target},
        {target("/#frag"), errc::bad_target},
        {target("/a\\b"), errc::bad_target},
        {target("/a\"b"), errc::bad_target},
        {target("/<a>"), errc::bad_target},
        {target("/a^b"), errc::bad_target},
        {target("/a`b"), errc::bad_target},
        {target("/a{b"), errc::bad_target},
        {target("/a|b"), errc::bad_target},
        {target("/a}b"), errc::bad_target},
        {target("?x=1"), errc::bad_target},
        {target("a"), errc::bad_target},
        {target("\\"), errc::bad_target},
        {target("localhost:80"), errc::bad_target},
        {target("*"), errc::bad_target},
        {line("OPTIONS * HTTP/1.1"), errc::ok},
        {line("OPTIONS ** HTTP/1.1"), errc::bad_target},
        {line("OPTIONS *?a HTTP/1.1"), errc::bad_target},
        {line("OPTIONS http://localhost HTTP/1.1"), errc::ok},
        {target("http://localhost/"), errc::ok},
        {target("HTTP://localhost"), errc::ok},
        {target("http://localhost?a"), errc::ok},
        {target("http://[::1]:8080/a?b"), errc::ok},
        {target("https://localhost/"), errc::ok},
        {target("http:///"), errc::bad_target},
        {target("http://"), errc::bad_target},
        {target("http://:80/"), errc::bad_target},
        {target("http://localhost:80a/"), errc::bad_target},
        {target("http://user@localhost/"), errc::bad_target},
        {target("http:/localhost/"), errc::bad_target},
        {target("httpx://localhost/"), errc::bad_target},
        {target("gopher://localhost/"), errc::bad_target},
        {line("CONNECT localhost:80 HTTP/1.1"), errc::ok},
        {line("CONNECT [::1]:80 HTTP/1.1"), errc::ok},
        {line("CONNECT localhost HTTP/1.1"), errc::bad_target},
        {line("CONNECT localhost: HTTP/1.1"), errc::bad_target},
        {line("CONNECT / HTTP/1.1"), errc::bad_target},
        {line("CONNECT http://localhost/ HTTP/1.1"), errc::bad_target},
    };
    for (const auto& [text, error] : cases) all.push_back({text, error});
    all.push_back({"GET /" + repeat("a", 100'000), errc::target_too_long});
}

void add_fields(std::vector<sample>& all) {
    const std::pair<std::string, errc> cases[] = {
        {get("X-A:\r\n"), errc::ok},
        {get("X-A: \r\nX-B:\t \t\r\n"), errc::ok},
        {get("X-A:\t 1 \t2\t \r\n"), errc::ok},
        {get("X-A:a:b\r\n"), errc::ok},
        {get("X-A: caf\xe9 \x80\xff\r\n"), errc::ok},
        {get("!#$%&'*+-.^_`|~09azAZ: x\r\n"), errc::ok},
        {get(repeat("N", 200) + ": " + repeat("v", 300) + "\r\nA: b\r\n"), errc::ok},
        {get("X-A: " + repeat("v", 5000) + "\r\nB: c\r\n"), errc::ok},
        {get(repeat("a: b\r\n", 99)), errc::ok},
        {get(repeat("a:\r\n", 99)), errc::ok},
        {get("x-a: 1\r\nX-A: 2\r\nCookie: a\r\ncookie: b\r\n"), errc::ok},
        {get("Content_Length: 39\r\nTransfer_Encoding: chunked\r\n"), errc::ok},
        {get("X-A : 1\r\n"), errc::bad_field_name},
        {get("X-A\t: 1\r\n"), errc::bad_field_name},
        {get(": 1\r\n"), errc::bad_field_name},
        {get("nocolon\r\n"), errc::bad_field_name},
        {get("Content-Length 5\r\n"), errc::bad_field_name},
        {get("X A: 1\r\n"), errc::bad_field_name},
        {get("X[A: 1\r\n"), errc::bad_field_name},
        {get("(x): 1\r\n"), errc::bad_field_name},
        {get("X\"A: 1\r\n"), errc::bad_field_name},
        {get("X/A: 1\r\n"), errc::bad_field_name},
        {get("X\xe9"
             "A: 1\r\n"),
         errc::bad_field_name},
        {get("X-A\x85: 1\r\n"), errc::bad_field_name},
        {get(std::string("X\0A: 1\r\n", 8)), errc::bad_field_name},
        {get("X-A: one\r\n two\r\n"), errc::obsolete_fold},
        {get("X-A: one\r\n\ttwo\r\n"), errc::obsolete_fold},
        {get("X-A: one\r\n \r\n"), errc::obsolete_fold},
        {"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", errc::obsolete_fold},
        {"GET / HTTP/1.1\r\nX-A: a\rHost: localhost\r\n\r\n", errc::bad_line_end},
        {get("X-A: a\nX-B: b\r\n"), errc::bad_line_end},
        {get("X-A\n: b\r\n"), errc::bad_line_end},
        {get("\nX-A: b\r\n"), errc::bad_line_end},
        {get("X-A: a\r\r\n"), errc::bad_line_end},
        {"GET / HTTP/1.1\r\nHost: localhost\n\n", errc::bad_line_end},
        {get("\rXGET /evil: HTTP/1.1\r\n"), errc::bad_line_end},
        {get("X-A: a\x07"
             "b\r\n"),
         errc::bad_field_value},
        {get("X-A: a\x7f\r\n"), errc::bad_field_value},
        {get(std::string("X-A: a\0b\r\n", 10)), errc::bad_field_value},
        {get(repeat("X-A: b\r\n", 20'000)), errc::too_many_fields},
        {get(repeat("a: b\r\n", 100)), errc::too_many_fields},
        {get("X-A: " + repeat("a", 200'000) + "\r\n"), errc::head_too_large},
        {get(repeat("A", 200'000) + ": x\r\n"), errc::head_too_large},
    };
    for (const auto& [text, error] : cases) all.push_back({text, error});
}

void add_hosts(std::vector<sample>& all) {
    for (const char* value : {"localhost:8080", "localhost:", "[::1]", "[::1]:8080", "[::1]:", "a_b.example", "", " \t",
                              "a-b.c~d!$&'()*+;=", "a%41b", "127.0.0.1", "a,b", "[v1.a:b]", "EXAMPLE.com"})
        all.push_back({host(value), errc::ok});
    for (const char* value : {"local host",
                              "localhost/x",
                              "localhost?x",
                              "localhost#x",
                              "localhost, other.example",
                              "localhost:80a",
                              "localhost:80:81",
                              "[::1",
                              "::1",
                              "[]",
                              "[::1]x",
                              "[::1]:x",
                              "[1::2::3]",
                              "[12345::]",
                              "user@localhost",
                              ":80",
                              "caf\xc3\xa9.example",
                              "localhost\\x",
                              "<localhost>",
                              "a%4",
                              "a%",
                              "a|b",
                              "a^b",
                              "a\"b",
                              "a]b",
                              "local\xa0host",
                              "[::1%25eth0]"})
        all.push_back({host(value), errc::bad_host});
    const std::pair<std::string, errc> cases[] = {
        {host(std::string("local\0host", 10)), errc::bad_field_value},
        {"GET / HTTP/1.1\r\n\r\n", errc::missing_host},
        {"GET / HTTP/1.0\r\n\r\n", errc::ok},
        {"GET http://localhost/ HTTP/1.1\r\n\r\n", errc::missing_host},
        {"GET http://localhost/ HTTP/1.1\r\nHost: other.example\r\n\r\n", errc::ok},
        {"GET http://localhost/ HTTP/1.1\r\nHost: bad host\r\n\r\n", errc::bad_host},
        {"GET http://localhost/ HTTP/1.1\r\nHost:\r\n\r\n", errc::bad_host},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other.example\r\n\r\n", errc::duplicate_host},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n", errc::duplicate_host},
        {"GET / HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n", errc::duplicate_host},
    };
    for (const auto& [text, error] : cases) all.push_back({text, error});
}

void add_framing(std::vector<sample>& all) {
    const std::pair<std::string, errc> cases[] = {
        {post("Content-Length: 5\r\n"), errc::ok},
        {post("Content-Length: 0\r\n"), errc::ok},
        {post("Content-Length: 010\r\n"), errc::ok},
        {post("Content-Length: 18446744073709551615\r\n"), errc::ok},
        {post("Content-Length: 18446744073709551616\r\n"), errc::bad_content_length},
        {post("Content-Length: 18446744073709551621\r\n"), errc::bad_content_length},
        {post("Content-Length: 21000000000000000000\r\n"), errc::bad_content_length},
        {post("Content-Length: " + repeat("9", 100) + "\r\n"), errc::bad_content_length},
        {post("Content-Length: 5\r\nContent-Length: 5\r\n"), errc::duplicate_content_length},
        {post("Content-Length: 0\r\nContent-Length: 5\r\n"), errc::duplicate_content_length},
        {post("Transfer-Encoding: chunked\r\n"), errc::ok},
        {post("Transfer-Encoding: ChUnKeD\t\r\n"), errc::ok},
        {post("Transfer-Encoding: gzip, chunked\r\n"), errc::unknown_transfer_coding},
        {post("Transfer-Encoding: gzip,br , chunked\r\n"), errc::unknown_transfer_coding},
        {post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), errc::bad_transfer_encoding},
        {post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), errc::bad_transfer_encoding},
        {post("Transfer-Encoding:\r\n chunked\r\n"), errc::obsolete_fold},
        {post("Transfer-Encoding : chunked\r\n"), errc::bad_field_name},
        {post("Content-Length: 44\r\nTransfer-Encoding: chunked\r\n"), errc::length_and_chunked},
        {post("Transfer-Encoding: chunked\r\nContent-Length: 44\r\n"), errc::length_and_chunked},
        {post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), errc::length_and_chunked},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", errc::bad_transfer_encoding},
        {"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
         errc::bad_transfer_encoding},
        {post("Content-Length: 5\r\nExpect: 100-continue\r\n"), errc::ok},
        {post("Content-Length: 5\r\nExpect: 100-Continue, ,100-continue\r\n"), errc::ok},
        {post("Expect:\r\n"), errc::ok},
        {post("Expect: 100-continue, x-magic\r\n"), errc::expectation_failed},
        {post("Expect: 100-continue\r\nExpect: x-magic\r\n"), errc::expectation_failed},
        {post("Expect: 100-continue;q=1\r\n"), errc::expectation_failed},
        {"POST / HTTP/1.0\r\nExpect: x-magic\r\n\r\n", errc::ok},
    };
    for (const auto& [text, error] : cases) all.push_back({text, error});
    for (const char* value :
         {"", ",", "5, 5", "5, 6", "5,", "+5", "-48", "5a", "1 0", "5.0", "5e0", "0x5", "0o5", "\"5\"", "5;5", "5\xa0",
          "\xa0"
          "5",
          "\x85"
          "5"})
        all.push_back({post("Content-Length: " + std::string(value) + "\r\n"), errc::bad_content_length});
    for (const char* value : {"\x0b"
                              "5",
                              "5\x0c"})
        all.push_back({post("Content-Length: " + std::string(value) + "\r\n"), errc::bad_field_value});
    for (const char* value : {"",
                              ",",
                              "gzip",
                              "identity",
                              "xchunked",
                              "chunk",
                              "chunkedchunked",
                              "chunked, gzip",
                              "chunked, identity",
                              "chunked, chunked",
                              "chunked, xchunked",
                              "chunked,",
                              ",chunked",
                              "chunked;",
                              "chunked;q=1",
                              "chunked foo",
                              "\"chunked\"",
                              "\xa0"
                              "chunked",
                              "chunked\xa0",
                              "gzip;q=1, chunked",
                              "gzip,, chunked"})
        all.push_back({post("Transfer-Encoding: " + std::string(value) + "\r\n"), errc::bad_transfer_encoding});
}

void add_long_ones(std::vector<sample>& all) {
    all.push_back({"GET /index.html?a=1&b=2 HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux "
                   "x86_64; rv:109.0) Gecko/20100101 Firefox/115.0\r\nAccept: text/html,application/xhtml+xml,"
                   "application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, "
                   "deflate, br\r\nConnection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\n\r\n",
                   errc::ok});
    // Line ends at every place relative to a block's.
    for (std::size_t n = 0; n < 70; ++n) {
        all.push_back({get("A: " + repeat("b", n) + "\r\nC: d\r\n"), errc::ok});
        all.push_back({get(repeat("n", n + 1) + ":v\r\nC:d\r\n"), errc::ok});
        all.push_back({target(std::string("/").append(n, 'p') + "?" + repeat("q", 70 - n)), errc::ok});
    }
    // More than one scan of the window, with lines across its end.
    for (std::size_t n = 900; n < 1030; n += 3)
        all.push_back(
            {get("A: " + repeat("b", n) + "\r\nC: d\r\n" + repeat("Long-Name: and its value\r\n", 60)), errc::ok});
}

} // namespace

const std::vector<sample>& corpus() {
    static const std::vector<sample> all = [] {
        std::vector<sample> made;
        add_request_lines(made);
        add_targets(made);
        add_fields(made);
        add_hosts(made);
        add_framing(made);
        add_long_ones(made);
        return made;
    }();
    return all;
}

} // namespace parser_test
