#include <fastserve/files/plan.hpp>

#include <fastserve/http/conditional.hpp>
#include <fastserve/http/date.hpp>
#include <fastserve/http/head.hpp>
#include <fastserve/http/response.hpp>

#include <charconv>
#include <cstring>

namespace fastserve::files {
namespace {

// One to one in `value` as long as `hash` is the same: what differs in one thing only has another hash.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93;
    return hash ^ (hash >> 29);
}

constexpr std::size_t digits_of_hash = 16;

char* put_hash(char* out, std::uint64_t hash) noexcept {
    for (int shift = 60; shift >= 0; shift -= 4) *out++ = "0123456789abcdef"[(hash >> shift) & 15];
    return out;
}

char* put(char* out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

std::uint64_t hash_of(const file_state& s) noexcept {
    std::uint64_t hash = mix(0, static_cast<std::uint64_t>(s.modified));
    hash = mix(hash, s.modified_ns);
    hash = mix(hash, s.inode);
    return mix(hash, s.device);
}

// 32 characters of a token, which no content holds by chance.
std::string boundary_of(const file_state& s, std::uint64_t seed) {
    char text[2 * digits_of_hash];
    const std::uint64_t first = mix(mix(hash_of(s), s.size), seed);
    put_hash(put_hash(text, first), mix(first, ~seed));
    return {text, sizeof text};
}

std::string content_range(http::byte_range range, std::uint64_t size) {
    char text[http::longest_content_range];
    return {text, http::write_content_range(range, size, text)};
}

} // namespace

std::size_t write_etag(const representation& of, char (&out)[longest_etag]) noexcept {
    char* at = out;
    *at++ = '"';
    at = std::to_chars(at, at + 16, of.state.size, 16).ptr;
    *at++ = '-';
    at = put_hash(at, hash_of(of.state));
    if (of.coding != http::content_coding::identity) {
        *at++ = '-';
        at = put(at, http::to_string(of.coding));
    }
    *at++ = '"';
    return static_cast<std::size_t>(at - out);
}

plan::plan(const http::head& request, const representation& of, std::int64_t now, std::uint64_t seed) : of_(of) {
    etag_size_ = static_cast<std::uint8_t>(write_etag(of, etag_));
    if (of.state.modified > 0 && of.state.modified < now) last_modified_ = of.state.modified;
    const http::validators current{
        .exists = true, .etag = etag(), .last_modified = last_modified_, .strong_date = true};
    const http::condition_verdict verdict = http::evaluate_conditions(request, current, now);
    if (verdict.outcome != http::precondition::proceed) {
        status_ = verdict.outcome == http::precondition::not_modified ? 304 : 412;
        return;
    }
    if (verdict.use_range) {
        const http::byte_ranges asked(*request.find(http::field::range), of.state.size);
        if (asked.verdict() == http::range_verdict::unsatisfiable) {
            status_ = 416;
            return;
        }
        if (asked.verdict() == http::range_verdict::partial && take_ranges(asked.ranges(), seed)) {
            status_ = 206;
            return;
        }
    }
    length_ = of.state.size;
    if (length_ != 0 && request.method != http::verb::head) add_piece({0, length_});
}

// False, with nothing changed, if the whole is to be sent.
bool plan::take_ranges(std::span<const http::byte_range> ranges, std::uint64_t seed) {
    if (ranges.size() == 1) {
        length_ = ranges.front().size;
        add_piece(ranges.front());
        return true;
    }
    if (of_.coding != http::content_coding::identity) return false;
    const std::string boundary = boundary_of(of_.state, seed);
    for (const http::byte_range range : ranges) {
        text_ += piece_count_ == 0 ? "--" : "\r\n--";
        text_ += boundary;
        if (!of_.type.empty()) text_.append("\r\nContent-Type: ").append(of_.type);
        text_.append("\r\nContent-Range: ").append(content_range(range, of_.state.size)).append("\r\n\r\n");
        add_piece(range);
        length_ += range.size;
    }
    text_.append("\r\n--").append(boundary).append("--\r\n");
    add_piece({});
    length_ += text_.size();
    if (length_ >= of_.state.size) {
        length_ = 0;
        piece_count_ = 0;
        text_.clear();
        return false;
    }
    multipart_type_ = "multipart/byteranges; boundary=" + boundary;
    return true;
}

piece plan::operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : parts_[index - 1].text_end;
    return {std::string_view(text_).substr(begin, parts_[index].text_end - begin), parts_[index].range};
}

void plan::write_to(http::response& answer) const {
    answer.status(status_);
    if (status_ == 412) return;
    if (status_ == 416) {
        char text[http::longest_content_range];
        answer.set("Content-Range", {text, http::write_unsatisfied_range(of_.state.size, text)});
        answer.set("Accept-Ranges", "bytes");
        return;
    }
    answer.set("ETag", etag());
    if (last_modified_) {
        char text[http::date_bytes];
        http::format_date(*last_modified_, text);
        answer.set("Last-Modified", {text, sizeof text});
    }
    if (!of_.cache_control.empty()) answer.set("Cache-Control", of_.cache_control);
    if (of_.varies) answer.add("Vary", "Accept-Encoding"); // beside what others say
    if (status_ == 304) return;
    answer.set("Accept-Ranges", "bytes");
    if (of_.coding != http::content_coding::identity) answer.set("Content-Encoding", http::to_string(of_.coding));
    if (!multipart_type_.empty()) {
        answer.content_type(multipart_type_);
    } else {
        if (!of_.type.empty()) answer.content_type(of_.type);
        if (status_ == 206) answer.set("Content-Range", content_range(parts_[0].range, of_.state.size));
    }
    answer.content_length(length_);
}

} // namespace fastserve::files
