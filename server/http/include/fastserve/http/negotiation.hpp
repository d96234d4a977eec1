// What a client would rather have (RFC 9110 12): choosing among what the server can send by Accept and Accept-Encoding.
//
// A preference object is told of each field line in turn, since lines of one name form one list (RFC 9110 5.3), and is
// then asked. Nothing here allocates or throws; the time is that of one walk over the lines, times the number of offers
// for media types. One thread at a time.
//
// Both lists are read alike. Weights are 0 to 1 with at most three digits behind the point; ".2" is read as "0.2",
// because Java's client has sent it for decades. A member that is malformed is skipped as if it were not there, and so
// are empty ones. Of several members that say something about the same thing with the same precision the highest
// weight counts. Names are compared without regard to case.
#pragma once

#include <fastserve/http/content_coding.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fastserve::http {

struct head;

// A weight in thousandths: 0 (not acceptable) to 1000.
using weight = std::uint16_t;

// ---- Accept-Encoding (RFC 9110 12.5.3)

class coding_preferences {
public:
    coding_preferences() noexcept = default;
    // Told of all Accept-Encoding lines of a head.
    explicit coding_preferences(const head& of) noexcept;

    void add(std::string_view field_value) noexcept;

    // The weight of a coding: its own, else that of "*", else 0. identity needs neither to be acceptable: it then has
    // 1, the least there is.
    weight of(content_coding c) const noexcept;

    // The offer of the highest weight above 0; of equal ones the first in the server's order. identity is offered
    // always, as the last unless it stands elsewhere among the offers.
    //
    // Nothing when even identity was excluded ("identity;q=0" or "*;q=0"): 406, or identity all the same, as the server
    // likes (RFC 9110 12.4.1). A field that is absent or empty gives identity: RFC 9110 allows every coding to who says
    // nothing, but those are the clients that decode nothing.
    std::optional<content_coding> choose(std::span<const content_coding> offers) const noexcept;

private:
    static constexpr weight unset = 0xffff;
    void note(std::size_t index, weight q) noexcept;

    std::array<weight, content_coding_count + 1> weights_ = {unset, unset, unset, unset, unset, unset}; // the last: "*"
};

// ---- Accept (RFC 9110 12.5.1)

class media_preferences {
public:
    static constexpr std::size_t most_offers = 16;

    // `offers` in the server's order: "type/subtype", perhaps with parameters ("text/html;charset=utf-8"), well formed.
    // What is behind the first most_offers is never chosen. The texts must live as long as this object is told of
    // lines.
    explicit media_preferences(std::span<const std::string_view> offers) noexcept;
    // Told of all Accept lines of a head.
    media_preferences(std::span<const std::string_view> offers, const head& of) noexcept;

    void add(std::string_view field_value) noexcept;

    // The weight of an offer: that of the most precise range which fits it; a range with parameters before
    // type/subtype, that before type/*, that before */*; of ranges with parameters the one with more. An offer fits a
    // range when it has all of the range's parameters, quoted or not. 0 if none fits, 1000 as long as no valid range
    // was seen.
    weight of(std::size_t offer) const noexcept;

    // The index of the offer of the highest weight above 0; of equal ones the first. Nothing when none is acceptable:
    // 406, or any of them, as the server likes (RFC 9110 12.4.1). The first when the field is absent, is empty, or has
    // no valid member.
    std::optional<std::size_t> choose() const noexcept;

private:
    struct candidate {
        std::string_view name; // "type/subtype"
        std::string_view parameters;
        std::uint32_t precision = 0; // of the range that `q` is from; 0: none yet
        weight q = 0;
    };

    std::array<candidate, most_offers> candidates_;
    std::size_t count_ = 0;
    bool told_ = false;
};

} // namespace fastserve::http
