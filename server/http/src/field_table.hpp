// The table of known field names and its hash, shared by the public lookup and the parser's inlined one.
#pragma once

#include <fastserve/http/field.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// A name spelled low and the colon behind it, compared as a whole, however long it is: the colon, which is no tchar,
// ends the name. One cache line has all that a comparison needs.
inline constexpr std::size_t longest = 32;
struct alignas(64) entry {
    std::array<char, longest> lower{};
    std::array<char, longest>
        mask{}; // the bits that count: all but 0x20 of a letter, all of '-' and ':', none behind it
};

// The last four bytes and the length tell all names apart. `tail` is little-endian; what stands before a shorter name
// is the line end behind which a name always stands. Setting 0x20 makes letters low and merges some other bytes, which
// only costs a comparison.
constexpr std::size_t slot_of(std::uint32_t tail, std::size_t size) noexcept {
    return ((tail | 0x20202020U) * 0x99b8f65dU + static_cast<std::uint32_t>(size) * 0x2708da9fU) >> 24;
}
constexpr std::size_t slot_of(std::string_view name) noexcept {
    std::uint32_t tail = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = name.size() + i >= 4 ? name[name.size() + i - 4] : "\0\r\n"[name.size() + i - 1];
        tail |= std::uint32_t{static_cast<unsigned char>(c)} << (8 * i);
    }
    return slot_of(tail, name.size());
}

consteval std::array<std::uint8_t, 256> make_slots() {
    std::array<std::uint8_t, 256> slots{};
    for (std::uint8_t i = 1; i < field_count; ++i) {
        std::uint8_t& slot = slots[slot_of(names[i])];
        if (slot != 0 || names[i].size() >= longest) throw "two names share a slot, or one is too long";
        slot = i;
    }
    return slots;
}
inline constexpr std::array<std::uint8_t, 256> slots = make_slots();

consteval std::array<entry, field_count> make_entries() {
    std::array<entry, field_count> entries{};
    for (std::size_t i = 1; i < field_count; ++i) {
        entry& e = entries[i];
        const std::size_t size = names[i].size();
        for (std::size_t k = 0; k < size; ++k) {
            const char c = names[i][k];
            e.lower[k] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
            e.mask[k] = static_cast<char>(c == '-' ? 0xff : 0xdf);
        }
        e.lower[size] = ':';
        e.mask[size] = static_cast<char>(0xff);
    }
    return entries;
}
// Not inline: an address of its own for each of the two users, reached without the global offset table.
constexpr std::array<entry, field_count> entries = make_entries();

// True if the 32 bytes at `text` are those of the entry, where its mask says that they count.
inline bool matches(const char* text, const entry& e) noexcept {
#if defined(__SSE2__)
    const auto differing = [&](std::size_t at) {
        const __m128i have = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
        const __m128i want = _mm_load_si128(reinterpret_cast<const __m128i*>(e.lower.data() + at));
        const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(e.mask.data() + at));
        return _mm_and_si128(_mm_xor_si128(have, want), mask);
    };
    const __m128i any = _mm_or_si128(differing(0), differing(16));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(any, _mm_setzero_si128())) == 0xffff;
#else
    const auto word = [](const char* at) {
        std::uint64_t w;
        std::memcpy(&w, at, sizeof w);
        return w;
    };
    std::uint64_t any = 0;
    for (std::size_t k = 0; k < longest; k += 8)
        any |= (word(text + k) ^ word(e.lower.data() + k)) & word(e.mask.data() + k);
    return any == 0;
#endif
}

// The lookup of the parser: `name` is a token, size > 0, between a line end and a colon, and 32 bytes from it are
// readable. No branch depends on the name. Leaving out 0x20 is an exact comparison with a letter here, for no tchar but
// a letter differs from a letter in it alone.
inline field find_token(const char* name, std::size_t size) noexcept {
    std::uint32_t tail;
    std::memcpy(&tail, name + size - 4, 4);
    if constexpr (std::endian::native == std::endian::big) tail = __builtin_bswap32(tail);
    const std::uint8_t candidate = slots[slot_of(tail, size)];
    // Entry 0 matches all and is unknown.
    return matches(name, entries[candidate]) ? static_cast<field>(candidate) : field::unknown;
}

} // namespace fastserve::http::field_table
