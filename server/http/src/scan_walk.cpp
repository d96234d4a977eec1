// The walk over the marks of a scan: takes whole lines that are right, at a few instructions each and independently of
// each other, and stops before anything else.
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

// The first byte at or behind `from` that is not plain; the end of the scan if there is none.
std::uint32_t skip_plain(const scan_marks& marks, std::uint32_t from) noexcept {
    for (std::uint32_t b = from / 64, shift = from % 64; b < marks.blocks; ++b, shift = 0)
        if (const std::uint64_t rest = ~marks.plain[b] >> shift; rest != 0)
            return b * 64 + shift + static_cast<std::uint32_t>(std::countr_zero(rest));
    return marks.blocks * 64;
}

// Takes the request line at `at`, which is `base_offset` into the head, if it is of the usual shape and right.
bool walk_request_line(const char* at, const scan_marks& marks, std::uint32_t base_offset, head& out,
                       const limits& bounds) noexcept {
    if (marks.count < 2) return false;
    const std::uint32_t method_size = marks.at[0], line_end = marks.at[1];
    verb method = verb::get;
    if (load<std::uint32_t>(at) != load<std::uint32_t>("GET ")) {
        method = find_verb({at, method_size});
        if (at[method_size] != ' ' || method == verb::unknown || method == verb::connect) return false;
    }
    const std::uint32_t begin = method_size + 1;
    if (at[begin] != '/') return false;
    std::uint32_t end = begin, mark = 0;
    bool has_percent = false;
    for (;;) {
        end = skip_plain(marks, end);
        if (end >= line_end) return false;
        if (at[end] == ' ') break;
        if (at[end] == '?') {
            if (mark == 0) mark = end;
            ++end;
        } else if (at[end] == '%' && chars::is(at[end + 1], chars::hex) && chars::is(at[end + 2], chars::hex)) {
            end += 3;
            has_percent = true;
        } else {
            return false;
        }
    }
    const auto version = load<std::uint64_t>(at + end + 1);
    const bool is_1_1 = version == load<std::uint64_t>("HTTP/1.1");
    if (line_end != end + 9 || end - begin > bounds.target_bytes ||
        !(is_1_1 || version == load<std::uint64_t>("HTTP/1.0")))
        return false;
    out.version_minor = is_1_1;
    head_builder::set_method(out, base_offset, method_size, method);
    head_builder::set_origin_target(out, base_offset + begin, base_offset + (mark ? mark : end), base_offset + end,
                                    has_percent);
    return true;
}

} // namespace

// Returns true when the head is complete. Leaves at_ at the first byte that it did not take, which begins a line.
bool head_parser::walk(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept {
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(bounds.head_fields, out.storage().size()));
    for (;;) {
        scan_marks marks;
        const char* const at = data + at_;
        const std::uint32_t left = size - at_;
        current_kernel()(at, left, marks);
        std::uint32_t taken = 0, next = 0;
        if (state_ == state::empty_lines) {
            if (!walk_request_line(at, marks, at_, out, bounds)) return false;
            taken = marks.at[1] + 2U;
            if (taken > left || !is_crlf(at + taken - 2)) return false;
            next = 2;
            state_ = state::line_start;
        }
        // How many lines can be taken: as many as have both marks, and their LF, and room.
        std::uint32_t pairs = (marks.count - next) / 2;
        if (pairs != 0 && marks.at[next + 2 * pairs - 1] + 1U >= left) --pairs;
        pairs = std::min(pairs, most - count_);

        head_builder::lines lines(out, count_);
        const char* name = at + taken;
        const std::uint16_t* mark = marks.at + next;
        for (const std::uint16_t* const last = mark + std::size_t{2} * pairs; mark != last; mark += 2) {
            const char *const colon = at + mark[0], *const end = at + mark[1];
            if (*colon != ':' || colon == name || !is_crlf(end)) break;
            lines.add(name, colon, end);
            name = end + 2;
        }
        count_ = lines.commit(out);
        taken = static_cast<std::uint32_t>(name - at);
        at_ += taken;
        if (marks.ended && taken == marks.stop && taken + 1 < left && is_crlf(at + taken)) {
            at_ += 2;
            state_ = state::complete;
            return true;
        }
        // Go on with another window if this one was full and did its part, and if there is something for it.
        if (taken == 0 || taken == left || marks.ended || marks.wrong || left <= marks.blocks * 64) return false;
    }
}

} // namespace fastserve::http
