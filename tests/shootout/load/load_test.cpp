// What fastserve-load measures with, without a socket.
#include "answer_reader.hpp"
#include "histogram.hpp"
#include "request.hpp"
#include "results.hpp"
#include "schedule.hpp"
#include "target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>

using namespace load;

namespace {

constexpr double shares[] = {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0};

// By definition: the least value that at least the share `q` does not exceed.
std::uint64_t exact_quantile(const std::vector<std::uint64_t>& sorted, double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void expect_close(const histogram& h, std::vector<std::uint64_t> values) {
    std::sort(values.begin(), values.end());
    ASSERT_EQ(h.count(), values.size());
    EXPECT_EQ(h.max(), values.back());
    for (const double q : shares) {
        const auto exact = static_cast<double>(exact_quantile(values, q));
        EXPECT_NEAR(static_cast<double>(h.quantile(q)), exact, exact / 256) << q;
    }
}

TEST(Histogram, QuantilesAreWithinAPartIn256) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (const unsigned bits : {3u, 8u, 9u, 20u, 33u, 64u}) {
        SCOPED_TRACE(bits);
        histogram h;
        std::vector<std::uint64_t> values;
        for (int i = 0; i < 5000; ++i) // of every magnitude, as many of the small as of the large
            values.push_back((random() >> (64 - bits)) >> random() % bits);
        for (const std::uint64_t v : values) h.add(v);
        expect_close(h, values);
    }
}

TEST(Histogram, EveryBorderOfABucketIsWithinBounds) {
    for (unsigned bit = 0; bit < 64; ++bit)
        for (const std::uint64_t v :
             {(std::uint64_t{1} << bit) - 1, std::uint64_t{1} << bit, std::uint64_t{3} << bit}) {
            histogram h;
            h.add(v);
            h.add(UINT64_MAX);
            EXPECT_NEAR(static_cast<double>(h.quantile(0.5)), static_cast<double>(v), static_cast<double>(v) / 256);
        }
}

TEST(Histogram, TwoAddUpToOneOfBoth) {
    histogram all, parts[2];
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        values.push_back(i * i * i);
        all.add(i * i * i);
        parts[i % 2].add(i * i * i);
    }
    parts[0].merge(parts[1]);
    expect_close(parts[0], values);
    EXPECT_EQ(parts[0].mean(), all.mean());
    EXPECT_EQ(histogram{}.quantile(0.5), 0u);
}

std::vector<std::int64_t> due_times(schedule s, int count) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < count; ++i, s.advance()) times.push_back(s.due());
    return times;
}

TEST(Schedule, AConstantOneNeitherDriftsNorDependsOnThreads) {
    std::vector<std::int64_t> all;
    for (unsigned t = 0; t < 3; ++t)
        for (const std::int64_t due : due_times(schedule::constant(30'000, t, 3), 10'000)) all.push_back(due);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_NEAR(static_cast<double>(all[i]), static_cast<double>(i) * 1e9 / 30'000, 1.0) << i;
}

TEST(Schedule, APoissonOneHasItsRateAndItsSpread) {
    constexpr int count = 100'000;
    const std::vector<std::int64_t> times = due_times(schedule::poisson(2000, 2, 7), count); // 1000 a second each
    double sum = 0, squares = 0;
    int below_mean = 0;
    for (std::size_t i = 1; i < times.size(); ++i) {
        const double gap = static_cast<double>(times[i] - times[i - 1]) / 1e6;
        ASSERT_GE(gap, 0.0);
        sum += gap;
        squares += gap * gap;
        below_mean += gap < 1.0;
    }
    const double mean = sum / (count - 1);
    EXPECT_NEAR(mean, 1.0, 0.02);
    EXPECT_NEAR(squares / (count - 1) - mean * mean, 1.0, 0.05);
    EXPECT_NEAR(below_mean / static_cast<double>(count), 1 - std::exp(-1), 0.01);
    EXPECT_NE(times, due_times(schedule::poisson(2000, 2, 8), count));
    EXPECT_EQ(times, due_times(schedule::poisson(2000, 2, 7), count));
}

TEST(Schedule, AClosedLoopIsDueAtAnyTime) {
    schedule s = schedule::closed_loop();
    EXPECT_FALSE(s.paced());
    s.advance();
    EXPECT_EQ(s.due(), 0);
    EXPECT_TRUE(schedule::constant(1, 0, 1).paced());
}

struct seen {
    std::string wrong;
    unsigned status = 0;
    bool keeps_alive = false;
    bool operator==(const seen&) const = default;
};

// The answers in `text`, which comes in two pieces cut at `split`. A malformed one ends it; so does the end of all.
std::vector<seen> read_answers(std::string_view text, const expectation& wanted, std::size_t split) {
    std::vector<seen> answers;
    answer_reader reader(wanted);
    const auto note = [&] { answers.push_back({std::string(reader.wrong()), reader.status(), reader.keeps_alive()}); };
    for (std::string_view piece : {text.substr(0, split), text.substr(split)})
        while (!piece.empty()) {
            const answer_reader::outcome o = reader.take(piece);
            if (o == answer_reader::outcome::more) break;
            note();
            if (o == answer_reader::outcome::malformed) return answers;
        }
    if (reader.end()) note();
    return answers;
}

// The same wherever it is cut.
void expect_answers(std::string_view text, const expectation& wanted, const std::vector<seen>& answers) {
    for (std::size_t split = 0; split <= text.size(); ++split)
        ASSERT_TRUE(read_answers(text, wanted, split) == answers)
            << text << "\ncut at " << split << "; wrong: " << (answers.empty() ? "" : answers.front().wrong);
}

expectation body(std::string text) {
    expectation e;
    e.body = std::move(text);
    return e;
}

TEST(AnswerReader, EveryFramingAtEveryCut) {
    const seen good{"", 200, true}, last{"", 200, false};
    expect_answers("HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 5\r\n\r\nhello"
                   "HTTP/1.1 200 OK\r\ncontent-length:5\r\nConnection: a, Close\r\n\r\nhello",
                   body("hello"), {good, last});
    expect_answers("HTTP/1.1 200 \r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nT: x\r\n\r\n"
                   "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n05 \r\nhello\r\n0\r\n\r\n",
                   body("hello"), {good, good});
    expect_answers("HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello", body("hello"), {last});
    expect_answers("HTTP/1.1 200 OK\r\n\r\n", body(""), {last});
    expect_answers("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", body("x"), {last});
    expect_answers("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", body(""), {good});
    expect_answers("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
                   "Content-Length: 1\r\n\r\nx",
                   body("x"), {good});
    expectation head;
    head.head = true;
    head.length = 5;
    expect_answers("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", head, {good, good});
    expectation empty;
    empty.status = 204;
    expect_answers("HTTP/1.1 204 No Content\r\n\r\n", empty, {{"", 204, true}});
}

TEST(AnswerReader, WhatIsNotAsExpectedIsSaidAndReadingGoesOn) {
    const std::string after = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const seen good{"", 200, true};
    for (const char* text : {"hellO", "Hello", "hell", "helloo", ""}) {
        const std::string one =
            "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(std::string_view(text).size()) + "\r\n\r\n" + text;
        expect_answers(one + after, body("hello"), {{"another body", 200, true}, good});
    }
    expect_answers("HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello" + after, body("hello"),
                   {{"another status", 500, true}, good});
    expect_answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\nx\r\n0\r\n\r\n" + after,
                   body("hello"), {{"another body", 200, true}, good});
    expectation length;
    length.length = 5;
    expect_answers(after + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd" + after, length,
                   {good, {"a body of another length", 200, true}, good});
}

TEST(AnswerReader, WhatIsNoAnswerIsMalformed) {
    const expectation any;
    for (const char* text : {
             "HTTP/2 200 OK\r\n\r\n",
             "HTTP/1.1 20 OK\r\n\r\n",
             "HTTP/1.1 2000\r\n\r\n",
             "hello world\r\n",
             "\r\n",
             "HTTP/1.1 200 OK\n\n",
             "HTTP/1.1 200 OK\r\nA\r\n\r\n",
             "HTTP/1.1 200 OK\r\n: a\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\n",
             "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
             "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
             "HTTP/1.1 101 Switching\r\n\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
         }) {
        for (std::size_t split = 0; split <= std::string_view(text).size(); ++split) {
            const std::vector<seen> answers = read_answers(text, any, split);
            ASSERT_EQ(answers.size(), 1u) << text << split;
            EXPECT_NE(answers[0].wrong, "") << text << split;
        }
    }
}

TEST(AnswerReader, AHeadWithoutEndIsMalformedAndHoldsNoMore) {
    const expectation any;
    for (const std::string& piece : {std::string(1000, 'a'), "A: " + std::string(1000, 'b') + "\r\n"}) {
        answer_reader reader(any);
        std::string_view start = "HTTP/1.1 200 OK\r\n";
        ASSERT_EQ(reader.take(start), answer_reader::outcome::more);
        int pieces = 0;
        for (std::string_view in = piece; reader.take(in) == answer_reader::outcome::more; in = piece)
            ASSERT_LT(++pieces, 300);
    }
}

TEST(AnswerReader, AfterAResetAConnectionBeginsAnew) {
    const expectation wanted = body("hello");
    answer_reader reader(wanted);
    for (std::string_view begun : {"HTTP/1.1 2", "HTTP/1.1 500 OK\r\nContent-Length: 5\r\n\r\nhe"}) {
        EXPECT_EQ(reader.take(begun), answer_reader::outcome::more);
        EXPECT_FALSE(reader.end());
        reader.reset();
        std::string_view whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        EXPECT_EQ(reader.take(whole), answer_reader::outcome::complete);
        EXPECT_EQ(reader.wrong(), "");
        EXPECT_TRUE(reader.keeps_alive());
    }
}

TEST(Request, WhatIsAskedIsWhatIsSent) {
    request_parts parts;
    parts.host = "127.0.0.1:80";
    parts.path = "/a";
    EXPECT_EQ(write_request(parts, false), "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
    EXPECT_EQ(write_request(parts, true), "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\n\r\n");
    parts.fields = {"host: b", "connection: keep-alive", "X: y"};
    parts.method = "POST";
    parts.has_body = true;
    parts.body_bytes = 3;
    EXPECT_EQ(write_request(parts, false),
              "POST /a HTTP/1.1\r\nhost: b\r\nconnection: keep-alive\r\nX: y\r\nContent-Length: 3\r\n\r\nxxx");
    EXPECT_EQ(write_request(parts, true),
              "POST /a HTTP/1.1\r\nhost: b\r\nX: y\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxxx");
}

TEST(Request, ABrowsersHeadHas414Bytes) {
    request_parts parts;
    parts.browser = true;
    for (const char* path : {"/", "/a/longer/path?with=a&query=string"}) {
        parts.host = "127.0.0.1:8080";
        parts.path = path;
        for (const bool last : {false, true}) {
            const std::string text = write_request(parts, last);
            EXPECT_EQ(text.size(), 414u);
            EXPECT_EQ(text.find("\r\n\r\n"), 410u);
            EXPECT_EQ(text.find("keep-alive") == std::string::npos, last);
        }
    }
    parts.path = std::string(200, 'a');
    EXPECT_EQ(write_request(parts, false), "");
}

TEST(Request, AFieldIsOneLineWithAName) {
    EXPECT_TRUE(is_field("A: b"));
    EXPECT_TRUE(is_field("A:"));
    for (const char* text : {"", "A", ": b", "A b: c", "A: b\r\nC: d", "A: b\n"}) EXPECT_FALSE(is_field(text)) << text;
}

TEST(Target, OnlyLoopbackIsRead) {
    target to;
    EXPECT_EQ(read_target("http://127.1.2.3:8080/a?b", to), "");
    EXPECT_EQ(to.path, "/a?b");
    EXPECT_EQ(to.host, "127.1.2.3:8080");
    EXPECT_EQ(reinterpret_cast<const sockaddr_in&>(to.address).sin_port, htons(8080));
    EXPECT_EQ(ntohl(reinterpret_cast<const sockaddr_in&>(to.address).sin_addr.s_addr), 0x7f010203u);
    EXPECT_EQ(read_target("http://[::1]", to), "");
    EXPECT_EQ(to.family(), AF_INET6);
    EXPECT_EQ(to.path, "/");
    EXPECT_EQ(read_target("http://localhost:1/", to), "");
    EXPECT_EQ(to.family(), AF_INET);
    for (const char* url : {"", "127.0.0.1", "https://127.0.0.1/", "http://", "http://128.0.0.1/", "http://0.0.0.0/",
                            "http://192.168.1.1:80/", "http://[::2]/", "http://[::ffff:127.0.0.1]/", "http://[::1",
                            "http://]:80/", "http://example.com/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/",
                            "http://127.0.0.1:80x/", "http://127.0.0.1:/", "http://127.0.0.1/a b"})
        EXPECT_NE(read_target(url, to), "") << url;
}

TEST(Target, SourcesAreManyAndAllOfThisMachine) {
    EXPECT_EQ(ntohl(source_address(0).sin_addr.s_addr), 0x7f000001u);
    EXPECT_EQ(ntohl(source_address(65535).sin_addr.s_addr), 0x7f010000u);
    EXPECT_EQ(ntohl(source_address(65536).sin_addr.s_addr), 0x7f000001u);
}

TEST(Results, WhenTheGeneratorWasTheLimit) {
    EXPECT_FALSE(generator_was_limit(0.9, 0, 0));
    EXPECT_TRUE(generator_was_limit(0.91, 0, 0));
    EXPECT_FALSE(generator_was_limit(0.1, 1'000'000, 1'000'000)); // a millisecond is no news
    EXPECT_TRUE(generator_was_limit(0.1, 1'100'000, 2'000'000));
    EXPECT_FALSE(generator_was_limit(0.1, 1'100'000, 2'300'000)); // most of it is the server's
}

TEST(Results, PartsAddUp) {
    results a, b;
    a.requests = 2;
    b.requests = 3;
    b.errors_of(error_kind::timeout) = 4;
    b.errors_of(error_kind::early_close) = 1;
    b.first_wrong_answer = "say \"no\"\n\xff";
    a.latency.add(1000);
    b.latency.add(3000);
    a.measured = 2'000'000'000;
    a.answers_in_time = 1;
    b.answers_in_time = 2;
    a.merge(b);
    EXPECT_EQ(a.errors_total(), 5u);
    const std::string json = to_json(settings{}, a);
    for (const char* part : {"\"requests\": 5,", "\"timeout\": 4,", "\"errors_total\": 5,", "\"max_us\": 3,",
                             "\"mean_us\": 2,", "\"rate_achieved\": 1.5,", "\"lateness_max_us\": null,",
                             "\"first_wrong_answer\": \"say \\\"no\\\"\\u000a\\u00ff\","})
        EXPECT_NE(json.find(part), std::string::npos) << part << '\n' << json;
}

} // namespace
