#include <fastserve/http/chunked.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace fastserve::http;
using namespace std::string_literals;

constexpr std::uint64_t plenty = 1 << 20;

struct outcome {
    decode_status status = decode_status::need_more;
    errc error = errc::ok;
    std::string body;
    std::size_t consumed = 0;
    std::string trailers;

    bool operator==(const outcome&) const = default;
};

void PrintTo(const outcome& o, std::ostream* out) {
    *out << "{status " << static_cast<int>(o.status) << ", " << message_of(o.error) << ", consumed " << o.consumed
         << ", body '" << o.body.substr(0, 100) << "', trailers '" << o.trailers << "'}";
}

// Feeds the input cut at `cuts` (ascending), each piece in memory of exactly its size, so that a sanitizer sees a look
// beyond it. `in_place` chooses between decode() and next().
outcome run(std::string_view input, const std::vector<std::size_t>& cuts, bool in_place, const limits& l = {},
            std::uint64_t max_body = plenty) {
    chunked_decoder decoder(l, max_body);
    std::vector<char> trailer_memory(l.trailer_bytes);
    trailer_sink sink{trailer_memory.data(), trailer_memory.size()};
    outcome o;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size() && o.status == decode_status::need_more; ++i) {
        const std::size_t end = i < cuts.size() ? cuts[i] : input.size();
        const std::size_t size = end - begin;
        const auto piece = std::make_unique_for_overwrite<char[]>(size);
        std::memcpy(piece.get(), input.data() + begin, size);
        std::size_t consumed = 0;
        if (in_place) {
            const auto result = decoder.decode(piece.get(), size, &sink);
            EXPECT_LE(result.produced, result.consumed);
            o.status = result.status;
            o.body.append(piece.get(), result.produced);
            consumed = result.consumed;
        } else {
            do {
                const auto result = decoder.next(piece.get() + consumed, size - consumed, &sink);
                o.status = result.status;
                o.body += result.data;
                consumed += result.consumed;
            } while (o.status == decode_status::need_more && consumed < size);
        }
        o.consumed += consumed;
        if (o.status == decode_status::need_more) {
            EXPECT_EQ(consumed, size);
        }
        begin = end;
    }
    o.error = decoder.error();
    EXPECT_EQ(o.status == decode_status::error, o.error != errc::ok);
    EXPECT_EQ(o.status == decode_status::done, decoder.done());
    if (o.status == decode_status::done) o.trailers.assign(sink.data, sink.size);

    // What has ended stays ended, and takes nothing more.
    if (o.status != decode_status::need_more) {
        char more[] = "5\r\nhello\r\n";
        const auto again = decoder.decode(more, sizeof more - 1, &sink);
        EXPECT_EQ(again.status, o.status);
        EXPECT_EQ(again.consumed + again.produced, 0U);
    }
    return o;
}

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
        const auto verdict = [&](std::string before, std::string_view after) {
            return run(before + c + std::string(after), {}, true).status;
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
        expect(verdict("", ""), hex);
        expect(verdict("0", ""), hex || blank || c == ';' || c == '\r');
        expect(verdict("0;", ""), tchar || blank);
        expect(verdict("0;a", ""), tchar || blank || c == ';' || c == '=' || c == '\r');
        expect(verdict("0;a=", ""), tchar || blank || c == '"');
        expect(verdict("0;a=b", ""), tchar || blank || c == ';' || c == '\r');
        expect(verdict("0;a=\"", ""), text);
        expect(verdict("0;a=\"\\", ""), text);
        expect(verdict("0;a=\"\"", ""), blank || c == ';' || c == '\r');
        expect(verdict("0\r", ""), c == '\n');
        expect(verdict("0\r\n", ""), tchar || c == '\r');
        expect(verdict("0\r\nA", ""), tchar || c == ':');
        expect(verdict("0\r\nA:", ""), text || c == '\r');
        expect(verdict("0\r\nA:\r", ""), c == '\n');
        expect(verdict("0\r\n\r", ""), c == '\n');
        expect(verdict("1\r\nx", ""), c == '\r');
        expect(verdict("1\r\nx\r", ""), c == '\n');
        expect(verdict("1\r\n", "\r\n"), true);
    }
}

// A second implementation that looks for whole lines: slow, not incremental, and sharing nothing with the first.
struct reference {
    std::string body;
    std::size_t consumed;
};

std::optional<reference> decode_by_lines(std::string_view input) {
    const auto token = [](std::string_view t) {
        return !t.empty() && std::all_of(t.begin(), t.end(), [](unsigned char c) {
            return std::isalnum(c) || (c != 0 && std::strchr("!#$%&'*+-.^_`|~", c));
        });
    };
    const auto skip_blanks = [](std::string_view& t) {
        while (!t.empty() && (t[0] == ' ' || t[0] == '\t')) t.remove_prefix(1);
    };
    const auto take_token = [&](std::string_view& t) {
        std::size_t n = 0;
        while (n < t.size() && token(t.substr(n, 1))) ++n;
        t.remove_prefix(n);
        return n != 0;
    };
    const auto text = [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); };
    reference r{{}, 0};
    std::string_view rest = input;
    const auto take_line = [&]() -> std::optional<std::string_view> {
        const auto end = rest.find("\r\n");
        if (end == std::string_view::npos) return std::nullopt;
        const auto line = rest.substr(0, end);
        rest.remove_prefix(end + 2);
        return line;
    };
    for (;;) {
        auto line = take_line();
        if (!line) return std::nullopt;
        const auto digits = std::min(line->find_first_not_of("0123456789abcdefABCDEF"), line->size());
        if (digits == 0) return std::nullopt;
        auto number = line->substr(0, digits);
        number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
        if (number.size() > 8) return std::nullopt;
        const auto size = number.empty() ? 0 : std::stoul(std::string(number), nullptr, 16);
        line->remove_prefix(digits);
        while (!line->empty()) {
            skip_blanks(*line);
            if (line->empty() || (*line)[0] != ';') return std::nullopt;
            line->remove_prefix(1);
            skip_blanks(*line);
            if (!take_token(*line)) return std::nullopt;
            std::string_view ahead = *line;
            skip_blanks(ahead);
            if (ahead.empty() || ahead[0] != '=') continue;
            ahead.remove_prefix(1);
            skip_blanks(ahead);
            *line = ahead;
            if (!line->empty() && (*line)[0] == '"') {
                std::size_t i = 1;
                while (i < line->size() && (*line)[i] != '"') {
                    if ((*line)[i] == '\\') ++i;
                    if (i >= line->size() || !text(static_cast<unsigned char>((*line)[i]))) return std::nullopt;
                    ++i;
                }
                if (i >= line->size()) return std::nullopt;
                line->remove_prefix(i + 1);
            } else if (!take_token(*line)) {
                return std::nullopt;
            }
        }
        if (size == 0) break;
        if (rest.size() < size + 2 || rest.substr(size, 2) != "\r\n") return std::nullopt;
        r.body += rest.substr(0, size);
        rest.remove_prefix(size + 2);
    }
    for (;;) {
        const auto line = take_line();
        if (!line) return std::nullopt;
        if (line->empty()) break;
        const auto colon = line->find(':');
        if (colon == std::string_view::npos || !token(line->substr(0, colon))) return std::nullopt;
        const auto value = line->substr(colon + 1);
        if (!std::all_of(value.begin(), value.end(), [&](char c) { return text(static_cast<unsigned char>(c)); }))
            return std::nullopt;
    }
    r.consumed = input.size() - rest.size();
    return r;
}

class random_bodies : public testing::Test {
protected:
    random_bodies() { std::printf("seed %u\n", seed); }

    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); }
    std::string one_of(std::initializer_list<const char*> choices) { return choices.begin()[below(choices.size())]; }

    std::string body() {
        std::string text;
        for (std::size_t chunks = below(6); chunks-- > 0;) {
            const std::size_t size = 1 + below(below(4) == 0 ? 300 : 20);
            char digits[16];
            std::snprintf(digits, sizeof digits, one_of({"%zx", "%zX", "%04zx"}).c_str(), size);
            text += digits + extensions() + "\r\n";
            for (std::size_t i = 0; i < size; ++i) text += one_of({"a", "\r\n", "0", ";", "\r", "\n", "\""})[0];
            text += "\r\n";
        }
        text += one_of({"0", "000"}) + extensions() + "\r\n";
        for (std::size_t lines = below(3); lines-- > 0;)
            text += one_of({"A: b\r\n", "Content-Length: 5\r\n", "X-y_z:\r\n"});
        return text + "\r\n" + one_of({"", "GET / HTTP/1.1\r\n\r\n", "0\r\n\r\n"});
    }

    std::string extensions() {
        std::string text;
        while (below(4) == 0)
            text += one_of({";", " ;", ";\t"}) + one_of({"name", "a", "x.y"}) +
                    one_of({"", "=token", "=\"quoted \\\" ; \"", " = \"\"", "= t"});
        return text;
    }

    std::vector<std::size_t> cuts(std::size_t size) {
        std::vector<std::size_t> at;
        for (std::size_t n = below(8); n-- > 0;) at.push_back(below(size + 1));
        std::sort(at.begin(), at.end());
        return at;
    }

    const unsigned seed = std::random_device{}();
    std::mt19937 random{seed};
};

TEST_F(random_bodies, are_read_like_the_reference_reads_them) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string input = body();
        if (round % 2 == 1) // damaged at one or two places
            for (std::size_t n = 1 + below(2); n-- > 0;) {
                const std::size_t at = below(input.size());
                if (below(3) == 0)
                    input.erase(at, 1);
                else if (below(2) == 0)
                    input.insert(at, one_of({"\r", "\n", " ", ";", "0", "f", "\"", "\\", "="}));
                else
                    input[at] = static_cast<char>(below(256));
                if (input.empty()) input = "0";
            }
        const auto expected = decode_by_lines(input);
        const outcome seen = run(input, cuts(input.size()), round % 3 != 0);
        ASSERT_EQ(seen.status == decode_status::done, expected.has_value()) << input << "\nround " << round;
        ASSERT_EQ(run(input, cuts(input.size()), true), seen) << input;
        if (!expected) continue;
        ++accepted;
        ASSERT_EQ(seen.body, expected->body) << input;
        ASSERT_EQ(seen.consumed, expected->consumed) << input;
    }
    EXPECT_GT(accepted, 10'000);
    EXPECT_LT(accepted, 19'000) << "damage is seen";
}

} // namespace
