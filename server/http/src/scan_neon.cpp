#include "scan_neon.hpp"

#if defined(__aarch64__)

#include "scan_blocks.hpp"
#include "scan_tables.hpp"

#include <arm_neon.h>

namespace fastserve::http {
namespace {

using namespace scan_tables;

// One bit a byte of four vectors of 0x00 or 0xff: each byte keeps the bit of its place in eight, and three pairwise
// sums gather them.
std::uint64_t bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    alignas(16) static constexpr std::uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t place = vld1q_u8(places);
    const uint8x16_t ab = vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place));
    const uint8x16_t cd = vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place));
    const uint8x16_t abcd = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(abcd, abcd)), 0);
}

uint8x16_t look_up(uint8x16_t low, uint8x16_t high, uint8x16_t v) {
    return vandq_u8(vqtbl1q_u8(low, vandq_u8(v, vdupq_n_u8(15))), vqtbl1q_u8(high, vshrq_n_u8(v, 4)));
}

} // namespace

void scan_neon(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned count = begin_scan(size, out);
    const uint8x16_t field_low = vld1q_u8(field_classes.low), field_high = vld1q_u8(field_classes.high);
    const uint8x16_t plain_low = vld1q_u8(plain_classes.low), plain_high = vld1q_u8(plain_classes.high);
    const uint8x16_t control_from = vdupq_n_u8(first_control), cr_byte = vdupq_n_u8('\r');
    scan_carry carry;
    std::uint16_t* next = out.at;
    bool in_first_line = true;
    for (unsigned b = 0; b < count; ++b) {
        const auto* at = reinterpret_cast<const std::uint8_t*>(data) + std::size_t{64} * b;
        const std::uint64_t valid = valid_bits(size - std::size_t{64} * b);
        const uint8x16_t v[4] = {vld1q_u8(at), vld1q_u8(at + 16), vld1q_u8(at + 32), vld1q_u8(at + 48)};
        uint8x16_t found[4], any[4], control[4], cr[4];
        for (int k = 0; k < 4; ++k) {
            found[k] = look_up(field_low, field_high, v[k]);
            any[k] = vtstq_u8(found[k], found[k]);
            control[k] = vcgeq_u8(found[k], control_from);
            cr[k] = vceqq_u8(v[k], cr_byte);
        }
        const std::uint64_t controls = bits(control[0], control[1], control[2], control[3]) & valid;
        const std::uint64_t crs = bits(cr[0], cr[1], cr[2], cr[3]) & valid;
        if (in_first_line) {
            uint8x16_t p[4];
            for (int k = 0; k < 4; ++k) {
                p[k] = look_up(plain_low, plain_high, v[k]);
                p[k] = vtstq_u8(p[k], p[k]);
            }
            out.plain[b] = bits(p[0], p[1], p[2], p[3]) & valid;
            in_first_line = crs == 0;
        }
        const block_bits block{bits(any[0], any[1], any[2], any[3]) & valid & ~controls, controls, crs};
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks(b, marks, next);
        if (stop) break;
    }
    end_scan(out, next);
}

} // namespace fastserve::http

#endif
