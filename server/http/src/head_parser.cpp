// The parser's frame, and its byte-wise steps. The steps are the grammar itself: they take over where the walk over
// bitmaps (scan_walk.cpp) stops, be it that the bytes end inside a line or that something in it is wrong, and alone
// name errors. So a fault has one name however it arrives.
#include <fastserve/http/head_parser.hpp>

#include "chars.hpp"
#include "framing.hpp"
#include "head_builder.hpp"

#include <algorithm>
#include <cstring>

namespace fastserve::http {
namespace {

constexpr std::uint8_t most_empty_lines = 8;
constexpr std::uint32_t longest_method = 32;
constexpr std::uint32_t longest_name = 0xffff;

// Below this a scan costs more than the steps.
constexpr std::uint32_t least_walk = 16;

} // namespace

parse_status head_parser::fail(errc e) noexcept {
    state_ = state::failed;
    error_ = e;
    return parse_status::error;
}

parse_status head_parser::parse(const char* data, std::size_t size, head& out, const limits& bounds) noexcept {
    if (state_ == state::failed) return parse_status::error;
    out.base = data;
    if (at_ == 0) head_builder::begin(out);
    const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>({size, bounds.head_bytes, 0xffffffffU}));
    while (at_ < end && state_ != state::complete) {
        const bool between_lines = state_ == state::line_start || state_ == state::empty_lines;
        if (between_lines && end - at_ >= least_walk && walk(data, end, out, bounds)) break;
        if (at_ == end) break;
        if (errc e = step(data, end, out, bounds); e != errc::ok) return fail(e);
    }
    if (state_ == state::complete) {
        head_builder::finish(out, at_, count_);
        const errc e = judge_head(out);
        return e == errc::ok ? parse_status::complete : fail(e);
    }
    if (size > end) return fail(state_ == state::target ? errc::target_too_long : errc::head_too_large);
    return parse_status::need_more;
}

// Goes on to the end of the line, or of the bytes. Never inlined: nearly every head is done without it, and parse()
// would save registers for it.
[[gnu::noinline]] errc head_parser::step(const char* data, std::uint32_t size, head& out,
                                         const limits& bounds) noexcept {
    errc e = errc::ok;
    do {
        switch (state_) {
        case state::empty_lines:
        case state::empty_line_lf:
        case state::method:
            e = step_start(data, size, out);
            break;
        case state::target:
            e = step_target(data, size, out, bounds);
            break;
        case state::version:
            e = step_version(data, size, out);
            break;
        default:
            e = step_fields(data, size, out, bounds);
            break;
        }
    } while (e == errc::ok && at_ < size && state_ != state::line_start && state_ != state::empty_lines &&
             state_ != state::complete);
    return e;
}

errc head_parser::step_start(const char* data, std::uint32_t size, head& out) noexcept {
    if (state_ == state::empty_lines) {
        if (data[at_] == '\n') return errc::bad_line_end;
        if (data[at_] == '\r') {
            ++at_;
            state_ = state::empty_line_lf;
            return errc::ok;
        }
        mark_ = at_;
        state_ = state::method;
    }
    if (state_ == state::empty_line_lf) {
        if (data[at_] != '\n') return errc::bad_line_end;
        if (++progress_ > most_empty_lines) return errc::bad_request_line;
        ++at_;
        state_ = state::empty_lines;
        return errc::ok;
    }
    for (; at_ < size; ++at_) {
        const char c = data[at_];
        const std::uint32_t length = at_ - mark_;
        if (chars::is(c, chars::token)) {
            if (length == longest_method) return errc::unknown_method;
            continue;
        }
        if (c == '\n') return errc::bad_line_end;
        if (c == '\r' || (c == ' ' && length == 0)) return errc::bad_request_line;
        if (c != ' ') return errc::bad_method;
        // Whether it is a known one is asked when the line is complete: a wrong version or target weighs more.
        head_builder::set_method(out, mark_, length, find_verb({data + mark_, length}));
        mark_ = ++at_;
        progress_ = 0;
        state_ = state::target;
        return errc::ok;
    }
    return errc::ok;
}

errc head_parser::step_target(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept {
    const bool connect = out.method == verb::connect, options = out.method == verb::options;
    for (; at_ < size; ++at_) {
        const char c = data[at_];
        const std::uint32_t length = at_ - mark_;
        if (!chars::is(c, chars::target)) {
            if (c == '\n') return errc::bad_line_end;
            if (c == '\r' || (c == ' ' && length == 0)) return errc::bad_request_line;
            if (c != ' ') return errc::bad_target;
            target_parts parts;
            if (errc e = split_target({data + mark_, length}, connect, options, parts); e != errc::ok) return e;
            head_builder::set_target(out, mark_, length, parts);
            mark_ = ++at_;
            progress_ = 0;
            state_ = state::version;
            return errc::ok;
        }
        if (length >= bounds.target_bytes) return errc::target_too_long;
        if (length < 8 && !may_begin_target({data + mark_, length + 1}, connect, options)) return errc::bad_target;
        // progress_: hexadecimal digits that a '%' still wants.
        if (progress_ != 0) {
            if (!chars::is(c, chars::hex)) return errc::bad_target;
            --progress_;
        } else if (c == '%') {
            progress_ = 2;
        }
    }
    return errc::ok;
}

errc head_parser::step_version(const char* data, std::uint32_t size, head& out) noexcept {
    for (; at_ < size; ++at_) {
        const char c = data[at_];
        const std::uint32_t i = at_ - mark_;
        switch (i) {
        case 5:
            if (!chars::is(c, chars::digit)) return errc::bad_version;
            break;
        case 7:
            if (!chars::is(c, chars::digit)) return errc::bad_version;
            if (data[at_ - 2] != '1') return errc::unsupported_version;
            out.version_minor = c != '0';
            break;
        case 8:
            if (c != '\r') return c == '\n' ? errc::bad_line_end : errc::bad_version;
            break;
        case 9:
            if (c != '\n') return errc::bad_line_end;
            if (out.method == verb::unknown) return errc::unknown_method;
            mark_ = ++at_;
            state_ = state::line_start;
            return errc::ok;
        default:
            if (c != "HTTP/?."[i]) return c == '\n' ? errc::bad_line_end : errc::bad_version;
        }
    }
    return errc::ok;
}

errc head_parser::step_fields(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept {
    const char first = data[at_];
    switch (state_) {
    case state::line_start:
        if (first == '\n') return errc::bad_line_end;
        if (first == '\r') {
            ++at_;
            state_ = state::last_lf;
            return errc::ok;
        }
        if (chars::is(first, chars::space)) return errc::obsolete_fold;
        if (count_ >= std::min<std::uint64_t>(bounds.head_fields, out.storage().size())) return errc::too_many_fields;
        if (!chars::is(first, chars::token)) return errc::bad_field_name;
        mark_ = at_;
        state_ = state::name;
        [[fallthrough]];
    case state::name:
        while (at_ < size && chars::is(data[at_], chars::token)) ++at_;
        if (at_ - mark_ > longest_name) return errc::head_too_large;
        if (at_ == size) return errc::ok;
        if (data[at_] != ':') return data[at_] == '\n' ? errc::bad_line_end : errc::bad_field_name;
        colon_ = at_++;
        state_ = state::value;
        return errc::ok;
    case state::value:
        while (at_ < size && !chars::is(data[at_], chars::control)) ++at_;
        if (at_ == size) return errc::ok;
        if (data[at_] != '\r') return data[at_] == '\n' ? errc::bad_line_end : errc::bad_field_value;
        ++at_;
        state_ = state::line_lf;
        return errc::ok;
    case state::line_lf:
        if (first != '\n') return errc::bad_line_end;
        {
            head_builder::lines lines(out, count_);
            lines.add(data + mark_, data + colon_, data + at_ - 1);
            count_ = lines.commit(out);
        }
        ++at_;
        state_ = state::line_start;
        return errc::ok;
    default:
        if (first != '\n') return errc::bad_line_end;
        ++at_;
        state_ = state::complete;
        return errc::ok;
    }
}

} // namespace fastserve::http
