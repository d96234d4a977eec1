// The walk over bitmaps: takes whole lines that are right, at a few instructions each, and stops before anything else.
//
// Lines are not searched for one behind the other, since each search would wait for the one before. Arithmetic on the
// bitmaps marks all names' ends and all lines' ends of a block at once, their places are written down in order, and the
// lines are then taken from that list independently of each other.
#include <fastserve/http/head_parser.hpp>

#include "head_builder.hpp"
#include "scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fastserve::http {
namespace {

template <class T>
T load(const char* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

bool is_crlf(const char* at) noexcept {
    return load<std::uint16_t>(at) == load<std::uint16_t>("\r\n");
}

// The first byte at or behind `from` that is not `plain`; the end of the blocks if there is none.
std::uint32_t skip_plain(const scan_block* blocks, unsigned count, std::uint32_t from) noexcept {
    for (std::uint32_t b = from / 64, shift = from % 64; b < count; ++b, shift = 0)
        if (const std::uint64_t rest = ~blocks[b].plain >> shift; rest != 0)
            return b * 64 + shift + static_cast<std::uint32_t>(std::countr_zero(rest));
    return count * 64;
}

// The request line of `at`, if it is complete, of the usual shape and right; its size, else 0.
std::uint32_t walk_request_line(const char* at, std::uint32_t size, const scan_block* blocks, unsigned count,
                                std::uint32_t base_offset, head& out, const limits& bounds) noexcept {
    std::uint32_t method_size = 3;
    verb method = verb::get;
    if (load<std::uint32_t>(at) != load<std::uint32_t>("GET ")) {
        method_size = static_cast<std::uint32_t>(std::countr_one(blocks[0].token));
        if (method_size == 64 || at[method_size] != ' ') return 0;
        method = find_verb({at, method_size});
        if (method == verb::unknown || method == verb::connect) return 0;
    }
    const std::uint32_t begin = method_size + 1;
    if (at[begin] != '/') return 0;
    std::uint32_t end = begin, mark = 0;
    for (;;) {
        end = skip_plain(blocks, count, end);
        if (end >= size) return 0;
        if (at[end] == ' ') break;
        if (at[end] == '?') {
            if (mark == 0) mark = end;
            ++end;
        } else if (at[end] == '%' && chars::is(at[end + 1], chars::hex) && chars::is(at[end + 2], chars::hex)) {
            end += 3;
        } else {
            return 0;
        }
    }
    const std::uint32_t line_size = end + 11;
    const auto version = load<std::uint64_t>(at + end + 1);
    const bool is_1_1 = version == load<std::uint64_t>("HTTP/1.1");
    if (line_size > size || !is_crlf(at + end + 9) || end - begin > bounds.target_bytes ||
        !(is_1_1 || version == load<std::uint64_t>("HTTP/1.0")))
        return 0;
    out.version_minor = is_1_1;
    head_builder::set_method(out, base_offset, method_size, method);
    head_builder::set_origin_target(out, base_offset + begin, base_offset + (mark ? mark : end), base_offset + end);
    return line_size;
}

// Where names and lines end, in turns; and whether and where the empty line stands.
struct line_ends {
    std::uint32_t count = 0;
    std::uint32_t last = 0; // the CR of the empty line, if `complete`
    bool complete = false;
    bool clean = true; // nothing suspicious was seen
    std::uint16_t at[scan_window * 64 + 8];
};

// `from`: the first byte of a line.
void find_ends(const scan_block* blocks, unsigned count, std::uint32_t from, line_ends& out) noexcept {
    std::uint64_t considered = ~std::uint64_t{0} << (from % 64);
    std::uint64_t cr_before = 0, name_goes_on = 0, starts = std::uint64_t{1} << (from % 64);
    std::uint16_t* next = out.at;
    for (unsigned b = from / 64; b < count; ++b) {
        const std::uint64_t token = blocks[b].token & considered, control = blocks[b].control & considered;
        const std::uint64_t cr = blocks[b].cr & considered;
        const std::uint64_t lf = cr << 1 | cr_before; // where LF has to be
        starts |= lf << 1;
        // A one added to the first bit of a run of ones ends up on the bit behind the run: that is where the name ends.
        const std::uint64_t begins = starts | name_goes_on, sum = token + begins;
        const std::uint64_t name_ends = sum & ~token;
        std::uint64_t marks = name_ends | cr;
        const std::uint64_t empty = starts & cr;
        std::uint64_t wrong = (control ^ (cr | lf)) | (name_ends & cr & ~starts);
        if ((wrong | empty) != 0) {
            const std::uint64_t before = (wrong | empty) & (~(wrong | empty) + 1);
            out.complete = (before & empty & ~wrong) != 0;
            out.clean = out.complete;
            out.last = b * 64 + static_cast<std::uint32_t>(std::countr_zero(before));
            marks &= before - 1;
            count = b;
        }
        for (; marks != 0; marks &= marks - 1)
            *next++ = static_cast<std::uint16_t>(b * 64 + static_cast<unsigned>(std::countr_zero(marks)));
        cr_before = cr >> 63;
        starts = lf >> 63;
        name_goes_on = sum < token;
        considered = ~std::uint64_t{0};
    }
    out.count = static_cast<std::uint32_t>(next - out.at);
}

} // namespace

// Returns true when the head is complete. Leaves at_ at the first byte that it did not take, which begins a line.
bool head_parser::walk(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept {
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(bounds.head_fields, out.storage().size()));
    for (;;) {
        scan_block blocks[scan_window];
        const char* const at = data + at_;
        const std::uint32_t left = size - at_;
        const unsigned count = current_kernel()(at, left, blocks);
        const std::uint32_t scanned = std::min(left, count * 64);
        std::uint32_t line = 0;
        if (state_ == state::empty_lines) {
            line = walk_request_line(at, scanned, blocks, count, at_, out, bounds);
            if (line == 0) return false;
            state_ = state::line_start;
        }
        line_ends ends;
        find_ends(blocks, count, line, ends);

        std::uint32_t taken = line, index = count_;
        bool right = true;
        for (std::uint32_t i = 0; i + 1 < ends.count; i += 2) {
            const std::uint32_t colon = ends.at[i], end = ends.at[i + 1];
            right = at[colon] == ':' && colon > taken && end + 1 < scanned && is_crlf(at + end) && index < most;
            if (!right) break;
            head_builder::add_line(out, index++, {at_ + taken, at_ + colon, at_ + end});
            taken = end + 2;
        }
        const bool progress = taken != 0;
        count_ = index;
        if (right && ends.complete && taken == ends.last && taken + 2 <= scanned && is_crlf(at + taken)) {
            at_ += taken + 2;
            state_ = state::complete;
            return true;
        }
        at_ += taken;
        // Whole lines only: go on with another window if this one was full and did its part.
        if (!progress || !right || !ends.clean || ends.complete || scanned == left) return false;
    }
}

} // namespace fastserve::http
