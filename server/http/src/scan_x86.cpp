// Kernels for x86-64. The file is built for the baseline; each kernel raises the instruction set for itself alone with
// the `target` attribute, has internal linkage behind a thin name, and calls nothing but intrinsics: a file built with
// -mavx512 as a whole would leave AVX-512 copies of inline functions for the linker to choose from.
#include "scan_x86.hpp"

#if defined(__x86_64__)

#include "scan_blocks.hpp"
#include "scan_tables.hpp"

#include <immintrin.h>

namespace fastserve::http {
namespace {

using namespace scan_tables;

struct masks16 {
    unsigned token, control, cr, plain;
};

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

void scan_sse2(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned count = begin_scan(size, out);
    scan_carry carry;
    std::uint16_t* next = out.at;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        block_bits block{};
        std::uint64_t plain = 0;
        for (unsigned k = 0; k < 64; k += 16) {
            const auto* at = reinterpret_cast<const __m128i*>(data + std::size_t{64} * b + k);
            const masks16 m = classify_sse2(_mm_loadu_si128(at), in_first_line);
            block.token |= std::uint64_t{m.token} << k;
            block.control |= std::uint64_t{m.control} << k;
            block.cr |= std::uint64_t{m.cr} << k;
            plain |= std::uint64_t{m.plain} << k;
        }
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        block = {block.token & valid, block.control & valid, block.cr & valid};
        if (in_first_line) out.plain[b] = plain & valid;
        in_first_line = in_first_line && block.cr == 0;
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks(b, marks, next);
        if (stop) break;
    }
    end_scan(out, next);
}

inline __m128i aligned(const std::uint8_t* table) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(table));
}

[[gnu::target("ssse3")]] inline __m128i look_up(__m128i low, __m128i high, __m128i v) {
    // A shuffle gives zero for indices with the top bit, so bytes of 0x80 and above fall out by themselves.
    const __m128i upper = _mm_and_si128(_mm_srli_epi16(v, 4), _mm_set1_epi8(15));
    return _mm_and_si128(_mm_shuffle_epi8(low, v), _mm_shuffle_epi8(high, upper));
}

[[gnu::target("ssse3")]] void scan_ssse3(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned count = begin_scan(size, out);
    const __m128i field_low = aligned(field_classes.low), field_high = aligned(field_classes.high);
    const __m128i zero = _mm_setzero_si128();
    scan_carry carry;
    std::uint16_t* next = out.at;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        std::uint64_t cr = 0, control = 0, none = 0, not_plain = 0;
        for (unsigned k = 0; k < 64; k += 16) {
            const auto* at = reinterpret_cast<const __m128i*>(data + std::size_t{64} * b + k);
            const __m128i v = _mm_loadu_si128(at), found = look_up(field_low, field_high, v);
            cr |= std::uint64_t{bits(equals(v, '\r'))} << k;
            // Saturating, so that the top bit says "control".
            control |= std::uint64_t{bits(_mm_adds_epu8(found, _mm_set1_epi8(0x80 - first_control)))} << k;
            none |= std::uint64_t{bits(_mm_cmpeq_epi8(found, zero))} << k;
            if (in_first_line) {
                const __m128i p = look_up(aligned(plain_classes.low), aligned(plain_classes.high), v);
                not_plain |= std::uint64_t{bits(_mm_cmpeq_epi8(p, zero))} << k;
            }
        }
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        if (in_first_line) out.plain[b] = ~not_plain & valid;
        cr &= valid;
        in_first_line = in_first_line && cr == 0;
        const block_bits block{~(none | control) & valid, control & valid, cr};
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks(b, marks, next);
        if (stop) break;
    }
    end_scan(out, next);
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

#define FASTSERVE_AVX2 "avx2,bmi,popcnt"

// The same as write_marks: with a count of them, nothing has to be asked mark by mark. What is written beyond the end
// (64 for no mark) is overwritten or never read.
[[gnu::target(FASTSERVE_AVX2)]] inline std::uint16_t* write_marks_bmi(unsigned b, std::uint64_t marks,
                                                                      std::uint16_t* next) {
    const unsigned base = b * 64;
    const int count = __builtin_popcountll(marks);
    const auto write = [&](int k) __attribute__((target(FASTSERVE_AVX2), always_inline)) {
        next[k] = static_cast<std::uint16_t>(base + _tzcnt_u64(marks));
        marks = _blsr_u64(marks);
    };
    for (int k = 0; k < 6; ++k) write(k);
    for (int k = 6; k < count; ++k) write(k);
    return next + count;
}

[[gnu::target(FASTSERVE_AVX2)]] void scan_avx2(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned count = begin_scan(size, out);
    const __m256i field_low = both_lanes(field_classes.low), field_high = both_lanes(field_classes.high);
    const __m256i zero = _mm256_setzero_si256(), cr_byte = _mm256_set1_epi8('\r');
    const __m256i to_top = _mm256_set1_epi8(0x80 - first_control);
    scan_carry carry;
    std::uint16_t* next = out.at;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        const auto* at = reinterpret_cast<const __m256i*>(data + std::size_t{64} * b);
        const __m256i v0 = _mm256_loadu_si256(at), v1 = _mm256_loadu_si256(at + 1);
        const __m256i found0 = look_up(field_low, field_high, v0), found1 = look_up(field_low, field_high, v1);
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        const std::uint64_t cr = bits(_mm256_cmpeq_epi8(v0, cr_byte), _mm256_cmpeq_epi8(v1, cr_byte)) & valid;
        const std::uint64_t control = bits(_mm256_adds_epu8(found0, to_top), _mm256_adds_epu8(found1, to_top));
        const std::uint64_t none = bits(_mm256_cmpeq_epi8(found0, zero), _mm256_cmpeq_epi8(found1, zero));
        if (in_first_line) {
            const __m256i plain_low = both_lanes(plain_classes.low), plain_high = both_lanes(plain_classes.high);
            const __m256i p0 = look_up(plain_low, plain_high, v0), p1 = look_up(plain_low, plain_high, v1);
            out.plain[b] = ~bits(_mm256_cmpeq_epi8(p0, zero), _mm256_cmpeq_epi8(p1, zero)) & valid;
            in_first_line = cr == 0;
        }
        const block_bits block{~(none | control) & valid, control & valid, cr};
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks_bmi(b, marks, next);
        if (stop) break;
    }
    end_scan(out, next);
}

#define FASTSERVE_AVX512 "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"

// Sixteen places at once: the numbers 0 to 63, of which a compression keeps those whose mark is set. `base` is where
// block b begins, sixteen times.
[[gnu::target(FASTSERVE_AVX512)]] inline std::uint16_t*
write_marks_avx512(unsigned b, std::uint64_t marks, __m512i numbers, __m256i base, std::uint16_t* next) {
    const __m512i places = _mm512_maskz_compress_epi8(marks, numbers);
    const __m256i first = _mm256_cvtepu8_epi16(_mm512_maskz_extracti32x4_epi32(0xf, places, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(next), _mm256_add_epi16(first, base));
    const int count = __builtin_popcountll(marks);
    if (count > 16) [[unlikely]]
        return write_marks(b, marks, next);
    return next + count;
}

// Keeps a constant in a register: left alone, the compiler broadcasts it anew for each block, on the one port that all
// the shuffles and comparisons want.
[[gnu::target(FASTSERVE_AVX512)]] inline __m512i in_register(__m512i v) {
    asm("" : "+v"(v));
    return v;
}

[[gnu::target(FASTSERVE_AVX512)]] void scan_avx512(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned blocks = begin_scan(size, out);
    const unsigned count = blocks == 0 ? 1 : blocks; // asked behind each: a shorter loop
    const __m512i low = in_register(_mm512_load_si512(ascii.of)), high = in_register(_mm512_load_si512(ascii.of + 64));
    const __m512i numbers = in_register(_mm512_load_si512(zero_to_63.of));
    const __m512i control = in_register(_mm512_set1_epi8(class_control));
    const __m512i cr = in_register(_mm512_set1_epi8(class_cr));
    const __m256i block_size = _mm256_set1_epi16(64);
    __m256i base = _mm256_setzero_si256();
    scan_carry carry;
    std::uint16_t* next = out.at;
    bool in_first_line = true;
    unsigned b = 0;
    for (;;) {
        const __m512i v = _mm512_loadu_si512(data + std::size_t{64} * b);
        const std::size_t left = size - std::size_t{64} * b;
        __mmask64 known = _knot_mask64(_mm512_movepi8_mask(v)); // the table is for ASCII
        if (left < 64) known &= valid_bits(left);
        const __m512i classes = _mm512_maskz_permutex2var_epi8(known, low, v, high);
        const block_bits block{_mm512_movepi8_mask(classes), _mm512_test_epi8_mask(classes, control),
                               _mm512_test_epi8_mask(classes, cr)};
        if (in_first_line) {
            out.plain[b] = _mm512_test_epi8_mask(classes, _mm512_set1_epi8(class_plain));
            in_first_line = block.cr == 0;
        }
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks_avx512(b, marks, numbers, base, next);
        if (stop || ++b == count) break;
        base = _mm256_add_epi16(base, block_size);
    }
    end_scan(out, next);
}

} // namespace

scan_kernel x86_kernel(scan_level level) noexcept {
    switch (level) {
    case scan_level::sse2:
        return scan_sse2;
    case scan_level::ssse3:
        return __builtin_cpu_supports("ssse3") ? scan_ssse3 : nullptr;
    case scan_level::avx2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt")
                   ? scan_avx2
                   : nullptr;
    // With VBMI2 only (Ice Lake, Zen 4): the first processors with AVX-512 pay for it with their clock.
    case scan_level::avx512: {
        const bool has_all = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                             __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
        return has_all ? scan_avx512 : nullptr;
    }
    default:
        return nullptr;
    }
}

} // namespace fastserve::http

#endif
