// Request heads by the million: made by the grammar, then damaged in ways that parsers differ about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

namespace differential {

class head_source {
public:
    explicit head_source(std::uint64_t seed) : random_(seed) {}

    // A head: one of three is plainly sound, one has parts that parsers differ about, one is damaged besides.
    std::string next() {
        std::string head = one_in(2) ? plain() : odd();
        if (!one_in(3)) return head;
        for (std::size_t n = 1 + below(3); n > 0; --n) damage(head);
        return head;
    }

private:
    using texts = std::initializer_list<std::string_view>;

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    std::string one_of(texts choices) { return std::string(choices.begin()[below(choices.size())]); }
    std::string some_of(std::string_view alphabet, std::size_t most) {
        std::string s(below(most + 1), ' ');
        for (char& c : s) c = alphabet[below(alphabet.size())];
        return s;
    }

    static constexpr std::string_view name_bytes = "abcdefghijklmnopqrstuvwxyzABCDEFXYZ0123456789-_.!#$%&'*+^`|~";
    static constexpr std::string_view path_bytes = "abcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/";
    static constexpr std::string_view value_bytes = "abcdefghijklmnopqrstuvwxyz0123456789 \t,;=\"()/:?{}[]\x80\xe9\xff";

    std::string method() {
        if (one_in(20)) return "A" + some_of(name_bytes, 40);
        return one_of({"GET",   "GET",   "GET",     "POST",     "PUT",      "HEAD",   "DELETE",     "OPTIONS",
                       "PATCH", "TRACE", "CONNECT", "M-SEARCH", "PROPFIND", "PURGE",  "MKCALENDAR", "SOURCE",
                       "get",   "BREW",  "UNLINK",  "ACL",      "BIND",     "REBIND", "LINK",       "NOTIFY"});
    }

    std::string path() {
        std::string s = "/" + some_of(path_bytes, one_in(8) ? 200 : 12);
        if (one_in(6)) s += one_of({"%41", "%2f", "%00", "%", "%4", "%zz", "//", "/../", "%e9"});
        if (one_in(3))
            s += "?" + some_of(path_bytes, 10) + one_of({"", "", "?", "[]=1", "%20", "#f", "a|b", "\"", "\xc3\xa9"});
        return s;
    }

    std::string target(const std::string& method) {
        if (method == "CONNECT") return one_of({"a:80", "a.example:443", "[::1]:80", "a", "/", "a:", "u@a:80"});
        if (method == "OPTIONS" && one_in(2)) return "*";
        if (one_in(8))
            return one_of({"http://", "https://", "HTTP://", "ftp://", "http:/", "a"}) + host() +
                   (one_in(2) ? path() : "");
        if (one_in(30)) return one_of({"*", "?a", "a/b", "\\", "http://u@h/", "http:///", "#"});
        return path();
    }

    std::string host() {
        if (!one_in(3)) return one_of({"localhost", "a.example", "127.0.0.1:8080", "[::1]"});
        std::string s =
            one_of({"a", "a.example", "127.0.0.1", "[::1]", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "[v1.a:b]", "%41b",
                    "a_b", "[::1", "[:::]", "a b", "a,b", "", "u@a", "[1::2::3]", "[12345::]", "a\xe9", "x!y"});
        if (one_in(3)) s += one_of({":80", ":", ":65536", ":8a", ":-1", "::"});
        return s;
    }

    std::string line() {
        switch (below(9)) {
        case 0:
            return one_of({"Connection: ", "connection:"}) +
                   one_of({"close", "keep-alive", "Close", "upgrade", "keep-alive, close", "x", "close,", ",", "a b",
                           "\"close\"", "", "keep-alive , Upgrade", "close;q=1"});
        case 1:
            return one_of({"Content-Length: ", "content-length:"}) +
                   one_of({"0", "5", "10", "007", "5 ", "+5", "-5", "5,5", "5, 6", "0x5", "18446744073709551615",
                           "18446744073709551616", "184467440737095516150", "", "5a", "1 2", "99999999999999999999"});
        case 2:
            return one_of({"Transfer-Encoding: ", "transfer-encoding:"}) +
                   one_of({"chunked", "Chunked", "gzip, chunked", "chunked, gzip", "identity", "chunked,",
                           "chunked, chunked", "xchunked", "chunked;a=b", "", "\"chunked\"", "gzip", ", chunked"});
        case 3: return "Expect: " + one_of({"100-continue", "100-Continue", "x", "", "100-continue, x"});
        case 4:
            return one_of({"Upgrade: websocket", "Upgrade: h2c", "TE: trailers", "Proxy-Connection: keep-alive",
                           "Cookie: a=b; c=d"});
        case 5: return one_of({"Host", "X A", "X-A ", "", "X-A\t", "X(A)", "\xe9"}) + ": " + some_of(value_bytes, 6);
        case 6: return " " + some_of(value_bytes, 8);
        default:
            return "X" + some_of(name_bytes, one_in(9) ? 80 : 10) + ":" + one_of({" ", "", "\t", "  "}) +
                   some_of(value_bytes, one_in(9) ? 200 : 16);
        }
    }

    std::string plain() {
        const std::string to =
            one_of({"localhost", "a.example", "127.0.0.1:8080", "[::1]", "[v1.a:b]:80", "x_y:", "%41b"});
        std::string head = one_of({"GET", "HEAD", "POST", "PUT", "OPTIONS", "M-SEARCH", "PURGE", "TRACE"}) + " ";
        if (one_in(10)) head += one_of({"http://", "https://"}) + to;
        head += "/" + some_of(path_bytes, one_in(9) ? 150 : 15) + one_of({"", "", "?a=b", "%20", "?"}) + " HTTP/" +
                one_of({"1.1", "1.1", "1.0"});
        head += "\r\nHost: " + to + "\r\n";
        for (std::size_t n = below(one_in(20) ? 60 : 7); n > 0; --n)
            head += "X" + some_of(name_bytes, 12) + ":" + one_of({"", " ", "\t ", "  "}) +
                    some_of(value_bytes, one_in(9) ? 120 : 20) + "\r\n";
        head += one_of({"", "", "Content-Length: 5\r\n", "content-length:0017\r\n", "Content-Length:\t0 \r\n"});
        head += one_of({"", "", "Connection: close\r\n", "connection: keep-alive, Upgrade\r\nUpgrade: x\r\n",
                        "Connection: x,Close\r\n", "Connection: keep-alive\r\n"});
        return head + one_of({"", "", "Expect: 100-continue\r\n"}) + "\r\n";
    }

    std::string odd() {
        const std::string m = method();
        std::string head = one_in(20) ? one_of({"\r\n", "\r\n\r\n", "\n", "\r"}) : "";
        head +=
            m + " " + target(m) + " HTTP/" +
            (one_in(12) ? one_of({"1.2", "2.0", "1", "0.9", "1.10", "1.9", "3.0"}) : one_of({"1.1", "1.1", "1.0"})) +
            "\r\n";
        const bool first = one_in(2);
        if (first && !one_in(20)) head += "Host: " + host() + "\r\n";
        for (std::size_t n = below(one_in(30) ? 40 : 6); n > 0; --n) head += (below(9) < 4 ? line() : "A: b") + "\r\n";
        if (!first && !one_in(20)) head += "hOST:" + host() + "\r\n";
        return head + "\r\n";
    }

    // Line ends, blanks, controls, and what stands between two parts of the grammar.
    void damage(std::string& head) {
        const std::size_t at = below(head.size() + 1);
        const auto find = [&](std::string_view what) {
            const std::size_t found = head.find(what, at);
            return found == head.npos ? head.find(what) : found;
        };
        switch (below(9)) {
        case 0:
            if (at < head.size()) head[at] = static_cast<char>(below(256));
            return;
        case 1:
            head.insert(
                at, one_of({"\r", "\n", " ", "\t", ":", "\r\n", std::string_view("\0", 1), "\x7f", "\x01", "%", ","}));
            return;
        case 2: head.erase(at, 1 + below(3)); return;
        case 3:
            if (const auto found = find("\r\n"); found != head.npos)
                head.replace(found, 2,
                             one_of({"\n", "\r", "\r\r\n", "\n\r", " \r\n", "\r\n ", "\r\n\t", "\r\n\r\n", ""}));
            return;
        case 4:
            if (const auto found = find(":"); found != head.npos)
                head.replace(found, 1, one_of({" :", "", "::", "\t:", ":\x0b", ": \r\n "}));
            return;
        case 5:
            if (const auto found = find(" "); found != head.npos)
                head.replace(found, 1, one_of({"  ", "\t", "", " \t", "\x0c"}));
            return;
        case 6:
            if (const auto found = find("\r\n"); found != head.npos) head.insert(found + 2, line() + "\r\n");
            return;
        case 7: {
            const std::string other = odd();
            head = head.substr(0, at) + other.substr(below(other.size()));
            return;
        }
        default: head.insert(at, head.substr(below(head.size() + 1), below(20))); return;
        }
    }

    std::mt19937_64 random_;
};

} // namespace differential
