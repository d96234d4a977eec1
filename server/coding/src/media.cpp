#include <fastserve/coding/media.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace fastserve::coding {

namespace {

// Besides text/* and what ends in one of the suffixes.
constexpr std::array<std::string_view, 28> listed{
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json-seq",
    "application/jsonl",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-font-otf",
    "application/x-font-ttf",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tar",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "font/otf",
    "font/ttf",
    "image/bmp",
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "image/x-ms-bmp",
};
static_assert(std::is_sorted(listed.begin(), listed.end()));

constexpr std::array<std::string_view, 4> suffixes{"+json", "+text", "+xml", "+yaml"};

constexpr std::size_t longest_listed =
    std::max_element(listed.begin(), listed.end(), [](auto a, auto b) { return a.size() < b.size(); }) -> size();

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `small` is in lower case.
bool equals_ignoring_case(std::string_view text, std::string_view small) noexcept {
    return std::equal(text.begin(), text.end(), small.begin(), small.end(),
                      [](char a, char b) { return lower(a) == b; });
}

} // namespace

bool worth_coding(std::string_view type) noexcept {
    type = type.substr(0, type.find(';'));
    while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
    if (equals_ignoring_case(type.substr(0, 5), "text/")) return type.size() > 5;
    for (const std::string_view suffix : suffixes)
        if (type.size() > suffix.size() && equals_ignoring_case(type.substr(type.size() - suffix.size()), suffix))
            return true;
    std::array<char, longest_listed> small;
    if (type.size() > small.size()) return false;
    std::transform(type.begin(), type.end(), small.begin(), lower);
    return std::binary_search(listed.begin(), listed.end(), std::string_view(small.data(), type.size()));
}

std::string weakened(std::string_view entity_tag) {
    const bool strong = entity_tag.size() >= 2 && entity_tag.front() == '"' && entity_tag.back() == '"';
    std::string weak;
    weak.reserve(entity_tag.size() + 2);
    if (strong) weak += "W/";
    return weak += entity_tag;
}

} // namespace fastserve::coding
