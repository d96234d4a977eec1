// Trailers of requests: that they are there however the bytes are cut, and what is found among them.
#include "machine_site.hpp"

namespace {

using namespace machine_test;

const std::string section = "X-Sum: 17\r\nX-Empty:\r\nx-sum: 18\r\nX-Blank:\t a b \t\r\nContent-Length: 3\r\n";

std::string with_trailers(std::string_view lines) {
    return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\n" +
           std::string(lines) + "\r\n";
}

enum class kind { plain, owned, streamed };

site served_as(kind k) {
    site s;
    s.route = [k](exchange& x) {
        return decision{.plain = k == kind::plain,
                        .streamed = k == kind::streamed && x.head.body != framing::none,
                        .body_bytes = 1'000};
    };
    s.handle = [k](exchange& x) {
        if (k == kind::streamed && x.head.body != framing::none) return false;
        x.response.body(std::string(x.body) + "|" + std::string(x.request_trailers));
        return true;
    };
    s.finish = [](exchange&) {};
    return s;
}

// The body, and what is behind it, as the handler sees them.
std::string seen(driver& d, std::string_view bytes) {
    d.receive(bytes);
    if (d.waiting && !d.m.reading()) d.read_all();
    if (!d.waiting || d.pieces.empty() || !d.pieces.back().empty()) return "";
    std::string all;
    for (const std::string& piece : d.pieces) all += piece;
    all += "|" + std::string(d.waiting->request_trailers);
    d.waiting->response.body(all);
    d.finish();
    return all;
}

TEST(trailers, are_there_however_they_are_cut) {
    const std::string sent = with_trailers(section) + get("/");
    const std::string expected = ok("helloyou|" + section) + ok("|");
    for (const kind k : {kind::plain, kind::owned, kind::streamed}) {
        for (std::size_t at = 1; at != sent.size(); ++at) {
            driver d(served_as(k));
            seen(d, std::string_view(sent).substr(0, at));
            seen(d, std::string_view(sent).substr(at));
            ASSERT_EQ(d.wire, expected) << at;
        }
        driver d(served_as(k));
        for (const char& c : sent) seen(d, {&c, 1});
        EXPECT_EQ(d.wire, expected);
    }
}

TEST(trailers, as_many_as_the_limits_allow) {
    std::string lines;
    for (int i = 0; i != 1'000; ++i) lines += "X-" + std::to_string(i) + ": " + pattern(20) + "\r\n";
    for (const std::size_t spare : {1U, 2U, 3U}) { // of the bytes that the end takes
        for (const std::size_t most : {700U, 100'000U}) {
            driver::options o;
            o.bounds.trailer_bytes = lines.size() + spare;
            o.bounds.trailer_fields = 1'000;
            driver d(served_as(kind::plain), o);
            const std::string sent = with_trailers(lines);
            for (std::size_t at = 0; at < sent.size(); at += most) d.receive(std::string_view(sent).substr(at, most));
            EXPECT_EQ(d.wire, spare < 2 ? refused(431) : ok("helloyou|" + lines)) << spare << " " << most;
        }
    }
}

TEST(trailers, no_memory) {
    for (const kind k : {kind::plain, kind::streamed}) {
        driver::options o;
        o.pool_bytes = std::size_t{1} << 20;
        driver d(served_as(k), o);
        const std::string sent = with_trailers(section);
        const std::size_t at = sent.find("X-Sum") + 1;
        if (k == kind::plain) d.receive(std::string_view(sent).substr(0, at - 1)); // what it has takes the rest
        std::vector<pool::buffer> hoard;
        while (pool::buffer b = d.cache->acquire(4'096)) hoard.push_back(std::move(b));
        d.held_by_test = hoard.size();
        if (k == kind::streamed) { // room for the head
            d.cache->release(std::move(hoard.back()));
            hoard.pop_back();
            --d.held_by_test;
            d.receive(sent);
        } else {
            d.receive(std::string_view(sent).substr(at - 1));
        }
        EXPECT_EQ(d.wire, refused(503));
        for (pool::buffer& b : hoard) d.cache->release(std::move(b));
        d.held_by_test = 0;
    }
}

TEST(trailers, are_found_by_name) {
    EXPECT_EQ(find_trailer(section, "X-Sum"), "17");
    EXPECT_EQ(find_trailer(section, "x-sUM"), "17");
    EXPECT_EQ(find_trailer(section, "X-Empty"), "");
    EXPECT_EQ(find_trailer(section, "X-Blank"), "a b");
    for (const std::string_view name : {"X-Su", "X-Sum:", "", "17", "Digest", "X-Sum: 17"})
        EXPECT_EQ(find_trailer(section, name), std::nullopt) << name;
    EXPECT_EQ(find_trailer("", "X-Sum"), std::nullopt);
    EXPECT_EQ(find_trailer("X-Sum: 1", "X-Sum"), std::nullopt) << "half a line";
}

// RFC 9110 6.5.1.
TEST(trailers, what_must_be_known_before_the_content_is_not_found) {
    for (const std::string name : {"Transfer-Encoding",
                                   "Content-Length",
                                   "Connection",
                                   "Keep-Alive",
                                   "Upgrade",
                                   "Trailer",
                                   "TE",
                                   "Expect",
                                   "Host",
                                   "Forwarded",
                                   "X-Forwarded-For",
                                   "X-Forwarded-Host",
                                   "X-Forwarded-Proto",
                                   "Origin",
                                   "Authorization",
                                   "WWW-Authenticate",
                                   "Proxy-Authenticate",
                                   "Proxy-Authorization",
                                   "Proxy-Connection",
                                   "Cookie",
                                   "Set-Cookie",
                                   "Cache-Control",
                                   "Pragma",
                                   "Max-Forwards",
                                   "Range",
                                   "If-Match",
                                   "If-Modified-Since",
                                   "If-None-Match",
                                   "If-Range",
                                   "If-Unmodified-Since",
                                   "If-Whatever-Else",
                                   "Content-Encoding",
                                   "Content-Range",
                                   "Content-Type"}) {
        EXPECT_EQ(find_trailer(name + ": x\r\n", name), std::nullopt) << name;
    }
    for (const std::string name : {"ETag", "Digest", "Server-Timing", "X-Content-Length", "I", "If", "Via"})
        EXPECT_EQ(find_trailer(name + ": x\r\n", name), "x") << name;
}

} // namespace
