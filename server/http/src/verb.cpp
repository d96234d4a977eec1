#include <fastserve/http/verb.hpp>

#include <array>
#include <cstddef>

namespace fastserve::http {
namespace {

constexpr std::array<std::string_view, verb_count> names = {
    "",          "DELETE",      "GET",   "HEAD",   "POST",       "PUT",       "CONNECT", "OPTIONS",  "TRACE",
    "COPY",      "LOCK",        "MKCOL", "MOVE",   "PROPFIND",   "PROPPATCH", "SEARCH",  "UNLOCK",   "BIND",
    "REBIND",    "UNBIND",      "ACL",   "REPORT", "MKACTIVITY", "CHECKOUT",  "MERGE",   "M-SEARCH", "NOTIFY",
    "SUBSCRIBE", "UNSUBSCRIBE", "PATCH", "PURGE",  "MKCALENDAR", "LINK",      "UNLINK",
};

// First, middle and last byte and the length tell all names apart; the factor spreads them without a collision.
constexpr std::size_t slot_of(std::string_view name) {
    const auto byte = [name](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(name[i])}; };
    const std::uint32_t key = byte(0) | byte(name.size() / 2) << 8 | byte(name.size() - 1) << 16 |
                              static_cast<std::uint32_t>(name.size()) << 24;
    return ((key | 0x00202020U) * 0xdad27c59U) >> 26;
}

consteval std::array<std::uint8_t, 64> make_slots() {
    std::array<std::uint8_t, 64> slots{};
    for (std::uint8_t i = 1; i < verb_count; ++i) {
        std::uint8_t& slot = slots[slot_of(names[i])];
        if (slot != 0) throw "two methods share a slot";
        slot = i;
    }
    return slots;
}
constexpr std::array<std::uint8_t, 64> slots = make_slots();

} // namespace

std::string_view to_string(verb v) noexcept {
    const auto n = static_cast<std::size_t>(v);
    return n < names.size() ? names[n] : std::string_view{};
}

verb find_verb(std::string_view name) noexcept {
    if (name.empty()) return verb::unknown;
    const std::uint8_t candidate = slots[slot_of(name)];
    return names[candidate] == name ? static_cast<verb>(candidate) : verb::unknown;
}

} // namespace fastserve::http
