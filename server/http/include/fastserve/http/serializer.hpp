// Responses as bytes (RFC 9112 4 to 7): status line, fields, framing.
//
// To send an answer: plan_answer() decides how its body is framed and whether the connection outlives it, head_bound()
// says how much room its head needs, write_head() writes it; then the body follows as the plan says. All functions
// write into the caller's memory, return where they stopped, allocate nothing and cannot fail. They copy in fixed sizes
// and so may write beyond what they return, within the bound that they state.
#pragma once

#include <fastserve/http/date.hpp>
#include <fastserve/http/field_block.hpp>
#include <fastserve/http/response.hpp>
#include <fastserve/http/status.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace fastserve::http {

// What is the same in all answers of a second, ready to be copied: "HTTP/1.1 200 OK", Server and Date. One a worker.
class response_templates {
public:
    static constexpr std::size_t longest_server_name = 64;

    // The date is 1970 until refresh() is called.
    response_templates() noexcept;

    // The value of Server; empty: the field is not sent. False, and nothing is changed, if it is longer than
    // longest_server_name or no field value (RFC 9110 5.5).
    bool server_name(std::string_view name) noexcept;

    // To be called before answers are written, as often as the caller likes: does nothing within a second.
    void refresh(std::int64_t unix_seconds) noexcept {
        if (unix_seconds != second_) [[unlikely]]
            set_date(unix_seconds);
    }

    // "HTTP/1.1 200 OK" with its CRLF, then server(), then date(). `copied_bytes` can be read.
    std::string_view ok_head() const noexcept { return {text_, size_}; }
    // Whole lines with their CRLF; server() is empty when it is not sent.
    std::string_view server() const noexcept { return {text_ + server_at, size_ - server_at - date_line_bytes}; }
    std::string_view date() const noexcept { return {text_ + size_ - date_line_bytes, date_line_bytes}; }

    static constexpr std::size_t copied_bytes = 128;

private:
    void set_date(std::int64_t unix_seconds) noexcept;

    static constexpr std::size_t server_at = 17;       // behind the status line
    static constexpr std::size_t date_line_bytes = 37; // "Date: " and CRLF included
    static_assert(server_at + 10 + longest_server_name + date_line_bytes <= copied_bytes);

    alignas(64) char text_[copied_bytes];
    std::size_t size_ = 0;
    std::int64_t second_ = 0;
};

// What the connection knows about an answer.
struct answer_context {
    bool head_request = false;      // the method was HEAD
    std::uint8_t version_minor = 1; // of the request: HTTP/1.0 or HTTP/1.1
    bool keep_alive = true;         // the connection is to go on, and a 1.0 client asked for it
};

enum class body_framing : std::uint8_t {
    none,        // the message ends with its head
    length,      // answer_plan::length bytes
    chunked,     // write_chunk_head() ... write_last_chunk()
    until_close, // what follows up to the end of the connection: a stream without a length to a 1.0 client
};

// How one answer goes out.
struct answer_plan {
    body_framing framing = body_framing::none;
    bool body_follows = false; // bytes are to be sent after the head
    bool close = false;        // the connection ends after it
    bool says_length = false;  // Content-Length is written: also for HEAD, and for 304 when it is known
    bool says_chunked = false; // Transfer-Encoding is written: also for HEAD
    bool says_close = false;   // Connection is written, with these options
    bool says_keep_alive = false;
    bool says_upgrade = false;
    bool ordinary = false;    // 200 with Content-Length, and the connection goes on without a word
    std::uint64_t length = 0; // of the body, or what HEAD and 304 say about it
};

namespace detail {
answer_plan plan_special_answer(const response&, const answer_context&) noexcept;
}

// Framing by RFC 9112 6 and RFC 9110 8.6, 9.3.2, 15: none for 1xx, 204 and 304; 205 has length 0 whatever its body was;
// HEAD says what GET would and has no body; a stream of unknown length is chunked, or ends with the connection when the
// request was HTTP/1.0.
inline answer_plan plan_answer(const response& r, const answer_context& context) noexcept {
    if (!r.ordinary() || context.head_request || context.version_minor == 0 || !context.keep_alive) [[unlikely]]
        return detail::plan_special_answer(r, context);
    answer_plan plan{.framing = body_framing::length, .says_length = true, .ordinary = true};
    plan.length = r.body_view().size();
    plan.body_follows = plan.length != 0;
    return plan;
}

// Room for everything of a head but its field block, and for what is written beyond its end.
inline constexpr std::size_t head_slack = 384;

// Bytes that write_head() needs at `out`.
inline std::size_t head_bound(const response& r) noexcept {
    return r.fields().size() + head_slack;
}

// Writes status line, Server, Date, the response's fields and framing, and the empty line. `out` has room for
// head_bound(r) bytes. Returns the end of the head.
char* write_head(char* out, const response& r, const answer_plan& plan, const response_templates& templates) noexcept;

inline std::size_t interim_bound(const field_block& fields) noexcept {
    return fields.size() + 128;
}

// Writes an interim response (RFC 9110 15.2), 100 or 103 for example, into room for interim_bound(fields). Writes
// nothing if the status is not 1xx or is 101, which ends an exchange. HTTP/1.0 clients do not know interim responses:
// not sending them any is the caller's part.
char* write_interim(char* out, int status, const field_block& fields) noexcept;

// The chunked coding (RFC 9112 7.1). A chunk is write_chunk_head(), `size` bytes of data and chunk_end; it has at most
// longest_chunk_head bytes in front. A chunk of size 0 would end the body: nothing is written for it.
inline constexpr std::size_t longest_chunk_head = 18;
inline constexpr std::string_view chunk_end = "\r\n";
char* write_chunk_head(char* out, std::uint64_t size) noexcept;

// The end of a chunked body, with the trailer section: 5 bytes and those of `trailers`.
inline std::size_t last_chunk_bytes(const field_block& trailers) noexcept {
    return trailers.size() + 5;
}
char* write_last_chunk(char* out, const field_block& trailers) noexcept;

// One more field of an error answer. None if the name is empty.
struct extra_field {
    std::string_view name{};
    std::string_view value{};
};

// Room that write_error() certainly finds enough.
inline std::size_t error_bound(const extra_field& extra) noexcept {
    return 512 + extra.name.size() + extra.value.size();
}

// Writes a complete answer that needs no response object, for what is refused early: its body is the reason and a line
// feed, as text/plain. `extra` is for Retry-After, Allow and the like; one that is not a valid field, or that frames
// the message, is left out. The connection ends after it unless context.keep_alive. Returns the bytes written, and 0,
// with nothing written, if `capacity` is below error_bound(extra).
std::size_t write_error(char* out, std::size_t capacity, int status, const answer_context& context,
                        const response_templates& templates, const extra_field& extra = {}) noexcept;

} // namespace fastserve::http
