#include <fastserve/http/form.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace form_cases {
namespace {

using namespace fastserve::http;
using namespace std::string_view_literals;

constexpr std::size_t many = 1'000'000;

// "[name=value]" a pair, "!name" one that is malformed, "..." where there are more than may be.
std::string account(form_reader& form) {
    std::string all;
    for (form_pair p;;) {
        switch (form.next(p)) {
        case form_status::pair: all.append("[").append(p.name).append("=").append(p.value).append("]"); break;
        case form_status::malformed: all.append("!").append(p.name); break;
        case form_status::too_many: return all + "...";
        case form_status::end: return all;
        }
    }
}

// In place, in memory of exactly its size, and into other memory, which must not differ.
std::string read(std::string_view text, std::size_t most = many) {
    const auto copy = std::make_unique<char[]>(text.size()), room = std::make_unique<char[]>(text.size());
    if (!text.empty()) std::memcpy(copy.get(), text.data(), text.size());
    form_reader apart({copy.get(), text.size()}, room.get(), most);
    const std::string one = account(apart);
    EXPECT_EQ(std::string_view(copy.get(), text.size()), text);
    form_reader in_place({copy.get(), text.size()}, copy.get(), most);
    EXPECT_EQ(account(in_place), one) << text;
    return one;
}

TEST(Form, IsReadInOrder) {
    struct {
        std::string_view text, pairs;
    } const rows[] = {
        {"", ""},
        {"a=1", "[a=1]"},
        {"a=1&b=2&a=3", "[a=1][b=2][a=3]"},
        {"a", "[a=]"},
        {"a=", "[a=]"},
        {"=a", "[=a]"},
        {"=", "[=]"},
        {"a=b=c", "[a=b=c]"},
        {"&", ""},
        {"&&a=1&&&b=2&", "[a=1][b=2]"},
        {"a=1;b=2", "[a=1;b=2]"},
        {"a b=c d", "[a b=c d]"},
        {"a+b=c+d", "[a b=c d]"},
        {"+=+", "[ = ]"},
        {"a%20b=c%20d", "[a b=c d]"},
        {"a%2Bb=c%2bd", "[a+b=c+d]"},
        {"%61%3D=%26%3d", "[a==&=]"},
        {"a=%25%32%35", "[a=%25]"},
        {"a=%2525", "[a=%25]"},
        {"a=%E2%82%AC&b=\xE2\x82\xAC&c=%ff", "[a=\xE2\x82\xAC][b=\xE2\x82\xAC][c=\xFF]"},
        {"a=%0D%0A", "[a=\r\n]"},
        {"a=\"%22", "[a=\"\"]"},
        {"a=1%26b=2", "[a=1&b=2]"},
        {"a?b/c#d=@", "[a?b/c#d=@]"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(read(row.text), row.pairs) << row.text;
        EXPECT_EQ(read(std::string(row.text) + "&last=%6Cast"), std::string(row.pairs) + "[last=last]") << row.text;
    }
}

TEST(Form, SaysWhichPairIsMalformed) {
    for (const std::string_view bad : {"%"sv, "%4"sv, "%g0"sv, "%0g"sv, "%%41"sv, "%4%31"sv, "% 41"sv, "%+1"sv, "%00"sv,
                                       "x%00y"sv, "\0"sv, "x\0y"sv, "+\0"sv, "x%"sv, "x%2"sv, "%u0041"sv, "%-1"sv}) {
        const std::string text(bad);
        EXPECT_EQ(read(text), "!") << text;
        EXPECT_EQ(read(text + "=1"), "!") << text;
        EXPECT_EQ(read("a=" + text), "!a") << text;
        EXPECT_EQ(read("%61=" + text), "!a") << text;
        EXPECT_EQ(read(text + '=' + text), "!") << text;
        EXPECT_EQ(read("a=1&b=" + text + "&c=+3"), "[a=1]!b[c= 3]") << text;
        char out[16];
        EXPECT_EQ(form_decode(bad, out), std::nullopt) << text;
    }
    EXPECT_EQ(read("a=%4&1=b"), "!a[1=b]") << "a triple does not reach over the end of its pair";
    EXPECT_EQ(read("%4=1"), "!");
}

TEST(Form, CopiesOnlyWhatIsDecoded) {
    const std::string_view text = "plain=value&a=%41";
    std::string room(text.size(), '~');
    form_reader form(text, room.data(), many);
    form_pair p;
    ASSERT_EQ(form.next(p), form_status::pair);
    EXPECT_EQ(p.name.data(), text.data());
    EXPECT_EQ(p.value.data(), text.data() + 6);
    ASSERT_EQ(form.next(p), form_status::pair);
    EXPECT_EQ(p.value.data(), room.data() + 14);
    EXPECT_EQ(room.substr(0, 15), "~~~~~~~~~~~~~~A");
    form_reader without("a=1&\0=2&b=3"sv, nullptr, many);
    EXPECT_EQ(account(without), "[a=1]![b=3]");
    form_reader empty({}, nullptr, 0);
    EXPECT_EQ(account(empty), "");
}

TEST(Form, HasNoMorePairsThanItMay) {
    EXPECT_EQ(read("a=1&b=2", 1), "[a=1]...");
    EXPECT_EQ(read("a=1&b=2", 2), "[a=1][b=2]");
    EXPECT_EQ(read("a=1&b=2", 3), "[a=1][b=2]");
    EXPECT_EQ(read("a=1&b=2&&&", 2), "[a=1][b=2]");
    EXPECT_EQ(read("&&&a=%&b=2", 1), "!a...");
    EXPECT_EQ(read("a", 0), "...");
    EXPECT_EQ(read("&&", 0), "");
    form_reader form("a&b", nullptr, 1);
    form_pair p;
    EXPECT_EQ(form.next(p), form_status::pair);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(form.next(p), form_status::too_many) << "it stays so";
    EXPECT_EQ(p.name, "a");
}

TEST(Form, IsCounted) {
    for (const auto& [text, count] : {std::pair{"", 0U},
                                      {"&", 0U},
                                      {"a", 1U},
                                      {"a&", 1U},
                                      {"&a", 1U},
                                      {"a&b", 2U},
                                      {"&&a&&b=1&&", 2U},
                                      {"=", 1U},
                                      {"%&%", 2U}})
        EXPECT_EQ(count_form_pairs(text), count) << text;
}

TEST(Form, ValuesAreFoundUnderTheDecodedName) {
    constexpr std::string_view text = "%=0&a=%&a=2&b+c=3&%64=4&e%=5&f&=6&g%2B=7&a%00=8&long-name=9&lon=10";
    EXPECT_EQ(find_form_value(text, "a"), "%") << "the first, malformed as it is";
    EXPECT_EQ(find_form_value(text, "b c"), "3");
    EXPECT_EQ(find_form_value(text, "d"), "4");
    EXPECT_EQ(find_form_value(text, "f"), "");
    EXPECT_EQ(find_form_value(text, ""), "6");
    EXPECT_EQ(find_form_value(text, "g+"), "7");
    EXPECT_EQ(find_form_value(text, "lon"), "10");
    EXPECT_EQ(find_form_value(text, "long-name"), "9");
    for (const std::string_view none : {"e"sv, "e%"sv, "%"sv, "b+c"sv, "%64"sv, "a\0"sv, "A"sv, "long"sv, "g"sv})
        EXPECT_EQ(find_form_value(text, none), std::nullopt) << none;
    EXPECT_EQ(find_form_value("a\0=1"sv, "a\0"sv), std::nullopt);
    EXPECT_EQ(find_form_value("", ""), std::nullopt);
    EXPECT_EQ(find_form_value("&&", ""), std::nullopt);
}

// What is written by the standard's rule is read back, and the two ways to find a value agree.
TEST(Form, WhatIsEncodedIsReadBack) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const auto encode = [&](const std::string& plain) {
        std::string out;
        for (const char c : plain) {
            char triple[4];
            std::snprintf(triple, sizeof triple, random() % 2 ? "%%%02X" : "%%%02x", static_cast<unsigned char>(c));
            const bool plain_too = c != '&' && c != '=' && c != '+' && c != '%' && c != ' ';
            out += c == ' ' && random() % 2 ? "+" : plain_too && random() % 2 ? std::string(1, c) : triple;
        }
        return out;
    };
    const auto some = [&] {
        std::string plain(random() % 4, '\0');
        for (char& c : plain) c = random() % 3 ? "ab+ %&="[random() % 7] : static_cast<char>(1 + random() % 255);
        return plain;
    };
    for (int round = 0; round < 3'000; ++round) {
        std::string text, expected;
        std::optional<std::string> first;
        const std::string wanted = some();
        for (std::size_t i = random() % 6; i > 0; --i) {
            const std::string name = random() % 3 ? some() : wanted, value = some();
            if (!text.empty()) text += '&';
            text += encode(name) + '=' + encode(value);
            expected += '[' + name + '=' + value + ']';
            if (name == wanted && !first) first = value;
        }
        ASSERT_EQ(read(text), expected) << text;
        const auto found = find_form_value(text, wanted);
        ASSERT_EQ(found.has_value(), first.has_value()) << text;
        if (!found) continue;
        std::string value(found->size(), '\0');
        const auto size = form_decode(*found, value.data());
        ASSERT_TRUE(size) << text;
        ASSERT_EQ(value.substr(0, *size), first) << text;
    }
}

} // namespace
} // namespace form_cases
