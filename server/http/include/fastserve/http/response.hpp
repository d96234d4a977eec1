// What a handler fills: status, fields, and a body or the promise of one.
#pragma once

#include <fastserve/http/error.hpp>
#include <fastserve/http/field_block.hpp>
#include <fastserve/http/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve::http {

enum class body_kind : std::uint8_t {
    none,   // no content: sent as a body of length 0 where the status allows a body
    bytes,  // all of it is here: body_view()
    stream, // it comes later, in pieces: of content_length() bytes if that is given, else chunked
};

// One answer, without the parts that the connection and the clock decide (see serializer.hpp).
//
// A response is used for many requests, one after the other: reset() is a few stores, and what was allocated for one
// answer serves the next, up to `field_block::retained_bytes` for fields and `retained_body_bytes` for a body. One
// thread at a time. Setters throw std::bad_alloc when memory runs out; the response is then unchanged.
//
// Fields. What is refused (see field_block) leaves the response unchanged and is reported, not repaired.
//   Content-Length     not set by hand: comes from the body, or from content_length(n).
//   Transfer-Encoding  not set by hand: the serializer's choice.
//   Connection         set("Connection", "close") is close(); any other value is refused. The options that go with
//                      Upgrade and with HTTP/1.0 are the serializer's.
//   Date, Server       written by the serializer unless they are set here.
class response {
public:
    static constexpr std::size_t retained_body_bytes = 16 * 1024;

    response() noexcept = default;
    response(const response&) = delete;
    response& operator=(const response&) = delete;
    ~response() = default;

    // Makes it ready for the next request: 200, no fields, no body.
    void reset() noexcept {
        status_ = 200;
        kind_ = body_kind::none;
        flags_ = 0;
        fields_.clear();
        body_.clear();
        if (shared_ || body_.capacity() > retained_body_bytes) [[unlikely]]
            release();
    }

    int status() const noexcept { return status_; }

    // False, and nothing is changed, unless it is 101 or 200 to 999 (is_final_status).
    bool status(int code) noexcept {
        if (!is_final_status(code)) return false;
        status_ = static_cast<std::uint16_t>(code);
        return true;
    }

    // Fields (RFC 9110 5). Names are compared without regard to case. Return ok, bad_field_name (not a token, or one
    // that is not set by hand) or bad_field_value.
    errc set(std::string_view name, std::string_view value); // in place of all lines of that name
    errc add(std::string_view name, std::string_view value); // beside them; Date, Server and Content-Type stay single
    bool remove(std::string_view name) noexcept;             // whether there was one
    bool has(std::string_view name) const noexcept { return get(name).has_value(); }
    std::optional<std::string_view> get(std::string_view name) const noexcept; // of the first line; until it is changed
    const field_block& fields() const noexcept { return fields_; }

    // set("Content-Type", value), without looking for it.
    errc content_type(std::string_view value) {
        if (flags_ & content_type_flag) [[unlikely]]
            return fields_.set("Content-Type", value);
        const errc error = fields_.add_known("Content-Type: ", value);
        if (error == errc::ok) flags_ |= content_type_flag;
        return error;
    }

    // The same with a line of that name.
    void content_type(const ready_line& line) {
        if (flags_ & content_type_flag) [[unlikely]]
            fields_.remove("Content-Type");
        fields_.add(line);
        flags_ |= content_type_flag;
    }

    // The connection ends after this answer.
    void close() noexcept { flags_ |= close_flag; }
    bool closes() const noexcept { return flags_ & close_flag; }

    // The body: the last call counts. Copied into storage that is kept; may be a part of the present body.
    void body(std::string_view bytes);
    // Moved.
    void body(std::string&& bytes) noexcept;
    void body(const char* text) { body(std::string_view(text)); }
    // Shared, never copied: for what many answers have in common. The bytes must not change any more. Null is empty.
    void body(std::shared_ptr<const std::string> bytes) noexcept;
    // Lent, and not copied unless they are still needed when keep_body() is called: they must not change before that or
    // reset(). For what is written at once.
    void lend_body(std::string_view bytes) noexcept {
        if (shared_) [[unlikely]]
            shared_.reset();
        view_ = bytes;
        flags_ |= elsewhere_flag;
        kind_ = body_kind::bytes;
    }
    // Copies a lent body, if it is one. False: no memory, and it is still only lent.
    bool keep_body() noexcept;
    // The storage that is kept, emptied, to be written in place.
    std::string& body_buffer() noexcept;
    // It follows in pieces, by way of the connection.
    void stream() noexcept;
    void no_body() noexcept;

    body_kind kind() const noexcept { return kind_; }

    // The bytes of body_kind::bytes, empty for the other kinds. Good until the body is set or the response is reset.
    std::string_view body_view() const noexcept { return flags_ & elsewhere_flag ? view_ : std::string_view(body_); }

    // The length of a body that is not here: of a stream; for HEAD, of what GET would send; for 304, of what 200 would
    // (RFC 9110 8.6). Without effect otherwise, so that it cannot contradict the body.
    void content_length(std::uint64_t bytes) noexcept {
        length_ = bytes;
        flags_ |= length_flag;
    }
    std::optional<std::uint64_t> content_length() const noexcept {
        return flags_ & length_flag ? std::optional(length_) : std::nullopt;
    }

    bool has_date() const noexcept { return flags_ & date_flag; }
    bool has_server() const noexcept { return flags_ & server_flag; }
    bool has_upgrade() const noexcept { return flags_ & upgrade_flag; }
    // Fields that change what the serializer writes by itself.
    bool overrides_common_fields() const noexcept { return flags_ & (date_flag | server_flag); }
    // What most are: 200 with the bytes of its body, and nothing in it changes what the serializer writes by itself.
    bool ordinary() const noexcept {
        return status_ == 200 && kind_ == body_kind::bytes && (flags_ & ~(content_type_flag | elsewhere_flag)) == 0;
    }

private:
    enum : std::uint8_t {
        date_flag = 1,
        server_flag = 2,
        content_type_flag = 4,
        upgrade_flag = 8,
        close_flag = 16,
        length_flag = 32,
        elsewhere_flag = 64, // the body is `view_`: shared or lent
    };

    static std::uint8_t flag_of(std::string_view name) noexcept;
    errc close_by_field(std::string_view value) noexcept;
    void here(body_kind) noexcept;
    void release() noexcept;

    field_block fields_;
    std::string body_;
    std::shared_ptr<const std::string> shared_;
    std::string_view view_;
    std::uint64_t length_ = 0;
    std::uint16_t status_ = 200;
    body_kind kind_ = body_kind::none;
    std::uint8_t flags_ = 0;
};

} // namespace fastserve::http
