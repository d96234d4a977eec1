// Ranges of bytes: what a Range field asks for, and what Content-Range answers (RFC 9110 14).
//
// Every function here is pure, allocates nothing, throws nothing, and may be called from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fastserve::http {

// Of a representation: never empty, and never beyond its end.
struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t size = 0;

    std::uint64_t last() const noexcept { return first + size - 1; }
    friend bool operator==(const byte_range&, const byte_range&) = default;
};

enum class range_verdict : std::uint8_t {
    whole,         // the field asks for nothing that is served in parts: answer as if it were not there
    partial,       // 206, with the ranges there are
    unsatisfiable, // 416
};

// At most so many ranges may stand in a field. Who asks for more gets the whole.
inline constexpr std::size_t most_byte_ranges = 16;

class byte_ranges {
public:
    // Reads the value of a Range field for a representation of `size` bytes (RFC 9110 14.1.2, 14.2).
    //
    // whole: another unit than bytes; malformed, also a last byte before the first; more ranges than most_byte_ranges;
    // and the last bytes of an empty representation, which there is no way to write. Numbers of any length are read:
    // what is beyond 64 bits lies beyond the end.
    //
    // unsatisfiable: all ranges begin behind the end, or ask for the last 0 bytes.
    //
    // Ranges that overlap or touch are joined in the place of the first of them (RFC 9110 15.3.7.2), so that no byte is
    // sent twice and all parts together are no longer than the representation, whatever was asked for.
    //
    // Range has one line and means something to GET only: the caller sees to that, and to If-Range
    // (see fastserve/http/conditional.hpp).
    byte_ranges(std::string_view field_value, std::uint64_t size) noexcept;

    range_verdict verdict() const noexcept { return verdict_; }

    // For range_verdict::partial: at least one, in the order in which they were asked for, with at least one byte
    // between any two. Otherwise empty.
    std::span<const byte_range> ranges() const noexcept { return {ranges_.data(), count_}; }

private:
    void add(byte_range range) noexcept;

    std::array<byte_range, most_byte_ranges> ranges_;
    std::uint8_t count_ = 0;
    range_verdict verdict_ = range_verdict::whole;
};

// Room for any value of Content-Range that is written here.
inline constexpr std::size_t longest_content_range = 72;

// Writes "bytes 0-499/1234", the value of the Content-Range of a 206 or of one of its parts, and returns its length.
std::size_t write_content_range(byte_range range, std::uint64_t size, char (&out)[longest_content_range]) noexcept;

// Writes "bytes */1234", that of a 416.
std::size_t write_unsatisfied_range(std::uint64_t size, char (&out)[longest_content_range]) noexcept;

} // namespace fastserve::http
