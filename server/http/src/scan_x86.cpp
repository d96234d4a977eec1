// Kernels for x86-64. The file is built for the baseline; each kernel raises the instruction set for itself alone with
// the `target` attribute, has internal linkage behind a thin name, and calls nothing but intrinsics: a file built with
// -mavx512 as a whole would leave AVX-512 copies of inline functions for the linker to choose from.
#include "scan_x86.hpp"

#if defined(__x86_64__)

#include "scan_tables.hpp"

#include <immintrin.h>

namespace fastserve::http {
namespace {

using namespace scan_tables;

struct masks16 {
    unsigned token, control, cr, plain;
};

[[gnu::always_inline]] inline unsigned blocks_for(std::size_t size) {
    return size > 64 * (scan_window - 1) ? scan_window : static_cast<unsigned>((size + 63) / 64);
}

[[gnu::always_inline]] inline std::uint64_t valid_bits(std::size_t left) {
    return left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
}

[[gnu::always_inline]] inline __m128i in_range(__m128i v, char low, char high) {
    const __m128i clamped = _mm_min_epu8(_mm_max_epu8(v, _mm_set1_epi8(low)), _mm_set1_epi8(high));
    return _mm_cmpeq_epi8(clamped, v);
}
[[gnu::always_inline]] inline __m128i equals(__m128i v, char c) {
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}
[[gnu::always_inline]] inline __m128i any_of(__m128i a, __m128i b, __m128i c, __m128i d) {
    return _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d));
}
[[gnu::always_inline]] inline unsigned bits(__m128i v) {
    return static_cast<unsigned>(_mm_movemask_epi8(v));
}

// Without shuffles: ranges. 0x80 and above are outside all of them, since the comparisons are unsigned.
[[gnu::always_inline]] inline masks16 classify_sse2(__m128i v, bool want_plain) {
    const __m128i cr = equals(v, '\r');
    const __m128i letters_and_digits = _mm_or_si128(in_range(v, '0', '9'), in_range(v, 'A', 'Z'));
    const __m128i shared = any_of(letters_and_digits, equals(v, '!'), in_range(v, '*', '+'), in_range(v, '-', '.'));
    const __m128i token =
        _mm_or_si128(any_of(shared, in_range(v, '#', '\''), in_range(v, '^', 'z'), equals(v, '|')), equals(v, '~'));
    const __m128i control = _mm_or_si128(_mm_andnot_si128(equals(v, '\t'), in_range(v, 0, 0x1f)), equals(v, 0x7f));
    masks16 m{bits(token), bits(control), bits(cr), 0};
    if (want_plain) {
        const __m128i marks = any_of(equals(v, '$'), in_range(v, '&', ';'), equals(v, '='), equals(v, '!'));
        const __m128i upper = any_of(in_range(v, '@', '['), equals(v, ']'), equals(v, '_'), equals(v, '~'));
        m.plain = bits(any_of(marks, upper, in_range(v, 'a', 'z'), letters_and_digits));
    }
    return m;
}

inline unsigned run_sse2(const char* data, std::size_t size, scan_block* out) {
    const unsigned count = blocks_for(size);
    std::uint64_t carried = 0;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        scan_block block{};
        for (unsigned k = 0; k < 64; k += 16) {
            const auto* at = reinterpret_cast<const __m128i*>(data + std::size_t{64} * b + k);
            const masks16 m = classify_sse2(_mm_loadu_si128(at), in_first_line);
            block.token |= std::uint64_t{m.token} << k;
            block.control |= std::uint64_t{m.control} << k;
            block.cr |= std::uint64_t{m.cr} << k;
            block.plain |= std::uint64_t{m.plain} << k;
        }
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        out[b] = {block.token & valid, block.control & valid, block.cr & valid, block.plain & valid};
        const std::uint64_t cr = out[b].cr;
        if (cr & (cr << 2 | carried)) return b + 1;
        carried = cr >> 62;
        in_first_line = in_first_line && cr == 0;
    }
    return count;
}

[[gnu::target("ssse3")]] inline __m128i look_up(__m128i low, __m128i high, __m128i v) {
    // A shuffle gives zero for indices with the top bit, so bytes of 0x80 and above fall out by themselves.
    const __m128i upper = _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15));
    return _mm_and_si128(_mm_shuffle_epi8(low, v), _mm_shuffle_epi8(high, upper));
}

[[gnu::target("ssse3")]] unsigned run_ssse3(const char* data, std::size_t size, scan_block* out) {
    const unsigned count = blocks_for(size);
    const auto table = [](const std::uint8_t* t) __attribute__((target("ssse3"), always_inline)) {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(t));
    };
    const __m128i field_low = table(field_classes.low), field_high = table(field_classes.high);
    const __m128i plain_low = table(plain_classes.low), plain_high = table(plain_classes.high);
    std::uint64_t carried = 0;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        std::uint64_t cr = 0, control = 0, none = 0, not_plain = 0;
        for (unsigned k = 0; k < 64; k += 16) {
            const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + std::size_t{64} * b + k));
            const __m128i found = look_up(field_low, field_high, v);
            cr |= std::uint64_t{bits(equals(v, '\r'))} << k;
            // Saturating, so that the top bit says "control".
            control |= std::uint64_t{bits(_mm_adds_epu8(found, _mm_set1_epi8(0x80 - first_control)))} << k;
            none |= std::uint64_t{bits(_mm_cmpeq_epi8(found, _mm_setzero_si128()))} << k;
            if (in_first_line)
                not_plain |= std::uint64_t{bits(_mm_cmpeq_epi8(look_up(plain_low, plain_high, v), _mm_setzero_si128()))}
                             << k;
        }
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        cr &= valid;
        out[b] = {~(none | control) & valid, control & valid, cr, ~not_plain & valid};
        if (cr & (cr << 2 | carried)) return b + 1;
        carried = cr >> 62;
        in_first_line = in_first_line && cr == 0;
    }
    return count;
}

[[gnu::target("avx2")]] inline __m256i look_up(__m256i low, __m256i high, __m256i v) {
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
    return _mm256_and_si256(_mm256_shuffle_epi8(low, v), _mm256_shuffle_epi8(high, upper));
}
[[gnu::target("avx2")]] inline std::uint64_t bits(__m256i first, __m256i second) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(first)) |
           std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(second))} << 32;
}
[[gnu::target("avx2")]] inline __m256i both_lanes(const std::uint8_t* table) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

[[gnu::target("avx2")]] unsigned run_avx2(const char* data, std::size_t size, scan_block* out) {
    const unsigned count = blocks_for(size);
    const __m256i field_low = both_lanes(field_classes.low), field_high = both_lanes(field_classes.high);
    const __m256i zero = _mm256_setzero_si256(), cr_byte = _mm256_set1_epi8('\r');
    const __m256i to_top = _mm256_set1_epi8(0x80 - first_control);
    std::uint64_t carried = 0;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        const auto* at = reinterpret_cast<const __m256i*>(data + std::size_t{64} * b);
        const __m256i v0 = _mm256_loadu_si256(at), v1 = _mm256_loadu_si256(at + 1);
        const __m256i found0 = look_up(field_low, field_high, v0), found1 = look_up(field_low, field_high, v1);
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        const std::uint64_t cr = bits(_mm256_cmpeq_epi8(v0, cr_byte), _mm256_cmpeq_epi8(v1, cr_byte)) & valid;
        const std::uint64_t control = bits(_mm256_adds_epu8(found0, to_top), _mm256_adds_epu8(found1, to_top));
        const std::uint64_t none = bits(_mm256_cmpeq_epi8(found0, zero), _mm256_cmpeq_epi8(found1, zero));
        out[b].token = ~(none | control) & valid;
        out[b].control = control & valid;
        out[b].cr = cr;
        if (in_first_line) {
            const __m256i plain_low = both_lanes(plain_classes.low), plain_high = both_lanes(plain_classes.high);
            const __m256i p0 = look_up(plain_low, plain_high, v0), p1 = look_up(plain_low, plain_high, v1);
            out[b].plain = ~bits(_mm256_cmpeq_epi8(p0, zero), _mm256_cmpeq_epi8(p1, zero)) & valid;
            in_first_line = cr == 0;
        }
        if (cr & (cr << 2 | carried)) return b + 1;
        carried = cr >> 62;
    }
    return count;
}

[[gnu::target("avx512f,avx512bw,avx512vbmi,bmi2")]] unsigned run_avx512(const char* data, std::size_t size,
                                                                        scan_block* out) {
    const unsigned count = blocks_for(size);
    const __m512i low = _mm512_load_si512(ascii.of), high = _mm512_load_si512(ascii.of + 64);
    const __m512i token = _mm512_set1_epi8(class_token), control = _mm512_set1_epi8(class_control);
    const __m512i cr_class = _mm512_set1_epi8(class_cr), plain_class = _mm512_set1_epi8(class_plain);
    std::uint64_t carried = 0;
    for (unsigned b = 0; b < count; ++b) {
        const __m512i v = _mm512_loadu_si512(data + std::size_t{64} * b);
        const __mmask64 known = valid_bits(size - std::size_t{64} * b) & ~_mm512_movepi8_mask(v);
        const __m512i classes = _mm512_maskz_permutex2var_epi8(known, low, v, high);
        const std::uint64_t cr = _mm512_test_epi8_mask(classes, cr_class);
        out[b] = {_mm512_test_epi8_mask(classes, token), _mm512_test_epi8_mask(classes, control), cr,
                  _mm512_test_epi8_mask(classes, plain_class)};
        if (cr & (cr << 2 | carried)) return b + 1;
        carried = cr >> 62;
    }
    return count;
}

} // namespace

unsigned scan_sse2(const char* data, std::size_t size, scan_block* out) noexcept {
    return run_sse2(data, size, out);
}
unsigned scan_ssse3(const char* data, std::size_t size, scan_block* out) noexcept {
    return run_ssse3(data, size, out);
}
unsigned scan_avx2(const char* data, std::size_t size, scan_block* out) noexcept {
    return run_avx2(data, size, out);
}
unsigned scan_avx512(const char* data, std::size_t size, scan_block* out) noexcept {
    return run_avx512(data, size, out);
}

} // namespace fastserve::http

#endif
