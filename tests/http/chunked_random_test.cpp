// Random bodies, sound and damaged, against a decoder of another kind.
#include "chunked_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace fastserve::http;

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
            text += digits;
            text += extensions() + "\r\n";
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
