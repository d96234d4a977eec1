#include <fastserve/http/date.hpp>

#include <algorithm>
#include <cstring>

namespace fastserve::http {
namespace {

constexpr std::int64_t seconds_a_day = 86'400;
constexpr std::int64_t first_second = -62'135'596'800; // 0001-01-01 00:00:00
constexpr std::int64_t last_second = 253'402'300'799;  // 9999-12-31 23:59:59
constexpr std::uint32_t days_before_epoch = 719'468;   // 0000-03-01 to 1970-01-01
constexpr std::uint32_t days_a_cycle = 146'097;        // 400 Gregorian years
constexpr std::uint32_t days_a_century = 36'524;       // of which the fourth has one more
constexpr std::uint32_t days_in_four_years = 1'461;

constexpr char weekdays[] = "SunMonTueWedThuFriSat";
constexpr char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

void put_two(char* out, std::uint32_t value) noexcept {
    out[0] = static_cast<char>('0' + value / 10);
    out[1] = static_cast<char>('0' + value % 10);
}

} // namespace

void format_date(std::int64_t unix_seconds, char (&out)[date_bytes]) noexcept {
    const std::int64_t time = std::clamp(unix_seconds, first_second, last_second);
    // Counted from 1 March of the year 0, so that the leap day is the last of its year and nothing is negative.
    const auto since_epoch = time + seconds_a_day * days_before_epoch;
    const auto day = static_cast<std::uint32_t>(since_epoch / seconds_a_day);
    const auto second = static_cast<std::uint32_t>(since_epoch % seconds_a_day);

    // The last century of a cycle and the last year of four have the leap day and so are the longer ones.
    const std::uint32_t cycle = day / days_a_cycle;
    std::uint32_t rest = day % days_a_cycle;
    const std::uint32_t century = std::min(rest / days_a_century, 3U);
    rest -= century * days_a_century;
    const std::uint32_t four_years = rest / days_in_four_years;
    rest %= days_in_four_years;
    const std::uint32_t year_of_four = std::min(rest / 365, 3U);
    const std::uint32_t day_of_year = rest - 365 * year_of_four;

    // From March on, months of 31 and 30 days repeat every five months, which have 153 days.
    const std::uint32_t month_from_march = (5 * day_of_year + 2) / 153;
    const std::uint32_t day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    const std::uint32_t month = month_from_march < 10 ? month_from_march + 2 : month_from_march - 10; // January is 0
    const std::uint32_t year = 400 * cycle + 100 * century + 4 * four_years + year_of_four + (month < 2 ? 1 : 0);
    const std::uint32_t weekday = (day + 3) % 7; // 1 March of the year 0 was a Wednesday

    std::memcpy(out, "Thu, 01 Jan 1970 00:00:00 GMT", date_bytes);
    std::memcpy(out, weekdays + 3 * weekday, 3);
    put_two(out + 5, day_of_month);
    std::memcpy(out + 8, months + 3 * month, 3);
    put_two(out + 12, year / 100);
    put_two(out + 14, year % 100);
    put_two(out + 17, second / 3'600);
    put_two(out + 20, second / 60 % 60);
    put_two(out + 23, second % 60);
}

} // namespace fastserve::http
