#include <fastserve/http/head.hpp>

#include "chars.hpp"

namespace fastserve::http {

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
