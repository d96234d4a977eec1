// Conditional requests: whether to do what is asked for, by what the client knows of it (RFC 9110 13).
//
// Every function here is pure, allocates nothing, throws nothing, and may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fastserve::http {

struct head;

// An entity tag (RFC 9110 8.8.3). The view is a part of what was read.
struct entity_tag {
    std::string_view opaque; // with its quotes
    bool weak = false;
};

// The tag that `text` is, all of it: "\"x\"" or "W/\"x\"". Nothing for anything else.
std::optional<entity_tag> parse_entity_tag(std::string_view text) noexcept;

// Strong comparison: the same, byte by byte. Weak comparison: good enough for each other (RFC 9110 8.8.3.2).
constexpr bool strong_equal(const entity_tag& a, const entity_tag& b) noexcept {
    return !a.weak && !b.weak && a.opaque == b.opaque;
}
constexpr bool weak_equal(const entity_tag& a, const entity_tag& b) noexcept {
    return a.opaque == b.opaque;
}

// What there is at present of that which is asked for.
struct validators {
    bool exists = true;                          // false: the target has no current representation, as before a PUT
    std::string_view etag{};                     // as the answer's ETag says; empty if it has none
    std::optional<std::int64_t> last_modified{}; // Unix time in seconds, as the answer's Last-Modified says
    // True when the representation cannot have changed twice within the second of last_modified, so that the date is
    // as good as a strong tag (RFC 9110 8.8.2.2). If-Range with a date is not satisfied otherwise.
    bool strong_date = false;
};

enum class precondition : std::uint8_t {
    proceed,      // do what the method says
    not_modified, // 304, with the validators and no content; GET and HEAD only
    failed,       // 412, with nothing done
};

struct condition_verdict {
    precondition outcome = precondition::proceed;
    bool use_range = false; // proceed, and Range is to be looked at (byte_ranges); it is to be ignored otherwise

    friend bool operator==(const condition_verdict&, const condition_verdict&) = default;
};

// Judges If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since and If-Range in the order of RFC 9110 13.2.2.
// To be asked when the answer would otherwise be a 2xx, before anything is done (RFC 9110 13.2.1). `now` is Unix time
// in seconds; it is what the years of old dates are read by (parse_date).
//
// What is ignored, as if it were not there:
// * dates that are none, or stand in two lines of one name; and all but If-Range's if there is no last_modified;
// * If-Unmodified-Since beside If-Match, and If-Modified-Since beside If-None-Match;
// * If-Modified-Since unless the method is GET or HEAD; all five for CONNECT, OPTIONS and TRACE;
// * Range in two lines, and with any method but GET.
// A list of tags is read member by member: one that is no tag matches nothing. Neither If-Range that is no tag and no
// date, nor one that stands in two lines, is satisfied.
condition_verdict evaluate_conditions(const head& request, const validators& current, std::int64_t now) noexcept;

} // namespace fastserve::http
