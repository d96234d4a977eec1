#include <fastserve/http/date.hpp>

#include <algorithm>
#include <cstddef>
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

// ---- reading

constexpr std::uint32_t bad_number = ~std::uint32_t{0};
constexpr std::int64_t fifty_years = 50 * (seconds_a_day * days_a_cycle / 400);

struct calendar_time {
    std::uint32_t year, month, day, hour, minute, second; // January is 0
};

std::uint32_t read_number(std::string_view digits) noexcept {
    std::uint32_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return bad_number;
        value = 10 * value + static_cast<std::uint32_t>(c - '0');
    }
    return value;
}

// The place of a name of three letters in a list of `count` such names; `count` when it is none of them.
std::uint32_t find_name(std::string_view name, const char* names, std::uint32_t count) noexcept {
    std::uint32_t i = 0;
    while (i < count && name != std::string_view(names + 3 * i, 3)) ++i;
    return i;
}

bool is_weekday(std::string_view name) noexcept {
    return find_name(name, weekdays, 7) != 7;
}

bool is_long_weekday(std::string_view name) noexcept {
    for (const std::string_view day : {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"})
        if (name == day) return true;
    return false;
}

// "08:49:37"
bool read_time(std::string_view text, calendar_time& out) noexcept {
    if (text[2] != ':' || text[5] != ':') return false;
    out.hour = read_number(text.substr(0, 2));
    out.minute = read_number(text.substr(3, 2));
    out.second = read_number(text.substr(6, 2));
    return out.hour < 24 && out.minute < 60 && out.second <= 60;
}

bool is_day(const calendar_time& t) noexcept {
    constexpr std::uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (t.month >= 12 || t.year == 0 || t.year > 9'999) return false; // of four digits, or bad_number
    const bool leap = t.year % 4 == 0 && (t.year % 100 != 0 || t.year % 400 == 0);
    return t.day >= 1 && t.day <= days[t.month] + (t.month == 1 && leap ? 1U : 0U);
}

// The converse of format_date; also of days behind the end of their month.
std::int64_t unix_time(const calendar_time& t) noexcept {
    const std::uint32_t year = t.month < 2 ? t.year - 1 : t.year;
    const std::uint32_t month_from_march = t.month < 2 ? t.month + 10 : t.month - 2;
    const std::int64_t days = std::int64_t{365} * year + year / 4 - year / 100 + year / 400 +
                              (153 * month_from_march + 2) / 5 + t.day - 1 - std::int64_t{days_before_epoch};
    return seconds_a_day * days + 3'600 * t.hour + 60 * t.minute + t.second;
}

// The year that two digits mean; `t` has all the rest.
std::uint32_t whole_year(std::uint32_t two_digits, calendar_time t, std::int64_t now) noexcept {
    char text[date_bytes];
    format_date(now, text);
    const std::uint32_t last = std::max(read_number({text + 12, 4}) + 51, 100U);
    t.year = last - (last + 100 - two_digits) % 100;
    while (t.year > 100 && unix_time(t) - fifty_years > now) t.year -= 100;
    return t.year;
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

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now) noexcept {
    calendar_time t{};
    bool formed = false;
    const std::size_t comma = text.find(',');
    if (comma == 3 && text.size() == date_bytes) {
        formed = is_weekday(text.substr(0, 3)) && text[4] == ' ' && text[7] == ' ' && text[11] == ' ' &&
                 text[16] == ' ' && text.substr(25) == " GMT" && read_time(text.substr(17, 8), t);
        t.day = read_number(text.substr(5, 2));
        t.month = find_name(text.substr(8, 3), months, 12);
        t.year = read_number(text.substr(12, 4));
    } else if (comma == std::string_view::npos && text.size() == 24) {
        formed = is_weekday(text.substr(0, 3)) && text[3] == ' ' && text[7] == ' ' && text[10] == ' ' &&
                 text[19] == ' ' && read_time(text.substr(11, 8), t);
        t.month = find_name(text.substr(4, 3), months, 12);
        t.day = read_number(text[8] == ' ' ? text.substr(9, 1) : text.substr(8, 2));
        t.year = read_number(text.substr(20, 4));
    } else if (comma != std::string_view::npos && is_long_weekday(text.substr(0, comma))) {
        const std::string_view rest = text.substr(comma + 1);
        if (rest.size() != 23) return std::nullopt;
        formed = rest[0] == ' ' && rest[3] == '-' && rest[7] == '-' && rest[10] == ' ' && rest.substr(19) == " GMT" &&
                 read_time(rest.substr(11, 8), t);
        t.day = read_number(rest.substr(1, 2));
        t.month = find_name(rest.substr(4, 3), months, 12);
        t.year = read_number(rest.substr(8, 2));
        formed = formed && t.year != bad_number && t.month < 12 && t.day <= 31;
        if (formed) t.year = whole_year(t.year, t, now);
    }
    if (!formed || !is_day(t)) return std::nullopt;
    return unix_time(t);
}

} // namespace fastserve::http
