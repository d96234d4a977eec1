#include <fastserve/files/cache_rules.hpp>

#include <cstddef>

namespace fastserve::files {

bool fits(std::string_view pattern, std::string_view path) noexcept {
    constexpr std::size_t none = std::string_view::npos;
    std::size_t p = 0, at = 0;
    // The last '*' there was, and where what it stands for ends: when the rest does not fit, it stands for one more.
    std::size_t star = none, star_end = 0;
    while (at != path.size()) {
        if (p != pattern.size() && pattern[p] == '*') {
            star = p++;
            star_end = at;
        } else if (p != pattern.size() && pattern[p] == path[at]) {
            ++p;
            ++at;
        } else if (star != none) {
            p = star + 1;
            at = ++star_end;
        } else {
            return false;
        }
    }
    while (p != pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::string_view cache_control_of(std::span<const cache_rule> rules, std::string_view path) noexcept {
    for (const cache_rule& rule : rules)
        if (fits(rule.pattern, path)) return rule.value;
    return {};
}

} // namespace fastserve::files
