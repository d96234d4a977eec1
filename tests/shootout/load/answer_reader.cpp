#include "answer_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace load {

namespace {

constexpr std::size_t longest_line = 64 * 1024, longest_head = 256 * 1024;

bool same_letters(std::string_view a, std::string_view lower) noexcept {
    if (a.size() != lower.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const char c = a[i];
        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != lower[i]) return false;
    }
    return true;
}

std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Nothing but digits of the base, and what fits.
std::optional<std::uint64_t> number(std::string_view text, int base) noexcept {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

} // namespace

answer_reader::outcome answer_reader::take(std::string_view& in) {
    if (done_) begin();
    while (!in.empty()) {
        bool good = true;
        std::string_view line;
        switch (state_) {
        case state::sized:
        case state::chunk:
            on_body(take_body(in));
            if (left_ > 0) return outcome::more;
            if (state_ == state::sized) return complete();
            state_ = state::chunk_end;
            continue;
        case state::until_end:
            on_body(in);
            in = {};
            return outcome::more;
        default:
            if (!next_line(in, line)) return in.empty() ? outcome::more : outcome::malformed;
        }
        switch (state_) {
        case state::status_line: good = on_status_line(line); break;
        case state::fields:
            if (!line.empty()) {
                good = on_field(line);
                break;
            }
            good = on_head_end();
            if (good && state_ == state::fields) return complete(); // no body
            break;
        case state::chunk_size: good = on_chunk_size(line); break;
        case state::chunk_end:
            good = line.empty() || malformed("a chunk is longer than its size");
            state_ = state::chunk_size;
            break;
        default: // trailers
            if (line.empty()) return complete();
        }
        if (!good) return outcome::malformed;
    }
    return outcome::more;
}

bool answer_reader::end() {
    if (state_ != state::until_end) return false;
    complete();
    return true;
}

void answer_reader::reset() {
    line_.clear();
    line_used_ = false;
    state_ = state::status_line;
    done_ = true;
}

void answer_reader::begin() {
    done_ = false;
    keep_alive_ = true;
    chunked_ = false;
    status_ = 0;
    head_bytes_ = 0;
    length_.reset();
    left_ = body_bytes_ = 0;
    wrong_ = {};
}

bool answer_reader::next_line(std::string_view& in, std::string_view& out) {
    if (line_used_) {
        line_.clear();
        line_used_ = false;
    }
    const void* const found = std::memchr(in.data(), '\n', in.size());
    const std::size_t size =
        found == nullptr ? in.size() : static_cast<std::size_t>(static_cast<const char*>(found) - in.data());
    head_bytes_ += size + 2;
    if (line_.size() + size > longest_line || head_bytes_ > longest_head) return malformed("a head without end");
    if (found == nullptr) {
        line_.append(in);
        in = {};
        return false;
    }
    out = in.substr(0, size);
    if (!line_.empty()) {
        out = line_.append(out);
        line_used_ = true;
    }
    if (!out.ends_with('\r')) return malformed("a line ends without CR");
    out.remove_suffix(1);
    in.remove_prefix(size + 1);
    return true;
}

bool answer_reader::on_status_line(std::string_view line) {
    const bool known = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
    if (!known || line.size() < 12 || (line.size() > 12 && line[12] != ' ')) return malformed("no status line");
    keep_alive_ = line[7] == '1';
    const std::optional<std::uint64_t> status = number(line.substr(9, 3), 10);
    if (!status || *status < 100) return malformed("no status line");
    status_ = static_cast<unsigned>(*status);
    state_ = state::fields;
    return true;
}

bool answer_reader::on_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos || line[0] == ' ' || line[0] == '\t' || line[colon - 1] == ' ')
        return malformed("a field without a name");
    const char first = static_cast<char>(line[0] | 0x20);
    if (first != 'c' && first != 't') return true; // most of them: nothing that framing hangs on
    const std::string_view name = line.substr(0, colon);
    std::string_view value = trim(line.substr(colon + 1));
    if (same_letters(name, "content-length")) {
        const std::optional<std::uint64_t> n = number(value, 10);
        if (!n || (length_ && *length_ != *n)) return malformed("no single Content-Length");
        length_ = n;
    } else if (same_letters(name, "transfer-encoding")) {
        if (chunked_ || !same_letters(value, "chunked")) return malformed("a Transfer-Encoding other than chunked");
        chunked_ = true;
    } else if (same_letters(name, "connection")) {
        while (!value.empty()) {
            const std::size_t comma = std::min(value.find(','), value.size());
            const std::string_view option = trim(value.substr(0, comma));
            if (same_letters(option, "close")) keep_alive_ = false;
            if (same_letters(option, "keep-alive")) keep_alive_ = true;
            value.remove_prefix(std::min(comma + 1, value.size()));
        }
    }
    return true;
}

// Leaves the state at `fields` where there is no body.
bool answer_reader::on_head_end() {
    if (status_ == 101) return malformed("another protocol");
    if (status_ < 200) {
        begin();
        state_ = state::status_line;
        return true;
    }
    if (chunked_ && length_) return malformed("a length and chunks");
    if (status_ != wanted_->status) differs("another status");
    if (wanted_->head || status_ == 204 || status_ == 304) return true;
    if (chunked_) {
        state_ = state::chunk_size;
    } else if (length_) {
        left_ = *length_;
        if (left_ > 0) state_ = state::sized;
    } else {
        state_ = state::until_end;
        keep_alive_ = false;
    }
    return true;
}

bool answer_reader::on_chunk_size(std::string_view line) {
    head_bytes_ = 0; // each of its own length; an endless body of chunks is not an endless head
    const std::optional<std::uint64_t> size = number(trim(line.substr(0, line.find(';'))), 16);
    if (!size) return malformed("no chunk size");
    left_ = *size;
    state_ = left_ == 0 ? state::trailers : state::chunk;
    return true;
}

std::string_view answer_reader::take_body(std::string_view& in) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
    const std::string_view piece = in.substr(0, size);
    in.remove_prefix(size);
    left_ -= size;
    return piece;
}

void answer_reader::on_body(std::string_view piece) {
    if (wanted_->body) {
        const std::string_view all = *wanted_->body;
        const bool fits = body_bytes_ <= all.size() && piece.size() <= all.size() - body_bytes_;
        if (!fits || all.substr(static_cast<std::size_t>(body_bytes_), piece.size()) != piece) differs("another body");
    }
    body_bytes_ += piece.size();
}

answer_reader::outcome answer_reader::complete() {
    if (!wanted_->head) {
        if (wanted_->body && body_bytes_ != wanted_->body->size()) differs("another body");
        if (wanted_->length && body_bytes_ != *wanted_->length) differs("a body of another length");
    }
    state_ = state::status_line;
    done_ = true;
    return outcome::complete;
}

} // namespace load
