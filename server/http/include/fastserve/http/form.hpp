// The pairs of a form or a query: application/x-www-form-urlencoded (WHATWG URL 5.1).
//
// Every function here is pure, allocates nothing, throws nothing, and may be called from any thread. All of them take
// time that is linear in the text.
//
// Pairs are parted by '&' and by nothing else; an empty one is none. A name ends at the first '='; without one it is
// all of the pair, and the value is empty. '+' is a space, "%2B" a plus. A '%' that two hexadecimal digits do not
// follow is an error of its pair, and so is a NUL, encoded or not: what is decoded here ends up in C interfaces that
// would stop reading at it. Bytes above 0x7f are let through, as UTF-8 or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fastserve::http {

// Decodes a name or a value into `out` and returns its size: at most in.size(), which is what `out` must have room for.
// `out` may be in.data(). Nothing for what is malformed; what `out` holds is then unspecified.
std::optional<std::size_t> form_decode(std::string_view in, char* out) noexcept;

struct form_pair {
    std::string_view name;
    std::string_view value;
};

enum class form_status : std::uint8_t {
    pair,
    malformed, // a pair with a name or a value that cannot be decoded; reading can go on behind it
    too_many,  // more pairs than may be; the end
    end,
};

// Reads pairs in the order in which they stand, repeated names as often as they do:
//
//     form_reader form(text, room, 1000);
//     for (form_pair p; form.next(p) == form_status::pair;) ...
//
// Memory: `room` is as large as the text, and may be the text itself, which is then overwritten with what is decoded
// and can be read once only. It may be null if no '%' and no '+' is in the text. What needs no decoding is not copied:
// the views of a pair are parts of the text or of the room, and good as long as both are.
class form_reader {
public:
    // Malformed pairs count among `most_pairs`.
    form_reader(std::string_view text, char* room, std::size_t most_pairs) noexcept
        : text_(text), room_(room), pairs_left_(most_pairs) {}

    // Sets `out` for form_status::pair, and for form_status::malformed: its name if that is well formed, else nothing.
    form_status next(form_pair& out) noexcept;

private:
    std::optional<std::string_view> decode(std::size_t at, std::size_t size) const noexcept;

    std::string_view text_;
    char* room_;
    std::size_t at_ = 0;
    std::size_t pairs_left_;
};

// How many pairs a form_reader would find, malformed ones among them.
std::size_t count_form_pairs(std::string_view text) noexcept;

// The value, not decoded, of the first pair whose decoded name is `name`; pairs with a malformed name are no such. It
// may be malformed itself. Needs no room.
std::optional<std::string_view> find_form_value(std::string_view text, std::string_view name) noexcept;

} // namespace fastserve::http
