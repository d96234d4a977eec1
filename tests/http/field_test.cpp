#include <fastserve/http/field.hpp>

#include "parser_support.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <set>

using namespace parser_test;
using http::field;

namespace {

std::string cased(std::string_view text, int (*change)(int)) {
    std::string s(text);
    for (char& c : s) c = static_cast<char>(change(static_cast<unsigned char>(c)));
    return s;
}

TEST(Field, EachNameIsFoundInAnyCase) {
    std::set<std::string_view> seen;
    for (std::uint8_t i = 1; i < http::field_count; ++i) {
        const auto f = static_cast<field>(i);
        const std::string_view name = http::to_string(f);
        ASSERT_FALSE(name.empty());
        EXPECT_TRUE(seen.insert(name).second) << name;
        EXPECT_EQ(http::find_field(name), f) << name;
        EXPECT_EQ(http::find_field(cased(name, std::tolower)), f) << name;
        EXPECT_EQ(http::find_field(cased(name, std::toupper)), f) << name;
    }
    EXPECT_EQ(http::to_string(field::unknown), "");
    EXPECT_EQ(http::to_string(field::www_authenticate), "WWW-Authenticate");
    EXPECT_EQ(http::to_string(field::te), "TE");
}

// A name that differs in one byte, or by one byte in length, is another name: here and in a head.
TEST(Field, NothingElseIsFound) {
    for (std::uint8_t i = 1; i < http::field_count; ++i) {
        const std::string name(http::to_string(static_cast<field>(i)));
        for (std::size_t at = 0; at < name.size(); ++at)
            for (unsigned c = 0; c < 256; ++c) {
                std::string other = name;
                other[at] = static_cast<char>(c);
                const bool same = std::tolower(static_cast<int>(c)) == std::tolower(name[at]) && c < 128;
                EXPECT_EQ(http::find_field(other) == static_cast<field>(i), same) << other;
            }
        for (const std::string& other : {name + "s", "x" + name, name.substr(1), name.substr(0, name.size() - 1)})
            EXPECT_NE(http::find_field(other), static_cast<field>(i)) << other;
    }
    for (const char* other :
         {"", "a", "-", "Content_Length", "Content\rLength", "X-Forwarded-Fo", "Hosts", "\x48\xef\x73\x74"})
        EXPECT_EQ(http::find_field(other), field::unknown) << other;
    EXPECT_EQ(http::find_field(repeat("x", 1000)), field::unknown);
}

TEST(Field, TheParserFindsTheSameOnes) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    static constexpr std::string_view tchars = "!#$%&'*+-.^_`|~09azAZ";
    for (int round = 0; round < 20'000; ++round) {
        std::string name(http::to_string(static_cast<field>(1 + random() % (http::field_count - 1))));
        if (random() % 2) name[random() % name.size()] = tchars[random() % tchars.size()];
        if (random() % 4 == 0) name = random() % 2 ? cased(name, std::tolower) : cased(name, std::toupper);
        if (random() % 8 == 0) name.push_back('z');
        if (random() % 8 == 0 && name.size() > 1) name.erase(0, 1);
        const field expected = http::find_field(name);
        // Their value here would be refused, and the head with it.
        if (expected == field::content_length || expected == field::transfer_encoding) continue;
        const std::string text = "GET / HTTP/1.0\r\nFirst: x\r\n" + name + ": v\r\n\r\n";
        const std::string padded = text + std::string(http::parse_padding, 'x');
        subject s;
        ASSERT_EQ(s.feed(padded.data(), text.size()), http::parse_status::complete) << name;
        ASSERT_EQ(s.head.fields.size(), 2U) << name;
        ASSERT_EQ(s.head.fields[1].id, expected) << name;
    }
}

// O(1): the head is asked for the first of the known fields without its lines being looked at.
TEST(Field, AHeadFindsKnownFieldsWithoutASearch) {
    std::string text = "GET / HTTP/1.0\r\n";
    for (std::uint8_t i = 1; i < http::field_count; ++i) {
        const auto f = static_cast<field>(i);
        if (f == field::transfer_encoding || f == field::content_length || f == field::host) continue;
        text.append(http::to_string(f)).append(": value ").append(std::to_string(i)).append("\r\n");
    }
    text += "\r\n";
    text.append(http::parse_padding, '\0');
    subject s;
    ASSERT_EQ(s.feed(text.data(), text.size() - http::parse_padding), http::parse_status::complete);
    for (std::uint8_t i = 1; i < http::field_count; ++i) {
        const auto f = static_cast<field>(i);
        if (s.head.has(f)) {
            EXPECT_EQ(s.head.find(f), "value " + std::to_string(i));
        }
    }
    // With the names of all lines overwritten a search would find nothing.
    for (http::field_line& line : s.lines) line.id = field::unknown;
    EXPECT_EQ(s.head.find(field::accept), "value 1");
    EXPECT_EQ(s.head.find(field::host), std::nullopt);
}

} // namespace
