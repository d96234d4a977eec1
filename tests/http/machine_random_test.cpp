// Random conversations: whatever the requests are, however they are cut, sent, received, suspended and finished, the
// peer gets the answers that belong to them, in order.
#include "machine_site.hpp"

#include <random>

namespace {

using namespace machine_test;

class conversation {
public:
    explicit conversation(std::uint64_t seed) : random_(seed) {
        const std::size_t count = 1 + below(30);
        for (std::size_t i = 0; i != count; ++i) add(i + 1 == count);
    }

    std::string sent, expected;
    bool closes = false;
    bool lingers = false;

    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
    bool one_in(std::size_t n) { return below(n) == 0; }

    // Small ones are likely, all up to `most` possible.
    std::size_t size(std::size_t most) {
        std::size_t bits = 1;
        while (most >> bits != 0) ++bits;
        return below(std::min(most, std::size_t{1} << below(bits + 1)) + 1);
    }

private:
    std::string path(std::string_view word) {
        const std::string_view kinds[] = {"/", "/owned/", "/later/"};
        return std::string(kinds[below(3)]) + std::string(word);
    }

    void add(bool last) {
        if (one_in(4)) return add_pieces();
        switch (below(last ? 12 : 9)) {
        case 0:
            sent += get(path("hello"));
            expected += hello;
            break;
        case 1: {
            const std::string value = pattern(size(3'000)), p = path("report");
            sent += get(p, "X-Value: " + value + "\r\n");
            expected += ok(reported("GET", p, "X-Value=" + value + "\n", ""));
            break;
        }
        case 2: {
            const std::string body = pattern(size(70'000)), p = path("report");
            const bool expects = one_in(4) && !body.empty();
            sent += post(p, body, expects ? "Expect: 100-continue\r\n" : "");
            expected += ok(reported("POST", p,
                                    (expects ? "Expect=100-continue\n" : "") + std::string("Content-Length=") +
                                        std::to_string(body.size()) + "\n",
                                    body));
            break;
        }
        case 3: {
            const std::string body = pattern(size(70'000)), p = path("report");
            const bool expects = one_in(4);
            sent += post_chunks(p, body, 1 + size(body.size()), expects ? "Expect: 100-continue\r\n" : "");
            expected += ok(
                reported("POST", p,
                         (expects ? "Expect=100-continue\n" : "") + std::string("Transfer-Encoding=chunked\n"), body));
            break;
        }
        case 4: {
            const std::size_t n = size(100'000);
            sent += get(path(one_in(2) ? "large" : "shared") + "?" + std::to_string(n));
            expected += ok(pattern(n));
            break;
        }
        case 5:
            sent += "HEAD " + path("hello") + " HTTP/1.1\r\nHost: a\r\n\r\n";
            expected += answer(200, "hello world", "", true);
            break;
        case 6:
            sent += "\r\n" + get(path("204"));
            expected += answer(204, "", "", true);
            break;
        case 7: {
            const std::string body = pattern(size(20'000));
            sent += one_in(2) ? post("/no", body) : post_chunks("/no", body, 1 + size(body.size()));
            expected += answer(404, "not sent for every status");
            break;
        }
        case 8:
            sent += get(path("hello"), "Connection: keep-alive\r\n", "1.0");
            expected += ok("hello world", "keep-alive");
            break;
        case 9:
            sent += get(path("hello"), "Connection: close\r\n");
            expected += ok("hello world", "close");
            closes = true;
            break;
        case 10:
            sent += get(path("close"));
            expected += ok("", "close");
            lingers = true;
            break;
        default:
            sent += "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
            expected += refused(400);
            lingers = true;
            break;
        }
    }

    // A handler that reads all of its body in pieces and sends it back in one or more, of an announced length.
    void add_pieces() {
        const std::string body = pattern(size(70'000));
        const std::string fields = one_in(4) && !body.empty() ? "Expect: 100-continue\r\n" : "";
        sent += one_in(2) ? post("/piece", body, fields) : post_chunks("/piece", body, 1 + size(body.size()), fields);
        expected += ok(body);
    }

    std::mt19937_64 random_;
};

// The handlers of /piece.
class piece_echo {
public:
    piece_echo(conversation& c, site_driver& d) : c_(c), d_(d) {}

    bool works() const { return d_.waiting && begins(*d_.waiting, "/piece"); }
    // Does something, if it is its turn.
    void step() {
        if (d_.written == mark_) return; // what it has lent is not out
        while (taken_ != d_.pieces.size()) {
            body_ += d_.pieces[taken_];
            at_end_ = d_.pieces[taken_++].empty();
        }
        if (d_.m.reading()) d_.give_up();
        if (!at_end_ && c_.one_in(5) && !begun_) return interim();
        if (!at_end_) return d_.want_body();
        if (!begun_ || sent_ != body_.size()) return write();
        body_.clear();
        sent_ = 0;
        at_end_ = begun_ = false;
        d_.finish();
    }

private:
    void interim() {
        mark_ = d_.written;
        d_.interim(103);
    }
    void write() {
        if (!begun_) d_.waiting->response.content_length(body_.size());
        begun_ = true;
        lent_ = body_.substr(sent_, c_.one_in(2) ? body_.npos : c_.size(40'000));
        sent_ += lent_.size();
        mark_ = d_.written;
        d_.write(lent_);
        if (d_.written != mark_) std::fill(lent_.begin(), lent_.end(), '!');
    }

    conversation& c_;
    site_driver& d_;
    std::string body_, lent_;
    std::size_t taken_ = 0, sent_ = 0, mark_ = std::size_t(-1);
    bool at_end_ = false, begun_ = false;
};

std::string without_interim(std::string wire) {
    for (const std::string_view text : {continue_text, std::string_view("HTTP/1.1 103 Early Hints\r\n\r\n")})
        for (std::size_t at = 0; (at = wire.find(text, at)) != wire.npos;) wire.erase(at, text.size());
    return wire;
}

void converse(std::uint64_t seed) {
    conversation c(seed);
    site_driver d({.input_bytes = c.one_in(2) ? 1'000 : 16 * 1024u, .output_bytes = c.one_in(2) ? 4'096 : 64 * 1024u});
    d.bounds.turn_requests = 1 + c.size(20);
    d.writes_itself = c.one_in(2);
    const std::size_t least = c.one_in(8) ? 1 : 2'000;
    d.send_most = [&] {
        return c.one_in(4) ? unlimited : c.size(20'000) + (d.writes_itself || !c.one_in(4) ? least : 0);
    };
    const bool whole = c.one_in(3);
    piece_echo handler(c, d);
    for (std::string_view left = c.sent; !left.empty() || d.waiting || d.blocked;) {
        const std::size_t choice = c.below(3);
        if (choice == 0 && d.waiting) handler.works() ? handler.step() : d.finish();
        if (choice == 1 && d.blocked) d.writable();
        if (choice != 2 || left.empty()) continue;
        d.receive_most = 1 + c.size(30'000);
        const std::string_view piece = left.substr(0, whole ? left.size() : 1 + c.size(left.size()));
        d.receive(piece);
        left.remove_prefix(piece.size());
    }
    ASSERT_EQ(without_interim(d.wire), c.expected);
    ASSERT_EQ(d.closed, c.closes);
    ASSERT_EQ(d.shut, c.lingers);
    ASSERT_EQ(d.m.idle(), !c.closes && !c.lingers);
}

// Under a sanitizer each takes thirty times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t conversations = 40;
#else
constexpr std::uint64_t conversations = 150;
#endif

TEST(machine_random, conversations) {
    const std::uint64_t first = std::random_device{}();
    for (std::uint64_t seed = first; seed != first + conversations; ++seed) {
        ASSERT_NO_FATAL_FAILURE(converse(seed)) << "seed " << seed;
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
    std::printf("seeds from %llu\n", static_cast<unsigned long long>(first));
}

} // namespace
