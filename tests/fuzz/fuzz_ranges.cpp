// Range: every range lies within the representation and no two of them meet, so that no more than all of it is sent.
// For small ones, what is sent is byte for byte what a reading by the grammar asks for.
//
// Input: the size of the representation, two bytes and a shift, then the field.
#include "fuzz.hpp"

#include <fastserve/http/byte_ranges.hpp>

#include <cctype>
#include <optional>
#include <string>

namespace {

using namespace fastserve::http;

// "0012" is 12; what is longer than any size here is a million.
std::optional<unsigned long> number(std::string text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
    return text.size() > 6 ? 1'000'000 : std::stoul(text);
}

struct reading {
    bool valid = false;
    std::vector<bool> wanted;
};

reading naive(std::string_view field, std::size_t size) {
    reading out{false, std::vector<bool>(size)};
    std::string unit(field.substr(0, 6));
    for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (unit != "bytes=") return out;
    std::size_t members = 0;
    std::string rest(field.substr(6));
    for (rest += ','; !rest.empty();) {
        std::string spec = rest.substr(0, rest.find(','));
        rest.erase(0, spec.size() + 1);
        while (!spec.empty() && (spec.back() == ' ' || spec.back() == '\t')) spec.pop_back();
        spec.erase(0, std::min(spec.find_first_not_of(" \t"), spec.size()));
        if (spec.empty()) continue;
        const std::size_t dash = spec.find('-');
        if (dash == spec.npos || ++members > most_byte_ranges) return out;
        const std::string before = spec.substr(0, dash), behind = spec.substr(dash + 1);
        const auto first = number(before), last = number(behind);
        if ((!first && !before.empty()) || (!last && !behind.empty()) || (!first && !last)) return out;
        if (first && last && *first > *last) return out;
        // Suffixes of an empty representation cannot be written.
        if (!first && *last > 0 && size == 0) return out;
        for (std::size_t at = 0; at < size; ++at)
            if (first ? at >= *first && (!last || at <= *last) : at + *last >= size) out.wanted[at] = true;
    }
    out.valid = members != 0;
    return out;
}

// Beyond six digits two numbers can no longer be told apart in naive().
bool has_long_numbers(std::string_view field) {
    std::size_t digits = 0;
    for (const char c : field) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        if (digits > 6) return true;
    }
    return false;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const std::uint64_t low = in.word(), shift = in.byte() % 64, whole = low << shift;
    const std::string_view text = in.rest();
    fuzz::exact_copy copy(text, 0, " ");
    const byte_ranges asked({copy.data(), text.size()}, whole);
    const auto ranges = asked.ranges();

    fuzz::require(ranges.empty() == (asked.verdict() != range_verdict::partial), "ranges are there for a 206");
    std::uint64_t total = 0;
    for (const byte_range& r : ranges) {
        fuzz::require(r.size != 0 && r.first < whole && r.size <= whole - r.first, "a range is within");
        fuzz::require(r.size <= whole - total, "all together are no more than the whole");
        total += r.size;
        for (const byte_range& other : ranges)
            fuzz::require(&r == &other || r.first > other.first + other.size || other.first > r.first + r.size,
                          "no two ranges meet");
        char out[longest_content_range];
        const std::string written(out, write_content_range(r, whole, out));
        fuzz::require(written == "bytes " + std::to_string(r.first) + '-' + std::to_string(r.last()) + '/' +
                                     std::to_string(whole),
                      "Content-Range");
    }

    if (whole > 4096 || has_long_numbers(text)) return 0;
    const reading wanted = naive(text, static_cast<std::size_t>(whole));
    fuzz::require(wanted.valid == (asked.verdict() != range_verdict::whole), "valid or not");
    if (!wanted.valid) return 0;
    std::vector<bool> sent(wanted.wanted.size());
    for (const byte_range& r : ranges)
        for (std::uint64_t at = r.first; at <= r.last(); ++at) sent[static_cast<std::size_t>(at)] = true;
    fuzz::require(sent == wanted.wanted, "what was asked for is sent");
    return 0;
}
