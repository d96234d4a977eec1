#include <fastserve/http/serializer.hpp>

#include "field_chars.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace fastserve::http {
namespace {

constexpr std::string_view ok_line = "HTTP/1.1 200 OK\r\n";
constexpr std::string_view length_name = "Content-Length: ";
constexpr std::size_t longest_decimal = 20;

char* put(char* out, std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

// "00" to "99".
constexpr std::array<char, 200> digit_pairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

// Writes four bytes at least.
inline char* put_decimal(char* out, std::uint64_t value) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (value < 10'000) [[likely]] {
            // All four digits, in the order of memory, then the leading zeros shifted out: no branch on the length.
            const auto n = static_cast<std::uint32_t>(value);
            std::uint16_t high, low;
            std::memcpy(&high, &digit_pairs[2 * (n / 100)], 2);
            std::memcpy(&low, &digit_pairs[2 * (n % 100)], 2);
            const auto zeros = 3U - (n > 9) - (n > 99) - (n > 999);
            const std::uint32_t digits = (high | std::uint32_t{low} << 16) >> (8 * zeros);
            std::memcpy(out, &digits, 4);
            return out + (4 - zeros);
        }
    }
    return std::to_chars(out, out + longest_decimal, value).ptr;
}

char* put_status_line(char* out, int status) noexcept {
    out = put(out, "HTTP/1.1 ");
    *out++ = static_cast<char>('0' + status / 100);
    *out++ = static_cast<char>('0' + status / 10 % 10);
    *out++ = static_cast<char>('0' + status % 10);
    *out++ = ' '; // also before an empty reason (RFC 9112 4)
    out = put(out, reason(status));
    return put(out, "\r\n");
}

// Copies short blocks in one fixed size, which needs neither a loop nor a call.
char* put_fields(char* out, const field_block& fields) noexcept {
    const std::string_view lines = fields.wire();
    if (lines.size() <= field_block::padding && !lines.empty()) [[likely]] {
        std::memcpy(out, lines.data(), field_block::padding);
        return out + lines.size();
    }
    return put(out, lines);
}

// The last line, and the empty one.
char* put_length(char* out, std::uint64_t length) noexcept {
    out = put(out, length_name);
    out = put_decimal(out, length);
    return put(out, "\r\n\r\n");
}

char* put_connection(char* out, const answer_plan& plan) noexcept {
    out = put(out, "Connection: ");
    if (plan.says_upgrade) {
        out = put(out, "Upgrade");
        if (plan.says_close || plan.says_keep_alive) out = put(out, ", ");
    }
    if (plan.says_close) out = put(out, "close");
    if (plan.says_keep_alive) out = put(out, "keep-alive");
    return put(out, "\r\n");
}

// The longest head without its fields, and what is copied beyond it. Content-Length and Transfer-Encoding exclude each
// other, and so do close and keep-alive.
constexpr std::size_t longest_status_line = 9 + 4 + longest_reason + 2;
constexpr std::size_t longest_common_lines = response_templates::copied_bytes - ok_line.size();
constexpr std::size_t longest_length_line = length_name.size() + longest_decimal + 2;
constexpr std::size_t longest_connection_line = std::string_view("Connection: Upgrade, keep-alive\r\n").size();
static_assert(std::string_view("Transfer-Encoding: chunked\r\n").size() < longest_length_line);
static_assert(longest_status_line + longest_common_lines + longest_length_line + longest_connection_line + 2 +
                  field_block::padding <=
              head_slack);
static_assert(response_templates::copied_bytes + field_block::padding <= head_slack);
static_assert(longest_status_line + 2 <= 128, "interim_bound");

} // namespace

response_templates::response_templates() noexcept : text_{} {
    put(text_, ok_line);
    server_name("fastserve");
}

bool response_templates::server_name(std::string_view name) noexcept {
    if (name.size() > longest_server_name || !is_value(name)) return false;
    if (!name.empty() && (is_blank(name.front()) || is_blank(name.back()))) return false;
    char* out = text_ + server_at;
    if (!name.empty()) {
        out = put(out, "Server: ");
        out = put(out, name);
        out = put(out, "\r\n");
    }
    size_ = static_cast<std::size_t>(out - text_) + date_line_bytes;
    set_date(second_);
    return true;
}

void response_templates::set_date(std::int64_t unix_seconds) noexcept {
    char date[date_bytes];
    format_date(unix_seconds, date);
    char* out = text_ + size_ - date_line_bytes;
    out = put(out, "Date: ");
    out = put(out, {date, date_bytes});
    put(out, "\r\n");
    second_ = unix_seconds;
}

answer_plan detail::plan_special_answer(const response& r, const answer_context& context) noexcept {
    answer_plan plan;
    const int status = r.status();
    const bool old_client = context.version_minor == 0;
    plan.close = !context.keep_alive || r.closes();

    if (has_no_body(status)) [[unlikely]] {
        if (status == 304 && r.content_length()) {
            plan.says_length = true;
            plan.length = *r.content_length();
        }
        // The connection goes on as something else, and what it then is decides when it ends.
        if (status == 101) plan.close = false;
    } else if (status == 205) [[unlikely]] {
        plan.framing = body_framing::length;
        plan.says_length = true;
    } else if (r.kind() != body_kind::stream || r.content_length()) [[likely]] {
        plan.framing = body_framing::length;
        plan.says_length = true;
        const bool declared = r.kind() == body_kind::stream || (r.kind() == body_kind::none && context.head_request);
        plan.length = declared ? r.content_length().value_or(0) : r.body_view().size();
        plan.body_follows = plan.length != 0;
    } else if (!old_client) {
        plan.framing = body_framing::chunked;
        plan.says_chunked = true;
        plan.body_follows = true;
    } else {
        plan.framing = body_framing::until_close;
        plan.body_follows = true;
        if (!context.head_request) plan.close = true;
    }
    if (context.head_request) {
        plan.framing = body_framing::none;
        plan.body_follows = false;
    }
    plan.says_upgrade = r.has_upgrade();
    plan.says_close = plan.close;
    plan.says_keep_alive = old_client && !plan.close && status != 101;
    return plan;
}

char* write_head(char* out, const response& r, const answer_plan& plan, const response_templates& templates) noexcept {
    if (plan.ordinary) [[likely]] {
        const std::string_view head = templates.ok_head();
        std::memcpy(out, head.data(), response_templates::copied_bytes);
        return put_length(put_fields(out + head.size(), r.fields()), plan.length);
    }
    if (r.status() == 200 && !r.overrides_common_fields()) [[likely]] {
        const std::string_view head = templates.ok_head();
        std::memcpy(out, head.data(), response_templates::copied_bytes);
        out += head.size();
    } else {
        out = put_status_line(out, r.status());
        if (!r.has_server()) out = put(out, templates.server());
        if (!r.has_date()) out = put(out, templates.date());
    }
    out = put_fields(out, r.fields());
    if (plan.says_close || plan.says_keep_alive || plan.says_upgrade) [[unlikely]]
        out = put_connection(out, plan);
    if (plan.says_length) [[likely]]
        return put_length(out, plan.length);
    if (plan.says_chunked) return put(out, "Transfer-Encoding: chunked\r\n\r\n");
    return put(out, "\r\n");
}

char* write_interim(char* out, int status, const field_block& fields) noexcept {
    if (!is_informational(status) || status == 101) return out;
    out = put_status_line(out, status);
    out = put(out, fields.wire());
    return put(out, "\r\n");
}

char* write_chunk_head(char* out, std::uint64_t size) noexcept {
    if (size == 0) return out;
    out = std::to_chars(out, out + 16, size, 16).ptr;
    return put(out, "\r\n");
}

char* write_last_chunk(char* out, const field_block& trailers) noexcept {
    out = put(out, "0\r\n");
    out = put(out, trailers.wire());
    return put(out, "\r\n");
}

std::size_t write_error(char* out, std::size_t capacity, int status, const answer_context& context,
                        const response_templates& templates, const extra_field& extra) noexcept {
    if (capacity < error_bound(extra) || !is_status(status)) return 0;
    char* const begin = out;
    out = put_status_line(out, status);
    out = put(out, templates.server());
    out = put(out, templates.date());
    if (is_token(extra.name) && !frames_a_message(extra.name) && is_value(extra.value)) {
        out = put(out, extra.name);
        out = put(out, ": ");
        out = put(out, extra.value);
        out = put(out, "\r\n");
    }
    answer_plan plan;
    plan.says_close = !context.keep_alive;
    plan.says_keep_alive = context.keep_alive && context.version_minor == 0;
    if (plan.says_close || plan.says_keep_alive) out = put_connection(out, plan);
    if (has_no_body(status)) return static_cast<std::size_t>(put(out, "\r\n") - begin);

    const std::string_view text = reason(status);
    out = put(out, "Content-Type: text/plain\r\nContent-Length: ");
    out = put_decimal(out, text.size() + 1);
    out = put(out, "\r\n\r\n");
    if (!context.head_request) {
        out = put(out, text);
        *out++ = '\n';
    }
    return static_cast<std::size_t>(out - begin);
}

} // namespace fastserve::http
