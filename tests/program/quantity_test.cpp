#include "../../server/cli/quantity.hpp"

#include <fastserve/http/limits.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

using fastserve::cli::format_quantity;
using fastserve::cli::parse_quantity;
using fastserve::cli::read_quantity;
using unit = fastserve::http::limit_unit;

TEST(Quantity, Reads) {
    struct {
        unit u;
        std::string_view text;
        std::uint64_t value;
    } const cases[] = {
        {unit::milliseconds, "0", 0},          {unit::milliseconds, "250", 250},
        {unit::milliseconds, "500ms", 500},    {unit::milliseconds, "30s", 30'000},
        {unit::milliseconds, "30S", 30'000},   {unit::milliseconds, "5m", 300'000},
        {unit::milliseconds, "2h", 7'200'000}, {unit::milliseconds, "365d", 31'536'000'000},
        {unit::bytes, "65536", 65'536},        {unit::bytes, "64k", 65'536},
        {unit::bytes, "64K", 65'536},          {unit::bytes, "64kB", 65'536},
        {unit::bytes, "64KiB", 65'536},        {unit::bytes, "7B", 7},
        {unit::bytes, "1M", 1'048'576},        {unit::bytes, "1mib", 1'048'576},
        {unit::bytes, "4G", 4'294'967'296},    {unit::bytes, "1T", 1'099'511'627'776},
        {unit::bytes_per_second, "1k", 1024},  {unit::count, "18446744073709551615", 18'446'744'073'709'551'615u},
    };
    for (const auto& c : cases) EXPECT_EQ(parse_quantity(c.text, c.u), c.value) << c.text;
}

TEST(Quantity, Refuses) {
    for (const std::string_view text : {"", " ", "s", "ms", "-1", "+1", "1.5s", "1 s", "1sec", "30s ", "1k", "0x10",
                                        "18446744073709551616", "18446744073709551615s", "1ss", "1e3"})
        EXPECT_EQ(parse_quantity(text, unit::milliseconds), std::nullopt) << text;
    for (const std::string_view text : {"k", "B", "iB", "1kk", "1iB", "1i", "1ki", "1kiBB", "1s", "16777216T", "1 k"})
        EXPECT_EQ(parse_quantity(text, unit::bytes), std::nullopt) << text;
    for (const std::string_view text : {"1k", "1ms", "1B", "N"})
        EXPECT_EQ(parse_quantity(text, unit::count), std::nullopt) << text;
}

TEST(Quantity, WritesTheShortestThatReadsBack) {
    struct {
        unit u;
        std::uint64_t value;
        std::string_view text;
    } const cases[] = {
        {unit::milliseconds, 0, "0"},          {unit::milliseconds, 250, "250ms"},
        {unit::milliseconds, 1'500, "1500ms"}, {unit::milliseconds, 75'000, "75s"},
        {unit::milliseconds, 60'000, "1m"},    {unit::milliseconds, 86'400'000, "1d"},
        {unit::bytes, 1'000, "1000"},          {unit::bytes, 16'384, "16k"},
        {unit::bytes, 4'194'304, "4M"},        {unit::bytes, std::uint64_t{1} << 40, "1T"},
        {unit::bytes_per_second, 1'024, "1k"}, {unit::count, 65'536, "65536"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(format_quantity(c.value, c.u), c.text);
        EXPECT_EQ(parse_quantity(c.text, c.u), c.value) << c.text;
    }
}

TEST(Quantity, SaysWhatIsWrong) {
    EXPECT_EQ(read_quantity("1k", unit::bytes, 128, 1 << 20).value, 1024u);
    EXPECT_EQ(read_quantity("1k", unit::bytes, 128, 1 << 20).fault, "");
    EXPECT_EQ(read_quantity("127", unit::bytes, 128, 1 << 20).fault, "must be from 128 to 1M");
    EXPECT_EQ(read_quantity("2M", unit::bytes, 128, 1 << 20).fault, "must be from 128 to 1M");
    EXPECT_NE(read_quantity("soon", unit::milliseconds, 0, 1).fault.find("500ms"), std::string::npos);
    EXPECT_EQ(read_quantity("", unit::count, 0, 1).fault, "takes a whole number");
}

// What every flag of a limit takes.
TEST(Quantity, KeepsToTheRangeOfEachLimit) {
    for (const fastserve::http::limit_row& row : fastserve::http::limit_table) {
        const auto fault = [&row](std::uint64_t value) {
            return read_quantity(std::to_string(value), row.unit, row.least, row.most).fault;
        };
        for (const std::uint64_t good : {row.least, row.least + 1, row.most - 1, row.most, row.get({})})
            EXPECT_EQ(fault(good), "") << row.name << ' ' << good;
        EXPECT_TRUE(row.least == 0 || !fault(row.least - 1).empty()) << row.name;
        EXPECT_NE(fault(row.most + 1), "") << row.name;
    }
}

} // namespace
