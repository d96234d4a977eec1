// The table of known field names and its hash, shared by the public lookup and the parser's inlined one.
#pragma once

#include <fastserve/http/field.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fastserve::http::field_table {

inline constexpr std::array<std::string_view, field_count> names = {"",
                                                                    "Accept",
                                                                    "Accept-Encoding",
                                                                    "Accept-Language",
                                                                    "Accept-Ranges",
                                                                    "Access-Control-Request-Headers",
                                                                    "Access-Control-Request-Method",
                                                                    "Allow",
                                                                    "Authorization",
                                                                    "Cache-Control",
                                                                    "Connection",
                                                                    "Content-Disposition",
                                                                    "Content-Encoding",
                                                                    "Content-Length",
                                                                    "Content-Range",
                                                                    "Content-Type",
                                                                    "Cookie",
                                                                    "Date",
                                                                    "ETag",
                                                                    "Expect",
                                                                    "Expires",
                                                                    "Forwarded",
                                                                    "Host",
                                                                    "If-Match",
                                                                    "If-Modified-Since",
                                                                    "If-None-Match",
                                                                    "If-Range",
                                                                    "If-Unmodified-Since",
                                                                    "Keep-Alive",
                                                                    "Last-Modified",
                                                                    "Location",
                                                                    "Origin",
                                                                    "Pragma",
                                                                    "Priority",
                                                                    "Range",
                                                                    "Referer",
                                                                    "Retry-After",
                                                                    "Sec-CH-UA",
                                                                    "Sec-CH-UA-Mobile",
                                                                    "Sec-CH-UA-Platform",
                                                                    "Sec-Fetch-Dest",
                                                                    "Sec-Fetch-Mode",
                                                                    "Sec-Fetch-Site",
                                                                    "Sec-Fetch-User",
                                                                    "Sec-WebSocket-Accept",
                                                                    "Sec-WebSocket-Extensions",
                                                                    "Sec-WebSocket-Key",
                                                                    "Sec-WebSocket-Protocol",
                                                                    "Sec-WebSocket-Version",
                                                                    "Server",
                                                                    "Set-Cookie",
                                                                    "TE",
                                                                    "Trailer",
                                                                    "Transfer-Encoding",
                                                                    "Upgrade",
                                                                    "Upgrade-Insecure-Requests",
                                                                    "User-Agent",
                                                                    "Vary",
                                                                    "Via",
                                                                    "WWW-Authenticate",
                                                                    "X-Forwarded-For",
                                                                    "X-Forwarded-Host",
                                                                    "X-Forwarded-Proto",
                                                                    "X-Request-ID"};

// One name, spelled low, so that it is compared 32 bytes at a time.
inline constexpr std::size_t longest = 32;
struct alignas(longest) entry {
    std::array<char, longest> lower{};
};

// First byte, the one at three quarters, the last, and the length tell all names apart. Setting 0x20 makes letters low
// and merges some other bytes, which only costs a comparison.
constexpr std::size_t slot_of(const char* name, std::size_t size) noexcept {
    const auto byte = [name](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(name[i])}; };
    const std::uint32_t key =
        byte(0) | byte(size * 3 / 4) << 8 | byte(size - 1) << 16 | static_cast<std::uint32_t>(size) << 24;
    return ((key | 0x00202020U) * 0x72cfe10bU) >> 24;
}

consteval std::array<std::uint8_t, 256> make_slots() {
    std::array<std::uint8_t, 256> slots{};
    for (std::uint8_t i = 1; i < field_count; ++i) {
        std::uint8_t& slot = slots[slot_of(names[i].data(), names[i].size())];
        if (slot != 0 || names[i].size() >= longest) throw "two names share a slot, or one is too long";
        slot = i;
    }
    return slots;
}
inline constexpr std::array<std::uint8_t, 256> slots = make_slots();

consteval std::array<entry, field_count> make_entries() {
    std::array<entry, field_count> entries{};
    for (std::size_t i = 0; i < field_count; ++i)
        for (std::size_t k = 0; k < names[i].size(); ++k) {
            const char c = names[i][k];
            entries[i].lower[k] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
        }
    return entries;
}
inline constexpr std::array<entry, field_count> entries = make_entries();

// Bit k set for k below the length of the name. Unknown has none, so that it matches everything.
consteval std::array<std::uint32_t, field_count> make_masks() {
    std::array<std::uint32_t, field_count> masks{};
    for (std::size_t i = 0; i < field_count; ++i) masks[i] = (std::uint32_t{1} << names[i].size()) - 1;
    return masks;
}
inline constexpr std::array<std::uint32_t, field_count> masks = make_masks();

} // namespace fastserve::http::field_table
