// The chunked transfer coding, read (RFC 9112 7.1). Writing it is in serializer.hpp.
#pragma once

#include <fastserve/http/error.hpp>
#include <fastserve/http/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace fastserve::http {

enum class decode_status : std::uint8_t { need_more, done, error };

// Reads one chunked body, in pieces cut anywhere: how the bytes are cut changes neither verdict nor body.
//
// The grammar is taken at its word. Sizes are hexadecimal digits and nothing else; extensions are names with an
// optional token or quoted-string, white space only where RFC 9112 7.1.1 lets a recipient bear it; lines end in CRLF,
// data is followed by CRLF, and a lone CR or LF is an error where it stands; trailer lines are field lines. Extensions
// are checked and dropped.
//
// Limits (limits.hpp): chunk_line_bytes for each line with a size, without its CRLF; chunk_overhead_bytes for all that
// stands between size and CRLF, over the whole body; trailer_bytes for the trailer section with its final CRLF;
// trailer_fields for its lines. `max_body` bounds the sum of the chunks, and a chunk that would exceed it fails when
// its size is known, before its data is.
//
// Trailer lines are given as they came, each with its CRLF, where they lie in the input, and like the body in parts:
// joined they are the section. They are checked but not filtered: a Content-Length or a Host in there is text and must
// not be given a meaning (RFC 9110 6.5.1).
//
// An error is final: nothing behind it can be trusted, so the connection has to be closed after the answer. The object
// owns nothing and may be copied.
class chunked_decoder {
public:
    struct result {
        std::size_t consumed; // bytes read of the input; for an error, up to the byte that is wrong
        std::size_t produced; // bytes of body, now at the front of the input
        decode_status status;
        std::string_view trailers; // between `produced` and `consumed`; unless it is an error
    };

    struct piece {
        std::size_t consumed;
        std::string_view data; // body bytes, in the input
        decode_status status;
        std::string_view trailers;
    };

    explicit chunked_decoder(const limits& l, std::uint64_t max_body) noexcept;
    chunked_decoder() noexcept : chunked_decoder(limits{}, limits{}.body_bytes) {}

    // Reads [data, data + size) and moves the body bytes in it to its front. Takes all of it unless the body ends there
    // or an error does: what follows `consumed` is then the next request's, or nobody's. The bytes between `produced`
    // and `consumed` are indeterminate but for `trailers`. Linear in `size`.
    result decode(char* data, std::size_t size) noexcept;

    // The same without moving anything: at most one piece of body a call. To be called again with what it has not
    // consumed, while that is not empty and need_more is returned.
    piece next(const char* data, std::size_t size) noexcept;

    // What was wrong, once a call returned decode_status::error; ok before.
    errc error() const noexcept { return error_; }
    bool done() const noexcept { return state_ == state::done; }

private:
    // What the next byte is taken for.
    enum class state : std::uint8_t {
        size_first, // the first digit of a size
        size,       // another digit, or what ends the size
        ext_blank,  // behind blanks: the ';' they must stand before
        ext_name_first,
        ext_name,
        ext_name_end, // behind a name and blanks: '=' or ';'
        ext_value_first,
        ext_token,
        ext_quoted,
        ext_escaped,
        ext_quoted_end, // behind the closing quote
        line_lf,        // the LF of a chunk line
        data,
        data_cr,
        data_lf,
        trailer_first, // the first byte of a trailer line, or the CR of the empty one
        trailer_name,
        trailer_value,
        trailer_lf,
        last_lf, // the LF that ends the body
        done,
        failed,
    };

    errc size_digit(char c) noexcept;
    errc extension_byte(char c) noexcept;
    errc line_byte(char c) noexcept;
    errc end_of_size() noexcept;
    errc end_of_line() noexcept;
    errc trailer_byte(char c) noexcept;

    std::uint64_t chunk_left_ = 0; // data of the chunk that is to come; in a size, its value so far
    std::uint64_t body_left_;
    std::uint64_t overhead_left_;
    std::uint32_t line_limit_;
    std::uint32_t line_left_;
    std::uint32_t trailer_left_;
    std::uint16_t trailer_fields_left_;
    state state_ = state::size_first;
    errc error_ = errc::ok;
};

// The value of the first line of that name, compared without regard to case, in a trailer section, without the blanks
// around it. Fields that say how a message is framed, routed, authenticated, conditioned, or what its content is, are
// not found: they mean nothing there (RFC 9110 6.5.1).
std::optional<std::string_view> find_trailer(std::string_view lines, std::string_view name) noexcept;

static_assert(sizeof(chunked_decoder) <= 48 && std::is_trivially_copyable_v<chunked_decoder>,
              "one is part of every exchange");

} // namespace fastserve::http
