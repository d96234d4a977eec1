#include <fastserve/http/byte_ranges.hpp>

#include "value_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace fastserve::http {
namespace {

constexpr std::uint64_t beyond = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view unit = "bytes";

struct number {
    bool present = false;
    std::uint64_t value = 0; // `beyond` when it has no room
};

number read_number(std::string_view digits) noexcept {
    number n{!digits.empty(), 0};
    for (const char c : digits) {
        if (c < '0' || c > '9') return {};
        const auto digit = static_cast<std::uint64_t>(c - '0');
        n.value = n.value > (beyond - digit) / 10 ? beyond : n.value * 10 + digit;
    }
    return n;
}

struct range_spec {
    number first, last; // a suffix has only the latter, which is then a length
};

// first-pos "-" [ last-pos ], or "-" suffix-length: all of them bytes of tokens.
bool read_spec(std::string_view text, range_spec& out) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return false;
    const std::string_view before = text.substr(0, dash), behind = text.substr(dash + 1);
    out.first = read_number(before);
    out.last = read_number(behind);
    if (out.first.present != !before.empty() || out.last.present != !behind.empty()) return false;
    if (!out.first.present) return out.last.present;
    return !out.last.present || out.first.value <= out.last.value;
}

char* put(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

char* put(char* out, std::uint64_t value) noexcept {
    return std::to_chars(out, out + 20, value).ptr;
}

} // namespace

byte_ranges::byte_ranges(std::string_view field_value, std::uint64_t size) noexcept {
    value_reader in(field_value);
    if (!equal_ignoring_case(in.token(), unit) || !in.take('=')) return;
    std::size_t specs = 0;
    bool whole = false;
    while (in.begin_member()) {
        range_spec spec;
        if (++specs > most_byte_ranges || !read_spec(in.token(), spec) || !in.ends_member()) {
            count_ = 0;
            return;
        }
        if (spec.first.present) {
            if (spec.first.value >= size) continue;
            const std::uint64_t last = spec.last.present ? std::min(spec.last.value, size - 1) : size - 1;
            add({spec.first.value, last - spec.first.value + 1});
        } else if (spec.last.value != 0) {
            const std::uint64_t wanted = std::min(spec.last.value, size);
            if (wanted != 0)
                add({size - wanted, wanted});
            else
                whole = true;
        }
    }
    if (specs == 0 || whole) return;
    verdict_ = count_ == 0 ? range_verdict::unsatisfiable : range_verdict::partial;
}

// Takes in every range that it meets, until it meets none. Each round but the last removes one.
void byte_ranges::add(byte_range range) noexcept {
    std::size_t place = count_;
    for (std::size_t i = 0; i < count_;) {
        const byte_range other = ranges_[i];
        if (i == place || other.first > range.first + range.size || range.first > other.first + other.size) {
            ++i;
            continue;
        }
        const std::uint64_t end = std::max(range.first + range.size, other.first + other.size);
        range.first = std::min(range.first, other.first);
        range.size = end - range.first;
        if (place == count_) {
            place = i;
        } else {
            const std::size_t later = std::max(place, i);
            place = std::min(place, i);
            std::copy(ranges_.begin() + later + 1, ranges_.begin() + count_, ranges_.begin() + later);
            --count_;
        }
        i = 0;
    }
    if (place == count_) ++count_;
    ranges_[place] = range;
}

std::size_t write_content_range(byte_range range, std::uint64_t size, char (&out)[longest_content_range]) noexcept {
    char* at = put(out, "bytes ");
    at = put(at, range.first);
    *at++ = '-';
    at = put(at, range.last());
    *at++ = '/';
    return static_cast<std::size_t>(put(at, size) - out);
}

std::size_t write_unsatisfied_range(std::uint64_t size, char (&out)[longest_content_range]) noexcept {
    return static_cast<std::size_t>(put(put(out, "bytes */"), size) - out);
}

} // namespace fastserve::http
