#include <fastserve/http/multipart.hpp>

#include "field_chars.hpp"
#include "multipart_head.hpp"

#include <algorithm>
#include <cstring>

namespace fastserve::http {
namespace {

constexpr std::uint64_t most_head_bytes = 1024 * 1024;
constexpr std::size_t line_break = 2; // CRLF, which a delimiter begins with

// How many bytes at the end of `input` may begin a delimiter. A CR is the first of it and no other, so that only the
// last one counts.
std::size_t begun_delimiter(std::string_view input, std::string_view delimiter) noexcept {
    const std::size_t tail = std::min(input.size(), delimiter.size() - 1);
    const std::string_view end = input.substr(input.size() - tail);
    const std::size_t cr = end.rfind('\r');
    return cr != end.npos && delimiter.starts_with(end.substr(cr)) ? end.size() - cr : 0;
}

} // namespace

multipart_decoder::multipart_decoder(const multipart_limits& l) : limits_(l) {
    // Names are shorter than the head that they stand in, which bounds what must be there for them.
    limits_.head_bytes = std::min(l.head_bytes, most_head_bytes);
    limits_.name_bytes = std::min(l.name_bytes, limits_.head_bytes);
    limits_.filename_bytes = std::min(l.filename_bytes, limits_.head_bytes);
    block_ = std::make_unique_for_overwrite<char[]>(longest_delimiter + limits_.head_bytes + limits_.name_bytes +
                                                    2 * limits_.filename_bytes + 1);
}

multipart_errc multipart_decoder::start(std::string_view content_type) noexcept {
    head_ = {};
    std::string_view boundary;
    error_ = find_boundary(content_type, boundary);
    state_ = error_ == multipart_errc::ok ? state::preamble : state::failed;
    if (state_ == state::failed) return error_;
    std::memcpy(block_.get(), "\r\n--", 4);
    std::memcpy(block_.get() + 4, boundary.data(), boundary.size());
    delimiter_size_ = 4 + boundary.size();
    total_left_ = limits_.total_bytes;
    parts_left_ = limits_.parts;
    content_left_ = limits_.preamble_bytes;
    matched_ = borrowed_ = line_break; // the first delimiter needs none
    return error_;
}

multipart_decoder::step multipart_decoder::next(std::string_view input) noexcept {
    if (state_ == state::failed) return {0, multipart_event::error, {}};
    const auto usable = static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), total_left_));
    const step s = take(input.substr(0, usable));
    total_left_ -= s.consumed;
    if (s.event == multipart_event::need_more && usable < input.size()) [[unlikely]]
        return fail(multipart_errc::total_too_large, s.consumed);
    return s;
}

multipart_decoder::step multipart_decoder::finish() noexcept {
    if (state_ == state::failed) return {0, multipart_event::error, {}};
    if (state_ == state::last_padding || state_ == state::epilogue) return {0, multipart_event::end, {}};
    return fail(multipart_errc::incomplete, 0);
}

multipart_decoder::step multipart_decoder::take(std::string_view input) noexcept {
    for (std::size_t at = 0;;) {
        switch (const state was = state_; was) {
        case state::preamble:
        case state::data: {
            const std::string_view bytes = content(input, at);
            if (state_ == state::failed) return {at, multipart_event::error, {}};
            if (was == state::data && !bytes.empty()) return {at, multipart_event::data, bytes};
            if (state_ == was && at == input.size()) return {at, multipart_event::need_more, {}};
            break;
        }
        case state::part_ends: state_ = state::delimiter; return {at, multipart_event::part_end, {}};
        case state::epilogue:
            if (input.size() - at > content_left_) return fail(multipart_errc::epilogue_too_large, at);
            content_left_ -= input.size() - at;
            return {input.size(), multipart_event::need_more, {}};
        default: {
            if (at == input.size()) return {at, multipart_event::need_more, {}};
            const bool in_head = was >= state::line_first && was <= state::head_lf;
            multipart_errc e = in_head ? head_byte(input[at]) : delimiter_byte(input[at]);
            if (e == multipart_errc::ok && state_ == state::data) e = begin_content();
            if (e != multipart_errc::ok) return fail(e, at);
            ++at;
            if (state_ == state::data) return {at, multipart_event::part, {}};
            break;
        }
        }
    }
}

// The next bytes of preamble or part, up to a delimiter or to what may begin one. Moves `at` over what was read; it may
// find nothing but the delimiter, and then has moved on to the next state.
std::string_view multipart_decoder::content(std::string_view input, std::size_t& at) noexcept {
    const auto found = [this] {
        matched_ = borrowed_ = 0;
        state_ = state_ == state::data ? state::part_ends : state::delimiter;
    };
    const std::string_view rest = input.substr(at);
    if (matched_ != 0) { // what came before ends with the beginning of a delimiter
        const std::string_view more = delimiter().substr(matched_, rest.size());
        if (rest.starts_with(more)) {
            at += more.size();
            matched_ += more.size();
            if (matched_ == delimiter_size_) found();
            return {};
        }
        const std::string_view held = delimiter().substr(borrowed_, matched_ - borrowed_);
        const std::string_view bytes = within_limit(held);
        if (bytes.size() == held.size()) matched_ = borrowed_ = 0;
        if (!held.empty()) return bytes;
    }
    // Linear, whatever comes: no byte of a delimiter but the first is a CR, so that no beginning of one lies in
    // another.
    const std::size_t end = rest.find(delimiter());
    const std::size_t begun = end == rest.npos ? begun_delimiter(rest, delimiter()) : 0;
    const std::string_view all = rest.substr(0, end == rest.npos ? rest.size() - begun : end);
    const std::string_view bytes = within_limit(all);
    at += bytes.size();
    if (bytes.size() != all.size()) return bytes;
    matched_ = begun;
    at += begun;
    if (end != rest.npos) {
        at += delimiter_size_;
        found();
    }
    return bytes;
}

// The part of `bytes` that may still come; if none of them may, that is an error.
std::string_view multipart_decoder::within_limit(std::string_view bytes) noexcept {
    if (content_left_ == 0 && !bytes.empty()) {
        const multipart_errc in_part =
            head_.filename ? multipart_errc::file_too_large : multipart_errc::field_too_large;
        fail(state_ == state::data ? in_part : multipart_errc::preamble_too_large, 0);
        return {};
    }
    bytes = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), content_left_)));
    content_left_ -= bytes.size();
    return bytes;
}

// One byte behind a delimiter, on its line.
multipart_errc multipart_decoder::delimiter_byte(char c) noexcept {
    const bool last = state_ == state::last_padding;
    if (state_ == state::delimiter_lf || state_ == state::last_lf) {
        state_ = state_ == state::last_lf ? state::epilogue : state::line_first;
        return c == '\n' ? multipart_errc::ok : multipart_errc::bad_line_end;
    }
    if (state_ == state::last_dash || (state_ == state::delimiter && c == '-')) {
        content_left_ = limits_.epilogue_bytes;
        state_ = state_ == state::delimiter ? state::last_dash : state::last_padding;
        return c == '-' ? multipart_errc::ok : multipart_errc::bad_delimiter;
    }
    if (c == '\n') return multipart_errc::bad_line_end;
    if (c != '\r' && !is_blank(c)) return multipart_errc::bad_delimiter;
    if (state_ == state::delimiter) {
        if (parts_left_ == 0) return multipart_errc::too_many_parts;
        --parts_left_;
        head_left_ = static_cast<std::size_t>(limits_.head_bytes);
        fields_left_ = limits_.head_fields;
        lines_size_ = 0;
        state_ = state::padding;
    }
    if (c == '\r') {
        state_ = last ? state::last_lf : state::delimiter_lf;
    } else if (last) {
        if (content_left_ == 0) return multipart_errc::epilogue_too_large;
        --content_left_;
    } else {
        if (head_left_ == 0) return multipart_errc::head_too_large;
        --head_left_;
    }
    return multipart_errc::ok;
}

// One byte of a head. Lines are kept, without the empty one.
multipart_errc multipart_decoder::head_byte(char c) noexcept {
    if (head_left_ == 0) return multipart_errc::head_too_large;
    --head_left_;
    switch (state_) {
    case state::head_lf: state_ = state::data; return c == '\n' ? multipart_errc::ok : multipart_errc::bad_line_end;
    case state::line_first:
        if (c == '\r') {
            state_ = state::head_lf;
            return multipart_errc::ok;
        }
        if (c == '\n') return multipart_errc::bad_line_end;
        if (!is(c, token_char)) return multipart_errc::bad_field;
        if (fields_left_ == 0) return multipart_errc::too_many_fields;
        --fields_left_;
        state_ = state::field_name;
        break;
    case state::field_name:
        if (c == ':')
            state_ = state::field_value;
        else if (!is(c, token_char))
            return c == '\n' ? multipart_errc::bad_line_end : multipart_errc::bad_field;
        break;
    case state::field_value:
        if (c == '\r')
            state_ = state::field_lf;
        else if (!is(c, value_char))
            return c == '\n' ? multipart_errc::bad_line_end : multipart_errc::bad_field;
        break;
    default: // field_lf
        if (c != '\n') return multipart_errc::bad_line_end;
        state_ = state::line_first;
        break;
    }
    lines()[lines_size_++] = c;
    return multipart_errc::ok;
}

// A head has ended: what it says, and what it allows.
multipart_errc multipart_decoder::begin_content() noexcept {
    char* const names = lines() + limits_.head_bytes;
    if (const multipart_errc e = read_part_head({lines(), lines_size_}, limits_, names, head_); e != multipart_errc::ok)
        return e;
    content_left_ = head_.filename ? limits_.file_bytes : limits_.field_bytes;
    matched_ = borrowed_ = line_break; // that of the empty line may be the delimiter's
    return multipart_errc::ok;
}

multipart_decoder::step multipart_decoder::fail(multipart_errc e, std::size_t consumed) noexcept {
    error_ = e;
    state_ = state::failed;
    return {consumed, multipart_event::error, {}};
}

} // namespace fastserve::http
