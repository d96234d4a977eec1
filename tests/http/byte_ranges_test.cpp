#include <fastserve/http/byte_ranges.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace byte_ranges_cases {
namespace {

using namespace fastserve::http;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

// "0-4,6-9", "whole" or "416".
std::string ask(std::string_view field, std::uint64_t size) {
    const byte_ranges asked(field, size);
    std::string all;
    for (const byte_range r : asked.ranges()) {
        EXPECT_GT(r.size, 0U);
        EXPECT_LE(r.size, size);
        EXPECT_LE(r.first, size - r.size);
        all += (all.empty() ? "" : ",") + std::to_string(r.first) + '-' + std::to_string(r.last());
    }
    EXPECT_EQ(all.empty(), asked.verdict() != range_verdict::partial);
    if (asked.verdict() == range_verdict::whole) return "whole";
    return asked.verdict() == range_verdict::unsatisfiable ? "416" : all;
}

TEST(ByteRanges, OneRange) {
    struct {
        std::string_view field, ranges;
    } const rows[] = {
        {"bytes=0-0", "0-0"},      {"bytes=0-4", "0-4"},    {"bytes=5-", "5-9"},     {"bytes=0-", "0-9"},
        {"bytes=9-", "9-9"},       {"bytes=9-9", "9-9"},    {"bytes=0-9", "0-9"},    {"bytes=0-10", "0-9"},
        {"bytes=3-999", "3-9"},    {"bytes=10-", "416"},    {"bytes=10-10", "416"},  {"bytes=11-", "416"},
        {"bytes=-1", "9-9"},       {"bytes=-9", "1-9"},     {"bytes=-10", "0-9"},    {"bytes=-11", "0-9"},
        {"bytes=-0", "416"},       {"bytes=-00", "416"},    {"bytes=00-004", "0-4"}, {"Bytes=0-4", "0-4"},
        {"BYTES=0-4", "0-4"},      {"bytes= 0-4\t", "0-4"}, {"bytes=,0-4", "0-4"},   {"bytes=0-4 ,, ", "0-4"},
        {"bytes=\t,  0-4", "0-4"},
    };
    for (const auto& row : rows) EXPECT_EQ(ask(row.field, 10), row.ranges) << row.field;
}

TEST(ByteRanges, IgnoresWhatIsMalformedOrNotOfBytes) {
    for (const std::string_view field : {"",
                                         " ",
                                         "bytes",
                                         "bytes=",
                                         "bytes=,",
                                         "bytes= , ",
                                         "bytes=-",
                                         "bytes=--",
                                         "bytes=--1",
                                         "bytes=0",
                                         "bytes=0-4-5",
                                         "bytes=4-0",
                                         "bytes=1-0",
                                         "bytes=a-4",
                                         "bytes=0-a",
                                         "bytes=0x0-4",
                                         "bytes=+0-4",
                                         "bytes=0-+4",
                                         "bytes=-+1",
                                         "bytes=0 -4",
                                         "bytes=0- 4",
                                         "bytes=- 4",
                                         "bytes=0-4 5-6",
                                         "bytes=0-4;5-6",
                                         "bytes =0-4",
                                         " bytes=0-4",
                                         "bytes:0-4",
                                         "bytes 0-4",
                                         "byte=0-4",
                                         "bytess=0-4",
                                         "items=0-4",
                                         "none",
                                         "=0-4",
                                         "bytes=0-4,a",
                                         "bytes=a,0-4",
                                         "bytes=0-4,4-3",
                                         "bytes=0-4,-",
                                         "bytes=0-4,bytes=5-6",
                                         "bytes=\"0-4\"",
                                         "bytes=0-4\x01",
                                         "bytes=0.5-4",
                                         "bytes=*",
                                         "bytes=0-*",
                                         "bytes=\xEF\xBC\x90-4",
                                         "bytes=20-,x",
                                         "bytes=9-8,0-4"}) {
        EXPECT_EQ(ask(field, 10), "whole") << field;
        EXPECT_EQ(ask(field, 0), "whole") << field;
    }
    EXPECT_EQ(ask(std::string_view("bytes=0-4\0", 10), 10), "whole");
}

TEST(ByteRanges, SeveralRangesKeepTheirOrderAndAreJoined) {
    struct {
        std::string_view field, ranges;
    } const rows[] = {
        {"bytes=0-1,4-5", "0-1,4-5"},
        {"bytes=4-5,0-1", "4-5,0-1"},
        {"bytes=0-1, -1", "0-1,9-9"},
        {"bytes=0-1,2-3", "0-3"},
        {"bytes=2-3,0-1", "0-3"},
        {"bytes=0-1,3-4", "0-1,3-4"},
        {"bytes=0-5,2-3", "0-5"},
        {"bytes=2-3,0-5", "0-5"},
        {"bytes=0-,0-,0-,0-,0-", "0-9"},
        {"bytes=0-,-10", "0-9"},
        {"bytes=8-9,0-1,4-5", "8-9,0-1,4-5"},
        {"bytes=8-9,0-1,4-5,2-3", "8-9,0-5"}, // one that joins two
        {"bytes=0-1,8-9,4-5,2-7", "0-9"},     // and three
        {"bytes=6-6,0-0,4-4,2-2,1-1", "6-6,0-2,4-4"},
        {"bytes=6-6,0-0,4-4,2-2,1-5", "0-6"},
        {"bytes=20-,0-1", "0-1"},
        {"bytes=0-1,20-30", "0-1"},
        {"bytes=-0,0-1", "0-1"},
        {"bytes=10-,-0,99999-", "416"},
    };
    for (const auto& row : rows) EXPECT_EQ(ask(row.field, 10), row.ranges) << row.field;
}

TEST(ByteRanges, AnEmptyRepresentationHasNone) {
    EXPECT_EQ(ask("bytes=0-", 0), "416");
    EXPECT_EQ(ask("bytes=0-0", 0), "416");
    EXPECT_EQ(ask("bytes=-0", 0), "416");
    EXPECT_EQ(ask("bytes=-1", 0), "whole");
    EXPECT_EQ(ask("bytes=0-,-1", 0), "whole");
}

TEST(ByteRanges, NumbersOfAnyLength) {
    const std::string max = std::to_string(largest), before_max = std::to_string(largest - 1);
    EXPECT_EQ(ask("bytes=0-" + max, 10), "0-9");
    EXPECT_EQ(ask("bytes=0-18446744073709551616", 10), "0-9");
    EXPECT_EQ(ask("bytes=0-" + std::string(5'000, '9'), 10), "0-9");
    EXPECT_EQ(ask("bytes=" + max + '-', 10), "416");
    EXPECT_EQ(ask("bytes=18446744073709551616-", 10), "416");
    EXPECT_EQ(ask("bytes=18446744073709551617-18446744073709551618", 10), "416");
    EXPECT_EQ(ask("bytes=18446744073709551617-5", 10), "whole");
    EXPECT_EQ(ask("bytes=184467440737095516160-", 10), "416"); // 0 to who lets it wrap
    EXPECT_EQ(ask("bytes=-18446744073709551616", 10), "0-9");
    EXPECT_EQ(ask("bytes=-" + std::string(5'000, '9'), 10), "0-9");
    EXPECT_EQ(ask("bytes=" + std::string(5'000, '0') + "3-3", 10), "3-3");
    EXPECT_EQ(ask("bytes=0-", largest), "0-" + before_max);
    EXPECT_EQ(ask("bytes=" + before_max + '-' + max, largest), before_max + '-' + before_max);
    EXPECT_EQ(ask("bytes=" + max + '-', largest), "416");
    EXPECT_EQ(ask("bytes=-" + max, largest), "0-" + before_max);
    EXPECT_EQ(ask("bytes=-1,0-0,1-" + max, largest), "0-" + before_max);
}

TEST(ByteRanges, AsManyAsMayBe) {
    const auto apart = [](std::size_t count) {
        std::string field = "bytes=", ranges;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string range = std::to_string(2 * i) + '-' + std::to_string(2 * i);
            field += range + ',';
            ranges += (i ? "," : "") + range;
        }
        return std::pair(field, ranges);
    };
    for (const std::size_t count : {most_byte_ranges - 1, most_byte_ranges}) {
        const auto& [field, ranges] = apart(count);
        EXPECT_EQ(ask(field, 1'000), ranges);
    }
    EXPECT_EQ(ask(apart(most_byte_ranges + 1).first, 1'000), "whole");
    EXPECT_EQ(ask(apart(5'000).first, 1'000'000), "whole");
    std::string same = "bytes=0-";
    for (std::size_t i = 1; i < most_byte_ranges; ++i) same += ",0-";
    EXPECT_EQ(ask(same, 10), "0-9");
    EXPECT_EQ(ask(same + ",0-", 10), "whole");
    EXPECT_EQ(ask("bytes=" + std::string(100'000, ',') + "0-1", 10), "0-1");
}

// Against a set of bytes, which is too simple to be wrong.
TEST(ByteRanges, CoverWhatWasAskedForAndNoByteTwice) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 5'000; ++round) {
        const std::size_t size = 1 + random() % 60;
        const std::size_t count = 1 + random() % most_byte_ranges;
        std::string field = "bytes=";
        std::vector<bool> wanted(size);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t first = random() % 70, last = first + random() % 8;
            const unsigned kind = random() % 8;
            const bool suffix = kind == 0, open = kind == 1;
            if (i) field += ',';
            if (!suffix) field += std::to_string(first);
            field += '-';
            if (!open) field += std::to_string(suffix ? last - first : last);
            for (std::size_t at = 0; at < size; ++at)
                if (suffix ? at + (last - first) >= size : at >= first && (open || at <= last)) wanted[at] = true;
        }
        const byte_ranges asked(field, size);
        std::vector<bool> sent(size);
        for (const byte_range r : asked.ranges())
            for (std::uint64_t at = r.first; at <= r.last(); ++at) {
                ASSERT_LT(at, size) << field;
                ASSERT_FALSE(sent[at]) << field << ": twice";
                sent[at] = true;
            }
        ASSERT_EQ(sent, wanted) << field << " of " << size;
        const bool any = std::find(wanted.begin(), wanted.end(), true) != wanted.end();
        ASSERT_EQ(asked.verdict(), any ? range_verdict::partial : range_verdict::unsatisfiable) << field;
        for (const byte_range a : asked.ranges())
            for (const byte_range b : asked.ranges()) ASSERT_NE(a.last() + 1, b.first) << field << ": touch";
    }
}

TEST(ContentRange, IsWritten) {
    char out[longest_content_range];
    EXPECT_EQ(std::string(out, write_content_range({0, 500}, 1234, out)), "bytes 0-499/1234");
    EXPECT_EQ(std::string(out, write_content_range({9, 1}, 10, out)), "bytes 9-9/10");
    EXPECT_EQ(std::string(out, write_content_range({largest - 2, 2}, largest, out)),
              "bytes 18446744073709551613-18446744073709551614/18446744073709551615");
    EXPECT_EQ(std::string(out, write_unsatisfied_range(0, out)), "bytes */0");
    EXPECT_EQ(std::string(out, write_unsatisfied_range(largest, out)), "bytes */18446744073709551615");
}

} // namespace
} // namespace byte_ranges_cases
