#include <fastserve/http/date.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace {

using fastserve::http::date_bytes;
using fastserve::http::format_date;
using fastserve::http::parse_date;

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

constexpr std::int64_t in_2026 = 1'780'000'000; // 28 May 2026, 20:26:40

TEST(date, is_read_in_all_three_forms) {
    struct {
        const char* text;
        std::int64_t time;
    } const rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784'111'777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784'111'777},
        {"Sun Nov  6 08:49:37 1994", 784'111'777},
        {"Sun Nov 06 08:49:37 1994", 784'111'777},
        {"Wed Nov 16 08:49:37 1994", 784'975'777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Mon, 01 Jan 0001 00:00:00 GMT", -62'135'596'800},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253'402'300'799},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951'782'400},
        {"Mon, 06 Nov 1994 08:49:37 GMT", 784'111'777}, // it was a Sunday
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1'483'228'800},
        {"Thursday, 01-Jan-76 00:00:00 GMT", 3'345'062'400},
        {"Saturday, 01-Jan-77 00:00:00 GMT", 220'924'800},
    };
    for (const auto& row : rows) EXPECT_EQ(parse_date(row.text, in_2026), row.time) << row.text;
}

TEST(date, refuses_what_is_none) {
    for (const std::string_view text : {"",
                                        " ",
                                        "now",
                                        "0",
                                        "784111777",
                                        "Sun, 06 Nov 1994 08:49:37",
                                        "Sun, 06 Nov 1994 08:49:37 UTC",
                                        "Sun, 06 Nov 1994 08:49:37 gmt",
                                        "sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 nov 1994 08:49:37 GMT",
                                        "Son, 06 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nox 1994 08:49:37 GMT",
                                        "Sun, 6 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 94 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 8:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49 GMT",
                                        " Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 GMT ",
                                        "Sun,  6 Nov 1994 08:49:37 GMT",
                                        "Sun, 06-Nov-1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08.49.37 GMT",
                                        "Sun, 06 Nov 1994 24:00:00 GMT",
                                        "Sun, 06 Nov 1994 08:60:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:61 GMT",
                                        "Sun, 00 Nov 1994 08:49:37 GMT",
                                        "Sun, 31 Nov 1994 08:49:37 GMT",
                                        "Sun, 32 Dec 1994 08:49:37 GMT",
                                        "Sun, 29 Feb 1900 08:49:37 GMT",
                                        "Sun, 29 Feb 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 0000 08:49:37 GMT",
                                        "Sun, -6 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov -994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-1994 08:49:37 GMT",
                                        "Sun, 06-Nov-94 08:49:37 GMT",
                                        "Sunday, 06 Nov 94 08:49:37 GMT",
                                        "Sunday 06-Nov-94 08:49:37 GMT",
                                        "Sunday, 06-Nov-9x 08:49:37 GMT",
                                        "Sunday, 31-Nov-94 08:49:37 GMT",
                                        "Sunday, xx-Nov-94 08:49:37 GMT",
                                        "Sunday, 06-Nox-94 08:49:37 GMT",
                                        "Sonntag, 06-Nov-94 08:49:37 GMT",
                                        "Sunday,",
                                        "Sunday, ",
                                        "Sun,",
                                        "Sun Nov 6 08:49:37 1994",
                                        "Sun Nov  6 08:49:37 19x4",
                                        "Sun Nov   08:49:37 1994",
                                        "Sun Nov  x 08:49:37 1994",
                                        "Sun Nov  0 08:49:37 1994",
                                        "Sun Nov 31 08:49:37 1994",
                                        "Sun Nov  6 08:49:37 1994 GMT"})
        EXPECT_EQ(parse_date(text, in_2026), std::nullopt) << text;
    // One byte of each form is wrong.
    for (const std::string_view good :
         {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
        for (std::size_t i = 0; i < good.size(); ++i) {
            for (const char c : {'\0', '/', ':', 'X', '\x80', '\xff'}) {
                if (good[i] == c) continue;
                std::string bad(good);
                bad[i] = c;
                EXPECT_EQ(parse_date(bad, in_2026), std::nullopt) << bad;
            }
            EXPECT_EQ(parse_date(good.substr(0, i), in_2026), std::nullopt) << good.substr(0, i);
        }
}

TEST(date, two_digits_mean_a_year_within_fifty_to_come) {
    struct {
        const char* text;
        std::int64_t now;
        const char* meant;
    } const rows[] = {
        {"Friday, 27-May-76 23:26:39 GMT", in_2026, "Wed, 27 May 2076 23:26:39 GMT"},
        {"Friday, 27-May-76 23:26:40 GMT", in_2026, "Wed, 27 May 2076 23:26:40 GMT"},
        {"Friday, 27-May-76 23:26:41 GMT", in_2026, "Thu, 27 May 1976 23:26:41 GMT"},
        {"Friday, 29-May-76 20:26:40 GMT", in_2026, "Sat, 29 May 1976 20:26:40 GMT"},
        {"Friday, 01-Jan-77 00:00:00 GMT", in_2026, "Sat, 01 Jan 1977 00:00:00 GMT"},
        {"Friday, 01-Jan-75 00:00:00 GMT", in_2026, "Tue, 01 Jan 2075 00:00:00 GMT"},
        {"Friday, 29-Feb-00 00:00:00 GMT", in_2026, "Tue, 29 Feb 2000 00:00:00 GMT"},
        {"Friday, 06-Nov-94 08:49:37 GMT", 0, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {"Friday, 06-Nov-20 08:49:37 GMT", 0, "Sat, 06 Nov 1920 08:49:37 GMT"},
        {"Friday, 01-Jan-10 00:00:00 GMT", 3'786'912'000, "Wed, 01 Jan 2110 00:00:00 GMT"}, // in 2090
    };
    for (const auto& row : rows) {
        const auto time = parse_date(row.text, row.now);
        ASSERT_TRUE(time) << row.text;
        EXPECT_EQ(date_of(*time), row.meant) << row.text << " at " << row.now;
    }
    EXPECT_EQ(parse_date("Friday, 29-Feb-00 00:00:00 GMT", 3'786'912'000), std::nullopt) << "2100 has none";
    for (const std::int64_t now : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
        for (int year = 0; year < 100; ++year) {
            char text[48];
            std::snprintf(text, sizeof text, "Friday, 01-Jan-%02d 00:00:00 GMT", year);
            const auto time = parse_date(text, now);
            if (time) {
                EXPECT_EQ(date_of(*time).substr(14, 2), std::string(text + 15, 2));
            }
        }
}

TEST(date, what_is_written_is_read) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> any(-62'135'596'800, 253'402'300'799);
    constexpr std::array<const char*, 7> rests{"day", "day", "sday", "nesday", "rsday", "day", "urday"};
    for (int i = 0; i < 20'000; ++i) {
        const std::int64_t time = any(random);
        const std::string date = date_of(time);
        ASSERT_EQ(parse_date(date, in_2026), time) << date;

        std::tm parts{};
        const std::time_t as_time = time;
        ASSERT_TRUE(gmtime_r(&as_time, &parts));
        char old[64];
        std::snprintf(old, sizeof old, "%s %s %2d %s %s", date.substr(0, 3).c_str(), date.substr(8, 3).c_str(),
                      parts.tm_mday, date.substr(17, 8).c_str(), date.substr(12, 4).c_str());
        ASSERT_EQ(parse_date(old, in_2026), time) << old;

        // Read at a time within 49 years, two digits say enough.
        std::snprintf(old, sizeof old, "%s%s, %s-%s-%s %s GMT", date.substr(0, 3).c_str(),
                      rests[static_cast<std::size_t>(parts.tm_wday)], date.substr(5, 2).c_str(),
                      date.substr(8, 3).c_str(), date.substr(14, 2).c_str(), date.substr(17, 8).c_str());
        const std::int64_t apart = std::uniform_int_distribution<std::int64_t>(-1'540'000'000, 1'540'000'000)(random);
        if (parts.tm_year > -1'600 && parts.tm_year < 7'900) {
            ASSERT_EQ(parse_date(old, time + apart), time) << old;
        }
    }
}

} // namespace
