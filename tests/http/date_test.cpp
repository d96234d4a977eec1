#include <fastserve/http/date.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <random>
#include <string>

namespace {

using fastserve::http::date_bytes;
using fastserve::http::format_date;

std::string date_of(std::int64_t unix_seconds) {
    char out[date_bytes];
    format_date(unix_seconds, out);
    return {out, date_bytes};
}

TEST(date, known_values) {
    struct {
        std::int64_t time;
        const char* date;
    } const rows[] = {
        {784'111'777, "Sun, 06 Nov 1994 08:49:37 GMT"}, // the example of RFC 9110 5.6.7
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {951'782'399, "Mon, 28 Feb 2000 23:59:59 GMT"},
        {951'782'400, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {951'868'800, "Wed, 01 Mar 2000 00:00:00 GMT"},
        {978'307'199, "Sun, 31 Dec 2000 23:59:59 GMT"},
        {1'709'164'800, "Thu, 29 Feb 2024 00:00:00 GMT"},
        {1'740'787'200, "Sat, 01 Mar 2025 00:00:00 GMT"},
        {2'147'483'647, "Tue, 19 Jan 2038 03:14:07 GMT"},
        {2'147'483'648, "Tue, 19 Jan 2038 03:14:08 GMT"},
        {-2'203'891'200, "Thu, 01 Mar 1900 00:00:00 GMT"},
        {-2'203'891'201, "Wed, 28 Feb 1900 23:59:59 GMT"},
        {4'107'542'399, "Sun, 28 Feb 2100 23:59:59 GMT"},
        {4'107'542'400, "Mon, 01 Mar 2100 00:00:00 GMT"},
        {253'402'300'799, "Fri, 31 Dec 9999 23:59:59 GMT"},
        {-62'135'596'800, "Mon, 01 Jan 0001 00:00:00 GMT"},
    };
    for (const auto& row : rows) EXPECT_EQ(date_of(row.time), row.date) << row.time;
}

TEST(date, years_without_four_digits_are_clamped) {
    EXPECT_EQ(date_of(253'402'300'800), "Fri, 31 Dec 9999 23:59:59 GMT");
    EXPECT_EQ(date_of(std::numeric_limits<std::int64_t>::max()), "Fri, 31 Dec 9999 23:59:59 GMT");
    EXPECT_EQ(date_of(-62'135'596'801), "Mon, 01 Jan 0001 00:00:00 GMT");
    EXPECT_EQ(date_of(std::numeric_limits<std::int64_t>::min()), "Mon, 01 Jan 0001 00:00:00 GMT");
}

// Walks the calendar a day at a time, which shares nothing with the computation.
TEST(date, every_day_of_two_cycles) {
    constexpr std::array<const char*, 7> weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<const char*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int year = 1600;
    std::size_t month = 0;
    int day = 1;
    std::size_t weekday = 6; // 1 January 1600 was a Saturday
    for (std::int64_t time = -11'676'096'000; year < 2400; time += 86'400) {
        char expected[48];
        std::snprintf(expected, sizeof expected, "%s, %02d %s %04d 00:00:00 GMT", weekdays[weekday], day, months[month],
                      year);
        ASSERT_EQ(date_of(time), expected);
        expected[17] = '2', expected[18] = '3', expected[20] = '5', expected[21] = '9', expected[23] = '5',
        expected[24] = '9';
        ASSERT_EQ(date_of(time + 86'399), expected);

        weekday = (weekday + 1) % 7;
        const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        const int days = month == 1                                                ? (leap ? 29 : 28)
                         : (month == 3 || month == 5 || month == 8 || month == 10) ? 30
                                                                                   : 31;
        if (++day > days) {
            day = 1;
            if (++month == 12) month = 0, ++year;
        }
    }
}

TEST(date, agrees_with_gmtime_at_random_times) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> any(-62'135'596'800, 253'402'300'799);
    for (int i = 0; i < 20'000; ++i) {
        const std::time_t time = any(random);
        std::tm parts{};
        ASSERT_TRUE(gmtime_r(&time, &parts));
        char expected[64];
        // The test binary runs in the C locale, whose names are the protocol's.
        ASSERT_NE(std::strftime(expected, sizeof expected, "%a, %d %b ", &parts), 0U);
        char rest[48];
        std::snprintf(rest, sizeof rest, "%04d %02d:%02d:%02d GMT", parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                      parts.tm_sec);
        ASSERT_EQ(date_of(time), std::string(expected) + rest) << time;
    }
}

} // namespace
