#include <fastserve/http/head.hpp>

#include <fastserve/http/head_parser.hpp>

#include "chars.hpp"

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

std::optional<std::string_view> head::find(std::string_view wanted) const noexcept {
    if (const field id = find_field(wanted); id != field::unknown) return find(id);
    for (const field_line& line : fields) {
        const std::string_view text = name(line);
        if (line.id != field::unknown || text.size() != wanted.size()) continue;
        std::size_t i = 0;
        while (i < text.size() && chars::lower(text[i]) == chars::lower(wanted[i])) ++i;
        if (i == text.size()) return value(line);
    }
    return std::nullopt;
}

} // namespace fastserve::http
