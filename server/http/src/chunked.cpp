#include <fastserve/http/chunked.hpp>

#include "field_chars.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fastserve::http {
namespace {

constexpr std::uint64_t size_overflows = std::uint64_t{1} << 60; // one more digit would not fit

template <class T>
T clamp_to(std::uint64_t limit) noexcept {
    return static_cast<T>(std::min<std::uint64_t>(limit, std::numeric_limits<T>::max()));
}

std::uint64_t hex_value(char c) noexcept {
    return c <= '9' ? static_cast<std::uint64_t>(c - '0') : static_cast<std::uint64_t>((c | 0x20) - 'a' + 10);
}

} // namespace

chunked_decoder::chunked_decoder(const limits& l, std::uint64_t max_body) noexcept
    : body_left_(max_body), overhead_left_(l.chunk_overhead_bytes),
      line_limit_(clamp_to<std::uint32_t>(l.chunk_line_bytes)), line_left_(line_limit_),
      trailer_left_(clamp_to<std::uint32_t>(l.trailer_bytes)),
      trailer_fields_left_(clamp_to<std::uint16_t>(l.trailer_fields)) {}

chunked_decoder::result chunked_decoder::decode(char* data, std::size_t size) noexcept {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    for (;;) {
        const piece p = next(data + consumed, size - consumed);
        if (!p.data.empty()) {
            if (p.data.data() != data + produced) std::memmove(data + produced, p.data.data(), p.data.size());
            produced += p.data.size();
        }
        consumed += p.consumed;
        if (p.status != decode_status::need_more || consumed == size)
            return {consumed, produced, p.status, p.trailers}; // nothing but their end is behind them
    }
}

chunked_decoder::piece chunked_decoder::next(const char* data, std::size_t size) noexcept {
    if (state_ == state::done) return {0, {}, decode_status::done, {}};
    if (state_ == state::failed) return {0, {}, decode_status::error, {}};
    const char* lines = data;
    std::size_t lines_size = 0;
    for (std::size_t at = 0; at < size;) {
        if (state_ == state::data) {
            const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, size - at));
            chunk_left_ -= length;
            if (chunk_left_ == 0) state_ = state::data_cr;
            return {at + length, {data + at, length}, decode_status::need_more, {}};
        }
        const char c = data[at];
        errc e = errc::ok;
        if (state_ < state::trailer_first) {
            e = line_byte(c);
        } else {
            e = trailer_byte(c);
            if (state_ < state::last_lf && lines_size++ == 0) lines = data + at;
        }
        if (e != errc::ok) [[unlikely]] {
            error_ = e;
            state_ = state::failed;
            return {at, {}, decode_status::error, {}};
        }
        ++at;
        if (state_ == state::done) return {at, {}, decode_status::done, {lines, lines_size}};
    }
    return {size, {}, decode_status::need_more, {lines, lines_size}};
}

// One byte that is neither data nor of the trailer section.
errc chunked_decoder::line_byte(char c) noexcept {
    switch (state_) {
    case state::data_cr:
        state_ = state::data_lf;
        return c == '\r' ? errc::ok : errc::bad_chunk_end;
    case state::data_lf:
        state_ = state::size_first;
        return c == '\n' ? errc::ok : errc::bad_chunk_end;
    case state::line_lf:
        line_left_ = line_limit_;
        state_ = chunk_left_ != 0 ? state::data : state::trailer_first;
        return c == '\n' ? errc::ok : errc::bad_line_end;
    default:
        break;
    }
    if (c == '\r') return end_of_line();
    if (c == '\n') return errc::bad_line_end;
    if (line_left_ == 0) return errc::chunk_line_too_long;
    --line_left_;
    if (state_ == state::size_first || state_ == state::size) {
        if (is(c, hex_digit)) return size_digit(c);
        if (state_ == state::size_first || (c != ';' && !is_blank(c))) return errc::bad_chunk_size;
        if (const errc e = end_of_size(); e != errc::ok) return e;
    }
    if (overhead_left_ == 0) return errc::chunk_overhead_too_large;
    --overhead_left_;
    return extension_byte(c);
}

errc chunked_decoder::size_digit(char c) noexcept {
    if (chunk_left_ >= size_overflows) return errc::bad_chunk_size;
    chunk_left_ = chunk_left_ * 16 + hex_value(c);
    state_ = state::size;
    return errc::ok;
}

errc chunked_decoder::end_of_size() noexcept {
    if (chunk_left_ > body_left_) return errc::body_too_large;
    body_left_ -= chunk_left_;
    return errc::ok;
}

// A CR where a line with a size may end, or where it may not.
errc chunked_decoder::end_of_line() noexcept {
    switch (state_) {
    case state::size_first:
        return errc::bad_chunk_size;
    case state::size:
        if (const errc e = end_of_size(); e != errc::ok) return e;
        break;
    case state::ext_name:
    case state::ext_token:
    case state::ext_quoted_end:
        break;
    default:
        return errc::bad_chunk_extension;
    }
    state_ = state::line_lf;
    return errc::ok;
}

// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ), without what ends the line.
errc chunked_decoder::extension_byte(char c) noexcept {
    const auto go = [this](state to) {
        state_ = to;
        return errc::ok;
    };
    switch (state_) {
    case state::ext_name_first:
        if (is(c, token_char)) return go(state::ext_name);
        if (is_blank(c)) return errc::ok;
        break;
    case state::ext_name:
        if (is(c, token_char)) return errc::ok;
        [[fallthrough]];
    case state::ext_name_end:
        if (c == '=') return go(state::ext_value_first);
        if (c == ';') return go(state::ext_name_first);
        if (is_blank(c)) return go(state::ext_name_end);
        break;
    case state::ext_value_first:
        if (c == '"') return go(state::ext_quoted);
        if (is(c, token_char)) return go(state::ext_token);
        if (is_blank(c)) return errc::ok;
        break;
    case state::ext_quoted:
        if (c == '"') return go(state::ext_quoted_end);
        if (c == '\\') return go(state::ext_escaped);
        if (is(c, quoted_char)) return errc::ok;
        break;
    case state::ext_escaped:
        if (is(c, value_char)) return go(state::ext_quoted);
        break;
    case state::ext_token:
        if (is(c, token_char)) return errc::ok;
        [[fallthrough]];
    default: // size, ext_quoted_end, ext_blank
        if (c == ';') return go(state::ext_name_first);
        if (is_blank(c)) return go(state::ext_blank);
        break;
    }
    return errc::bad_chunk_extension;
}

errc chunked_decoder::trailer_byte(char c) noexcept {
    if (trailer_left_ == 0) return errc::trailer_too_large;
    --trailer_left_;
    switch (state_) {
    case state::trailer_first:
        if (c == '\r') {
            state_ = state::last_lf;
            return errc::ok;
        }
        if (c == '\n') return errc::bad_line_end;
        if (!is(c, token_char)) return errc::bad_trailer;
        if (trailer_fields_left_ == 0) return errc::too_many_trailer_fields;
        --trailer_fields_left_;
        state_ = state::trailer_name;
        break;
    case state::trailer_name:
        if (c == ':')
            state_ = state::trailer_value;
        else if (!is(c, token_char))
            return errc::bad_trailer;
        break;
    case state::trailer_value:
        if (c == '\r')
            state_ = state::trailer_lf;
        else if (c == '\n')
            return errc::bad_line_end;
        else if (!is(c, value_char))
            return errc::bad_trailer;
        break;
    case state::trailer_lf:
        if (c != '\n') return errc::bad_line_end;
        state_ = state::trailer_first;
        break;
    default: // last_lf
        if (c != '\n') return errc::bad_line_end;
        state_ = state::done;
        break;
    }
    return errc::ok;
}

} // namespace fastserve::http
