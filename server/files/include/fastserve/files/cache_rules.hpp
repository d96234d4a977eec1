// Cache-Control by the name of the file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastserve::files {

// {"*.html", "no-cache"}, {"assets/*", "public, max-age=31536000, immutable"}
struct cache_rule {
    std::string pattern{}; // see fits()
    std::string value{};   // of Cache-Control
};

// Whether `path` is what `pattern` describes: '*' stands for any bytes, also none, also slashes; all others for
// themselves. Time: at worst the product of both lengths. Any thread.
bool fits(std::string_view pattern, std::string_view path) noexcept;

// The value of the first rule whose pattern fits `path`, the decoded name below the folder ("css/site.css", and
// "index.html" for what is asked for as ""). Empty when none does.
std::string_view cache_control_of(std::span<const cache_rule> rules, std::string_view path) noexcept;

} // namespace fastserve::files
