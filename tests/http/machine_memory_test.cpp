// Memory that is refused, at every place where the machine asks for it: what is answered stays right, the connection
// ends, and nothing is lost.
#include "machine_site.hpp"

namespace {

using namespace machine_test;

// Holds all buffers but `left` small ones.
class hog {
public:
    explicit hog(driver& d) : d_(d) {}
    hog(const hog&) = delete;
    hog& operator=(const hog&) = delete;
    ~hog() { leave(unlimited); }

    void leave(std::size_t left) {
        for (auto& b : held_) d_.cache->release(std::move(b));
        held_.clear();
        if (left != unlimited) {
            std::vector<pool::buffer> small;
            for (; left != 0; --left) small.push_back(d_.cache->acquire(1));
            for (std::size_t c = 0; c != pool::buffer_classes; ++c)
                while (pool::buffer b = d_.cache->acquire(pool::buffer_class_bytes(c))) held_.push_back(std::move(b));
            for (auto& b : small) d_.cache->release(std::move(b));
        }
        d_.held_by_test = held_.size();
    }

private:
    driver& d_;
    std::vector<pool::buffer> held_;
};

// Splits what the peer got into answers. False: the last one is cut.
bool split_answers(std::string_view wire, std::vector<std::string>& answers) {
    while (!wire.empty()) {
        const auto head = wire.find("\r\n\r\n");
        if (head == wire.npos) return false;
        const auto length = wire.substr(0, head).find("Content-Length: ");
        std::size_t body = 0;
        if (length != wire.npos) std::from_chars(wire.data() + length + 16, wire.data() + head, body);
        if (wire.size() < head + 4 + body) return false;
        answers.emplace_back(wire.substr(0, head + 4 + body));
        wire.remove_prefix(head + 4 + body);
    }
    return true;
}

std::string without_close(std::string answer) {
    const std::string_view line = "Connection: close\r\n";
    const auto at = answer.find(line);
    return at == answer.npos ? answer : answer.erase(at, line.size());
}

struct scenario {
    const char* name;
    std::vector<std::string> pieces;
    std::vector<std::string> answers;
    std::size_t send_most = unlimited;
    bool needs_none = false;
};

std::vector<scenario> scenarios() {
    const std::string owned = ok(reported("GET", "/owned/report", "", ""));
    const std::string later = ok(reported("GET", "/later/report", "", ""));
    const std::string body = pattern(9'000);
    const std::string field = "X: " + pattern(5'000);
    const auto posted = [&](std::string_view path, std::string_view fields) {
        return ok(reported("POST", path, fields, body));
    };
    const std::string coding = "Transfer-Encoding=chunked\n", length = "Content-Length=9000\n";
    return {
        {"partial head", {get("/hello").substr(0, 9), get("/hello").substr(9) + get("/hello")}, {hello, hello}},
        {"growing head",
         {get("/hello") + get("/report", field + "\r\n").substr(0, 3'000),
          get("/report", field + "\r\n").substr(3'000, 900), get("/report", field + "\r\n").substr(3'900)},
         {hello, ok(reported("GET", "/report", "X=" + pattern(5'000) + "\n", ""))}},
        {"owned", {get("/owned/report") + get("/owned/report") + get("/hello")}, {owned, owned, hello}},
        {"suspended",
         {get("/hello") + get("/later/report") + get("/later/report"), get("/hello")},
         {hello, later, later, hello}},
        {"deferred", {get("/defer/hello") + get("/hello"), get("/hello")}, {ok("deferred"), hello, hello}},
        {"body",
         {post("/report", body).substr(0, 100), post("/report", body).substr(100, 6'000),
          post("/report", body).substr(6'100) + get("/hello")},
         {posted("/report", length), hello}},
        {"whole body", {post("/later/report", body) + get("/hello")}, {posted("/later/report", length), hello}},
        {"chunks",
         {post_chunks("/later/report", body, 500).substr(0, 200),
          post_chunks("/later/report", body, 500).substr(200) + get("/hello") + get("/later/report")},
         {posted("/later/report", coding), hello, later}},
        {"large", {get("/hello") + get("/large?20000") + get("/hello")}, {hello, ok(pattern(20'000)), hello}},
        {"slow peer",
         {get("/hello") + get("/large?20000") + get("/hello"), get("/later/report") + get("/hello")},
         {hello, ok(pattern(20'000)), hello, later, hello},
         50},
        {"no room",
         {get("/hello") + get("/wide?60000") + get("/hello")},
         {hello,
          "HTTP/1.1 200 OK\r\n" + date_lines() + "X-Wide: " + std::string(60'000, 'w') +
              "\r\nContent-Length: 0\r\n\r\n",
          hello}},
        {"turns", {get("/hello") + get("/hello") + get("/hello") + get("/hello")}, {hello, hello, hello, hello}},
    };
}

// Runs a scenario in which the memory ends at event `when` but for `left` buffers. Returns how many answers there were.
std::size_t starve(const scenario& s, std::size_t when, std::size_t left) {
    site_driver d({.pool_bytes = 2 << 20});
    d.bounds.turn_requests = 3;
    d.send_most = [&] { return s.send_most; };
    hog h(d);
    std::size_t event = 0;
    d.before_event = [&] {
        if (event++ == when) h.leave(left);
    };
    for (const std::string& piece : s.pieces) {
        d.receive(piece);
        while (d.waiting) d.finish();
    }
    const std::string where =
        std::string(s.name) + ", " + std::to_string(left) + " left at event " + std::to_string(when);

    std::vector<std::string> answers;
    EXPECT_TRUE(split_answers(d.wire, answers) || d.no_memory()) << where;
    const bool told = !answers.empty() && answers.back() == refused(503);
    const std::size_t answered = answers.size() - (told ? 1 : 0);
    EXPECT_LE(answered, s.answers.size()) << where;
    for (std::size_t i = 0; i < std::min(answered, s.answers.size()); ++i) {
        const bool last = i + 1 == answered && answered != s.answers.size();
        EXPECT_EQ(last ? without_close(answers[i]) : answers[i], s.answers[i]) << where;
    }
    if (answered != s.answers.size()) {
        EXPECT_TRUE(d.shut || d.closed) << where;
        const bool said = answered != 0 && answers[answered - 1] != s.answers[answered - 1];
        EXPECT_TRUE(told || said || d.no_memory()) << where << ": it ends without a word";
    } else {
        EXPECT_TRUE(d.m.idle()) << where;
    }
    return answered;
}

TEST(machine_memory, is_refused_anywhere) {
    for (const scenario& s : scenarios()) {
        std::size_t least = unlimited;
        for (std::size_t when = 0; when != s.pieces.size(); ++when)
            for (std::size_t left = 0; left != 8; ++left) least = std::min(least, starve(s, when, left));
        EXPECT_EQ(starve(s, unlimited, 0), s.answers.size()) << s.name;
        EXPECT_TRUE(least < s.answers.size() || s.needs_none) << s.name << " needs memory";
    }
}

TEST(machine_memory, requests_that_need_none_are_served_without) {
    site_driver d({.pool_bytes = 256 * 1024});
    hog h(d);
    h.leave(0);
    d.receive(get("/hello") + post("/report", "body") + get("/hello"));
    d.receive("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(d.m.idle());
    EXPECT_EQ(d.m.requests(), 4U);
}

// The refusal belongs to a request that was not looked at, not to the HEAD before it.
TEST(machine_memory, what_waits_for_its_turn_is_refused_with_a_body) {
    site_driver d({.pool_bytes = 256 * 1024});
    d.bounds.turn_requests = 1;
    hog h(d);
    h.leave(0);
    d.receive("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hello"));
    EXPECT_EQ(d.wire, answer(200, "hello world", "", true) + refused(503));
}

TEST(machine_memory, no_exchange_is_at_hand) {
    site_driver d({.exchanges = false});
    d.receive("G");
    EXPECT_EQ(d.wire, refused(503));
    EXPECT_TRUE(d.shut);
}

TEST(machine_memory, a_body_larger_than_any_buffer) {
    site_driver d({.pool_bytes = 1 << 20});
    d.body_bytes = std::uint64_t(1) << 40;
    d.receive("POST /report HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n");
    for (int i = 0; i != 20 && !d.shut; ++i) d.receive(std::string(100'000, 'x'));
    EXPECT_EQ(d.wire, refused(503));
    EXPECT_TRUE(d.shut);
    EXPECT_EQ(d.buffers.stats().in_use, 0U);
}

TEST(machine_memory, a_machine_serves_one_connection_after_another) {
    site_driver d;
    d.receive("HEAD /no HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome");
    d.reopen();
    d.receive(get("/large?40000").substr(0, 20));
    d.reopen();
    d.receive(get("/later/report"));
    d.reopen();
    d.release_detached();
    d.receive("garbage\n");
    d.reopen();
    d.receive(get("/hello"));
    EXPECT_EQ(d.wire, ok("hello world"));
    EXPECT_EQ(d.m.requests(), 1U);
    d.reopen();
    d.receive(get("/hello").substr(0, 20));
    d.finish_peer();
    EXPECT_TRUE(d.closed);
    d.reopen();
    d.receive(get("/hello"));
    EXPECT_EQ(d.wire, ok("hello world"));
}

} // namespace
