#include "chunked_run.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace fastserve::http;
using namespace std::string_literals;

// The outcome, which must be the same for the whole input, every byte alone, and every cut in two.
outcome run_everywhere(std::string_view input, const limits& l = {}, std::uint64_t max_body = plenty) {
    const outcome whole = run(input, {}, true, l, max_body);
    std::vector<std::size_t> each;
    for (std::size_t i = 0; i < input.size(); ++i) each.push_back(i);
    for (const bool in_place : {true, false}) {
        EXPECT_EQ(run(input, {}, in_place, l, max_body), whole) << input;
        EXPECT_EQ(run(input, each, in_place, l, max_body), whole) << input;
        for (std::size_t i = 0; i <= input.size(); ++i)
            EXPECT_EQ(run(input, {i}, in_place, l, max_body), whole) << input << " cut at " << i;
    }
    return whole;
}

struct good {
    std::string input;
    std::string body;
    std::string trailers{};
    std::string rest{}; // of the input: the next request's
};

const std::vector<good> good_bodies{
    {"0\r\n\r\n", ""},
    {"5\r\nhello\r\n0\r\n\r\n", "hello"},
    {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
    {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
    {"a\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
    {"1F\r\n0123456789012345678901234567890\r\n0\r\n\r\n", "0123456789012345678901234567890"},
    {"0005\r\nhello\r\n000\r\n\r\n", "hello"},
    {"00000000000000000000000005\r\nhello\r\n0\r\n\r\n", "hello"},
    {"2\r\n\r\n\r\n0\r\n\r\n", "\r\n"},
    {"5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"},
    {"3\r\na\0b\r\n0\r\n\r\n"s, "a\0b"s},
    // Extensions are checked and dropped.
    {"5;a=b;c\r\nhello\r\n0;last\r\n\r\n", "hello"},
    {"5;a=\"quoted; not = the end\"\r\nhello\r\n0\r\n\r\n", "hello"},
    {"5;a=\"\\\"\\\\\\a\t\x80\"\r\nhello\r\n0\r\n\r\n", "hello"},
    {"5;a=\"\"\r\nhello\r\n0\r\n\r\n", "hello"},
    {"5;a=\"x\";b\r\nhello\r\n0\r\n\r\n", "hello"},
    // White space that RFC 9110 5.6.3 has a recipient remove.
    {"5 ; a = b\r\nhello\r\n0\r\n\r\n", "hello"},
    {"5\t;\t a\t=\t\"b\" \t;c ; d=e\r\nhello\r\n0 ;x\r\n\r\n", "hello"},
    // Trailers.
    {"5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "hello", "X-T: 1\r\n"},
    {"0\r\nA: 1\r\nA: 2\r\nB:\r\nC:\t x \t\r\n\r\n", "", "A: 1\r\nA: 2\r\nB:\r\nC:\t x \t\r\n"},
    {"0\r\nX:POST / HTTP/1.1\r\n\r\n", "", "X:POST / HTTP/1.1\r\n"},
    {"0\r\nX: \x80\xff\r\n\r\n", "", "X: \x80\xff\r\n"},
    // What frames a message does nothing here.
    {"5\r\nhello\r\n0\r\nContent-Length: 39\r\nTransfer-Encoding: chunked\r\nHost: evil\r\nConnection: "
     "close\r\n\r\nGET",
     "hello", "Content-Length: 39\r\nTransfer-Encoding: chunked\r\nHost: evil\r\nConnection: close\r\n", "GET"},
    // What follows is the next request's.
    {"5\r\nhello\r\n0\r\n\r\nGET /next HTTP/1.1\r\n", "hello", "", "GET /next HTTP/1.1\r\n"},
    {"0\r\n\r\n\0"s, "", "", "\0"s},
    {"0\r\n\r\n\r\n", "", "", "\r\n"},
};

TEST(chunked, good_bodies_at_every_cut) {
    for (const good& g : good_bodies) {
        const outcome o = run_everywhere(g.input);
        EXPECT_EQ(o.status, decode_status::done) << g.input;
        EXPECT_EQ(o.body, g.body) << g.input;
        EXPECT_EQ(o.trailers, g.trailers) << g.input;
        EXPECT_EQ(o.consumed, g.input.size() - g.rest.size()) << g.input;
    }
}

TEST(chunked, good_bodies_in_three_pieces) {
    for (const good& g : good_bodies) {
        if (g.input.size() > 45) continue;
        const outcome whole = run(g.input, {}, true);
        for (std::size_t i = 0; i <= g.input.size(); ++i)
            for (std::size_t j = i; j <= g.input.size(); ++j)
                ASSERT_EQ(run(g.input, {i, j}, true), whole) << g.input << " cut at " << i << " and " << j;
    }
}

// Every beginning of a good body wants more and is no error.
TEST(chunked, an_unfinished_body_needs_more) {
    for (const good& g : good_bodies)
        for (std::size_t size = 0; size < g.input.size() - g.rest.size(); ++size) {
            const outcome o = run(std::string_view(g.input).substr(0, size), {}, true);
            ASSERT_EQ(o.status, decode_status::need_more) << g.input << " of " << size;
            ASSERT_EQ(g.body.substr(0, o.body.size()), o.body);
        }
}

TEST(chunked, bad_bodies_at_every_cut) {
    struct {
        std::string input;
        errc error;
        std::size_t at; // the byte that is wrong
        std::string body{};
    } const rows[] = {
        // Sizes.
        {"g\r\nhello\r\n0\r\n\r\n", errc::bad_chunk_size, 0},
        {"\r\nhello\r\n0\r\n\r\n", errc::bad_chunk_size, 0},
        {"\r\n\r\n", errc::bad_chunk_size, 0},
        {"-5\r\nhello", errc::bad_chunk_size, 0},
        {"+5\r\nhello", errc::bad_chunk_size, 0},
        {" 5\r\nhello", errc::bad_chunk_size, 0},
        {"\t5\r\nhello", errc::bad_chunk_size, 0},
        {";a\r\nhello", errc::bad_chunk_size, 0},
        {"\0"s, errc::bad_chunk_size, 0},
        {"5.0\r\nhello", errc::bad_chunk_size, 1},
        {"5zz\r\nhello", errc::bad_chunk_size, 1},
        {"0x5\r\nhello", errc::bad_chunk_size, 1},
        {"0_5\r\nhello", errc::bad_chunk_size, 1},
        {"5\0\r\nhello"s, errc::bad_chunk_size, 1},
        {"5\x80\r\nhello", errc::bad_chunk_size, 1},
        {"10000000000000005\r\nhello", errc::bad_chunk_size, 16},
        {"FFFFFFFFFFFFFFFFF\r\nhello", errc::bad_chunk_size, 16},
        {"5555555555555555555555555555555555555555\r\nhello", errc::bad_chunk_size, 16},
        {"0000FFFFFFFFFFFFFFFFF\r\nhello", errc::bad_chunk_size, 20},
        {"FFFFFFFFFFFFFFED\r\nhello", errc::body_too_large, 16},
        {"FFFFFFFFFFFFFFFF\r\nhello", errc::body_too_large, 16},
        // The end of data.
        {"3\r\nhello\r\n0\r\n\r\n", errc::bad_chunk_end, 6, "hel"},
        {"9\r\nhello\r\n0\r\n\r\nGET /", errc::bad_chunk_end, 12, "hello\r\n0\r"},
        {"5\r\nhello0\r\n\r\n", errc::bad_chunk_end, 8, "hello"},
        {"5\r\nhelloXX0\r\n\r\n", errc::bad_chunk_end, 8, "hello"},
        {"5\r\nhello\n0\r\n\r\n", errc::bad_chunk_end, 8, "hello"},
        {"5\r\nhello\r0\r\n\r\n", errc::bad_chunk_end, 9, "hello"},
        {"5\r\nhello\r\r\n0\r\n\r\n", errc::bad_chunk_end, 9, "hello"},
        // The ends of lines.
        {"5\rhello\r\n0\r\n\r\n", errc::bad_line_end, 2},
        {"5\r\rhello\r\n0\r\n\r\n", errc::bad_line_end, 2},
        {"5\nhello\r\n0\r\n\r\n", errc::bad_line_end, 1},
        {"5;a\nhello\r\n0\r\n\r\n", errc::bad_line_end, 3},
        {"5;a\rb\nhello", errc::bad_line_end, 4},
        {"5\r\nhello\r\n0\n\n", errc::bad_line_end, 11, "hello"},
        {"0\r\n\n", errc::bad_line_end, 3},
        {"0\r\n\rX", errc::bad_line_end, 4},
        {"0\r\nX: 1\n\r\n", errc::bad_line_end, 7},
        {"0\r\nX: 1\rY: 2\r\n\r\n", errc::bad_line_end, 8},
        // Extensions.
        {"5;\r\nhello", errc::bad_chunk_extension, 2},
        {"5; \r\nhello", errc::bad_chunk_extension, 3},
        {"5 \r\nhello", errc::bad_chunk_extension, 2},
        {"5 a\r\nhello", errc::bad_chunk_extension, 2},
        {"5 5\r\nhello", errc::bad_chunk_extension, 2},
        {"5;;a\r\nhello", errc::bad_chunk_extension, 2},
        {"5;=b\r\nhello", errc::bad_chunk_extension, 2},
        {"5;a=\r\nhello", errc::bad_chunk_extension, 4},
        {"5;a= \r\nhello", errc::bad_chunk_extension, 5},
        {"5;a \r\nhello", errc::bad_chunk_extension, 4},
        {"5;a b\r\nhello", errc::bad_chunk_extension, 4},
        {"5;a=b \r\nhello", errc::bad_chunk_extension, 6},
        {"5;a=b c\r\nhello", errc::bad_chunk_extension, 6},
        {"5;a=b=c\r\nhello", errc::bad_chunk_extension, 5},
        {"5;a\0b\r\nhello"s, errc::bad_chunk_extension, 3},
        {"5;a=\"\r\nhello", errc::bad_chunk_extension, 5},
        {"5;a=\"\n\"\r\nhello", errc::bad_line_end, 5},
        {"5;a=\"\\\r\n\"\r\nhello", errc::bad_chunk_extension, 6},
        {"5;a=\"\\\x01\"\r\nhello", errc::bad_chunk_extension, 6},
        {"5;a=\"\x7f\"\r\nhello", errc::bad_chunk_extension, 5},
        {"5;a=\"b\"c\r\nhello", errc::bad_chunk_extension, 7},
        {"5;a=b\"c\"\r\nhello", errc::bad_chunk_extension, 5},
        {"5;a\x80\r\nhello", errc::bad_chunk_extension, 3},
        // Trailers.
        {"0\r\nnocolon\r\n\r\n", errc::bad_trailer, 10},
        {"0\r\nX-T : 1\r\n\r\n", errc::bad_trailer, 6},
        {"0\r\n: 1\r\n\r\n", errc::bad_trailer, 3},
        {"0\r\nA: 1\r\n folded\r\n\r\n", errc::bad_trailer, 9},
        {"0\r\nA: 1\r\n\tfolded\r\n\r\n", errc::bad_trailer, 9},
        {"0\r\nA: a\0b\r\n\r\n"s, errc::bad_trailer, 7},
        {"0\r\nA: a\x7f\r\n\r\n", errc::bad_trailer, 7},
        {"0\r\nGET / HTTP/1.1\r\n\r\n", errc::bad_trailer, 6},
        {"0\r\nA\x80: 1\r\n\r\n", errc::bad_trailer, 4},
        {"INVALID!\r\nGET / HTTP/1.1\r\n\r\n", errc::bad_chunk_size, 0},
    };
    for (const auto& row : rows) {
        const outcome o = run_everywhere(row.input);
        EXPECT_EQ(o.status, decode_status::error) << row.input;
        EXPECT_EQ(o.error, row.error) << row.input << ": " << message_of(o.error);
        EXPECT_EQ(o.consumed, row.at) << row.input;
        EXPECT_EQ(o.body, row.body) << row.input;
    }
}

// No byte but those of the grammar passes in any place.
TEST(chunked, every_byte_in_every_place) {
    for (int value = 0; value < 256; ++value) {
        const char c = static_cast<char>(value);
        const auto verdict = [&](std::string before, std::string_view after = {}) {
            before += c;
            before += after;
            return run(before, {}, true).status;
        };
        const bool digit = value >= '0' && value <= '9';
        const bool hex = digit || (value >= 'a' && value <= 'f') || (value >= 'A' && value <= 'F');
        const bool blank = c == ' ' || c == '\t';
        const bool tchar = digit || (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z') ||
                           (value != 0 && std::strchr("!#$%&'*+-.^_`|~", value));
        const bool text = value == '\t' || (value >= 0x20 && value != 0x7f);
        const auto expect = [&](decode_status seen, bool accepted) {
            ASSERT_EQ(seen != decode_status::error, accepted) << value;
        };
        expect(verdict(""), hex);
        expect(verdict("0"), hex || blank || c == ';' || c == '\r');
        expect(verdict("0;"), tchar || blank);
        expect(verdict("0;a"), tchar || blank || c == ';' || c == '=' || c == '\r');
        expect(verdict("0;a="), tchar || blank || c == '"');
        expect(verdict("0;a=b"), tchar || blank || c == ';' || c == '\r');
        expect(verdict("0;a=\""), text);
        expect(verdict("0;a=\"\\"), text);
        expect(verdict("0;a=\"\""), blank || c == ';' || c == '\r');
        expect(verdict("0\r"), c == '\n');
        expect(verdict("0\r\n"), tchar || c == '\r');
        expect(verdict("0\r\nA"), tchar || c == ':');
        expect(verdict("0\r\nA:"), text || c == '\r');
        expect(verdict("0\r\nA:\r"), c == '\n');
        expect(verdict("0\r\n\r"), c == '\n');
        expect(verdict("1\r\nx"), c == '\r');
        expect(verdict("1\r\nx\r"), c == '\n');
        expect(verdict("1\r\n", "\r\n"), true);
    }
}

} // namespace
