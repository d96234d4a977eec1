#include <fastserve/http/content_coding.hpp>

#include "field_chars.hpp"

#include <cstddef>

namespace fastserve::http {
namespace {

constexpr std::string_view names[content_coding_count] = {"identity", "gzip", "deflate", "br", "zstd"};

} // namespace

std::string_view to_string(content_coding c) noexcept {
    const auto index = static_cast<std::size_t>(c);
    return index < content_coding_count ? names[index] : std::string_view{};
}

std::optional<content_coding> find_content_coding(std::string_view name) noexcept {
    for (std::uint8_t i = 0; i < content_coding_count; ++i)
        if (equal_ignoring_case(name, names[i])) return static_cast<content_coding>(i);
    if (equal_ignoring_case(name, "x-gzip")) return content_coding::gzip;
    return std::nullopt;
}

} // namespace fastserve::http
