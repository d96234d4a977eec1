#include <fastserve/http/field.hpp>

#include "chars.hpp"
#include "field_table.hpp"

namespace fastserve::http {

std::string_view to_string(field f) noexcept {
    return field_table::names[static_cast<std::size_t>(f)];
}

field find_field(std::string_view name) noexcept {
    if (name.empty() || name.size() >= field_table::longest) return field::unknown;
    const std::uint8_t candidate = field_table::slots[field_table::slot_of(name)];
    if (field_table::names[candidate].size() != name.size()) return field::unknown;
    for (std::size_t i = 0; i < name.size(); ++i)
        if (chars::lower(name[i]) != field_table::entries[candidate].lower[i]) return field::unknown;
    return static_cast<field>(candidate);
}

} // namespace fastserve::http
