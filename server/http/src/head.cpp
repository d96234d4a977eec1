#include <fastserve/http/head.hpp>

#include <fastserve/http/head_parser.hpp>

#include "field_chars.hpp"

namespace fastserve::http {

namespace {

// A path that no head spells out, with what may be read behind it.
struct static_path {
    char text[1 + parse_padding];
    std::string_view view() const noexcept { return {text, 1}; }
};
constexpr static_path root{"/"}, asterisk{"*"};

} // namespace

std::string_view head::path_without_text() const noexcept {
    if (form == target_form::authority) return {};
    return method == verb::options && !has_query ? asterisk.view() : root.view();
}

const field_line* head::first(std::string_view wanted) const noexcept {
    if (const field id = find_field(wanted); id != field::unknown)
        return has(id) ? &fields[first_[static_cast<std::size_t>(id)]] : nullptr;
    for (const field_line& line : fields)
        if (line.id == field::unknown && equal_ignoring_case(name(line), wanted)) return &line;
    return nullptr;
}

const field_line* head::next(const field_line& line) const noexcept {
    if (line.id != field::unknown && !((repeated >> static_cast<unsigned>(line.id)) & 1)) return nullptr;
    for (const field_line* other = &line + 1; other != fields.data() + fields.size(); ++other)
        if (other->id == line.id && (line.id != field::unknown || equal_ignoring_case(name(*other), name(line))))
            return other;
    return nullptr;
}

} // namespace fastserve::http
