#include <fastserve/http/safe_filename.hpp>

#include "field_chars.hpp"

#include <cstdint>
#include <cstring>

namespace fastserve::http {
namespace {

constexpr std::size_t longest_extension = 16;

constexpr bool continues(char c) noexcept {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

struct character {
    std::size_t size; // in bytes; 1 for what is not UTF-8
    bool good;
};

constexpr bool is_unsafe(std::uint32_t code) noexcept {
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return true;
    return code == 0x2028 || code == 0x2029 || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// The first character of a text that is not empty (RFC 3629).
character first_of(std::string_view text) noexcept {
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) return {1, !is_unsafe(lead) && !std::strchr("<>:\"|?*", lead)};
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {1, false};
    std::uint32_t code = lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if (!continues(text[i])) return {1, false};
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
    }
    constexpr std::uint32_t least[] = {0x80, 0x800, 0x10000};
    if (code < least[size - 2] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {1, false};
    return {size, !is_unsafe(code)};
}

constexpr bool is_dropped_at_ends(char c) noexcept {
    return c == '.' || c == ' ';
}

std::string_view without_ends(std::string_view text) noexcept {
    while (!text.empty() && is_dropped_at_ends(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_dropped_at_ends(text.back())) text.remove_suffix(1);
    return text;
}

// What Windows takes for a device, whatever the extension.
bool names_a_device(std::string_view text) noexcept {
    std::string_view stem = text.substr(0, text.find('.'));
    while (!stem.empty() && stem.back() == ' ') stem.remove_suffix(1);
    for (const std::string_view device : {"con", "prn", "aux", "nul", "conin$", "conout$"})
        if (equal_ignoring_case(stem, device)) return true;
    const std::string_view port = stem.substr(0, 3), number = stem.substr(port.size());
    if (!equal_ignoring_case(port, "com") && !equal_ignoring_case(port, "lpt")) return false;
    if (number.size() == 1) return number[0] >= '0' && number[0] <= '9';
    return number == "\u00B9" || number == "\u00B2" || number == "\u00B3"; // superscripts are digits to it
}

// Shortens a name to what it may have, and returns its size.
std::size_t shortened(char* text, std::size_t size) noexcept {
    if (size <= safe_filename_bytes) return size;
    const std::string_view all(text, size);
    const std::size_t dot = all.rfind('.');
    const std::size_t extension = dot != all.npos && size - dot <= longest_extension ? size - dot : 0;
    std::size_t stem = safe_filename_bytes - extension;
    while (continues(text[stem])) --stem;
    while (stem > 0 && is_dropped_at_ends(text[stem - 1])) --stem;
    std::memmove(text + stem, text + size - extension, extension);
    return stem + extension;
}

} // namespace

std::size_t write_safe_filename(std::string_view given, char* out) noexcept {
    if (const std::size_t slash = given.find_last_of("/\\"); slash != given.npos) given.remove_prefix(slash + 1);
    given = without_ends(given);
    std::size_t size = 0;
    while (!given.empty()) {
        const character c = first_of(given);
        if (c.good) {
            std::memcpy(out + size, given.data(), c.size);
            size += c.size;
        } else {
            out[size++] = '_';
        }
        given.remove_prefix(c.size);
    }
    if (size == 0) out[size++] = '_';
    if (out[0] == '-') out[0] = '_';
    size = shortened(out, size);
    if (!names_a_device({out, size})) return size;
    std::memmove(out + 1, out, size);
    out[0] = '_';
    return shortened(out, size + 1);
}

std::string safe_filename(std::string_view given) {
    std::string name(given.size() + 1, '\0');
    name.resize(write_safe_filename(given, name.data()));
    return name;
}

} // namespace fastserve::http
