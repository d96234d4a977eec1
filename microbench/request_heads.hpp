// The request heads that microbenchmarks parse: of 40, 414 and 703 bytes, each in 1,024 variants of equal size whose
// bytes and inner lengths differ, since a branch predictor learns a small set by heart.
#pragma once

#include <fastserve/http/head_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace request_heads {

inline constexpr std::size_t variants = 1024;

struct head_set {
    std::vector<std::string> heads; // each with parse_padding bytes behind it
    std::size_t size = 0;           // of each head
    std::size_t fields = 0;
    std::vector<std::string> targets, hosts;
};

class text_source {
public:
    explicit text_source(std::uint32_t seed) : random_(seed) {}
    std::size_t below(std::size_t n) { return random_() % n; }
    std::string letters(std::size_t n) {
        std::string s(n, ' ');
        for (char& c : s) c = "abcdefghijklmnopqrstuvwxyz0123456789"[below(36)];
        return s;
    }
    template <std::size_t N>
    std::string one_of(const char* const (&texts)[N]) {
        return texts[below(N)];
    }

private:
    std::mt19937 random_;
};

// Fills the last field up to `size` in all, so that variants differ inside and not in sum.
inline std::string with_filler(std::string head, std::string_view name, std::size_t size, text_source& source) {
    head.append(name).append(": ");
    if (head.size() + 4 > size) std::abort();
    head += source.letters(size - head.size() - 4);
    return head + "\r\n\r\n";
}

inline std::string browser_head(text_source& s, const std::string& target, const std::string& host, std::size_t size,
                                bool long_one) {
    std::string h = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n";
    h += "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:" + std::to_string(90 + s.below(30)) +
         ".0) Gecko/20100101 Firefox/" + s.letters(1 + s.below(5)) + "\r\n";
    h +=
        "Accept: " + s.one_of({"text/html,*/*;q=0.8", "*/*", "image/avif,image/webp,*/*", "application/json"}) + "\r\n";
    h += "Accept-Language: " + s.one_of({"en-US,en;q=0.5", "de,en;q=0.7", "fr", "en-GB"}) + "\r\n";
    h += "Accept-Encoding: " + s.one_of({"gzip, deflate, br", "gzip, deflate", "gzip"}) + "\r\n";
    h += "Connection: keep-alive\r\n";
    if (long_one) {
        h += "Referer: http://" + host + "/" + s.letters(10 + s.below(30)) + "\r\n";
        h += "Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n";
        h += "Sec-Fetch-Site: " + s.one_of({"none", "same-origin", "cross-site"}) + "\r\nSec-Fetch-User: ?1\r\n";
        h += "X-" + s.letters(4 + s.below(8)) + ": " + s.letters(1 + s.below(20)) + "\r\n";
        h += "If-None-Match: \"" + s.letters(8 + s.below(16)) + "\"\r\nCache-Control: max-age=0\r\n";
    } else {
        h += "Cache-Control: " + s.one_of({"max-age=0", "no-cache"}) + "\r\n";
    }
    return with_filler(std::move(h), "Cookie", size, s);
}

inline head_set make_set(std::size_t size) {
    head_set set;
    set.size = size;
    set.fields = size < 100 ? 1 : size < 500 ? 8 : 16;
    text_source s(static_cast<std::uint32_t>(size));
    for (std::size_t i = 0; i < variants; ++i) {
        std::string target(1, '/'), head, host;
        target += s.letters(s.below(size < 100 ? 7 : 30));
        if (size < 100) {
            host = s.letters(size - 4 - target.size() - 17 - 4 - 3) + ".de";
            head = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
        } else {
            host = s.letters(3 + s.below(12)) + ".example.com";
            head = browser_head(s, target, host, size, size > 500);
        }
        if (head.size() != size) std::abort();
        set.heads.push_back(head + std::string(fastserve::http::parse_padding, '\0'));
        set.targets.push_back(target);
        set.hosts.push_back(host);
    }
    return set;
}

inline const head_set& set_of(std::size_t size) {
    static const head_set small = make_set(40), browser = make_set(414), large = make_set(703);
    return size == 40 ? small : size == 414 ? browser : large;
}

// Ends the benchmark, for none of its figures would mean anything.
inline void require(bool right, const char* who) {
    if (right) return;
    std::fprintf(stderr, "%s gave a wrong answer\n", who);
    std::abort();
}

} // namespace request_heads
