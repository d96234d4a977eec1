// The head of a request as the parser leaves it: views, no copies.
#pragma once

#include <fastserve/http/error.hpp>
#include <fastserve/http/field.hpp>
#include <fastserve/http/target.hpp>
#include <fastserve/http/verb.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace fastserve::http {

// One field line. Offsets count from head::base, so that a head survives a copy of its bytes.
struct field_line {
    std::uint32_t name_offset;
    std::uint16_t name_size;
    field id;
    std::uint32_t value_offset; // white space around the value is not part of it
    std::uint32_t value_size;
};
static_assert(sizeof(field_line) == 16);

// How the body is framed (RFC 9112 6.3).
enum class framing : std::uint8_t {
    none,    // neither Content-Length nor Transfer-Encoding
    length,  // head::content_length bytes, which may be zero
    chunked, // exactly "Transfer-Encoding: chunked"
};

// A parsed head. Filled by head_parser; meaningful once that has returned parse_status::complete.
//
// Ownership: none. Bytes belong to whoever received them and must outlive every view; when they are copied elsewhere,
// set `base` to the copy and all views follow. The array of field lines is given once by the head's owner (use_storage)
// and is never allocated here. Copies of a head share that array.
// Thread: one at a time. Nothing here allocates or throws.
struct head {
    const char* base = nullptr;
    std::uint32_t size = 0; // with the final CRLF, and with empty lines before the request line (RFC 9112 2.2)

    verb method = verb::unknown;
    std::uint8_t version_minor = 1; // of HTTP/1.x; 0 or 1 (a higher one is treated as 1, RFC 9110 6.2)
    framing body = framing::none;
    target_form form = target_form::origin;
    bool secure_target = false;       // absolute form with https: not for a clear connection (RFC 9110 7.4)
    bool keep_alive = true;           // what version and Connection say together (RFC 9112 9.3)
    bool expect_continue = false;     // 1.1, a body follows, and Expect is 100-continue
    bool has_upgrade = false;         // 1.1, Connection has "upgrade", and there is an Upgrade field
    bool has_query = false;           // tells "/a?" from "/a"
    bool has_percent = false;         // in the target: something may be percent-encoded
    std::uint64_t content_length = 0; // for framing::length

    // All lines in the order they came.
    std::span<const field_line> fields;

    // Bit n is set if a line of field n is there (`present`), or a second one (`repeated`). Bit 0: some unknown name.
    std::uint64_t present = 0;
    std::uint64_t repeated = 0;

    // Gives the array that field lines are written to. Its size bounds their number, as limits::head_fields does.
    void use_storage(std::span<field_line> lines) noexcept { storage_ = lines; }
    std::span<field_line> storage() const noexcept { return storage_; }

    std::string_view method_text() const noexcept { return view(method_at_, method_size_); }
    std::string_view target() const noexcept { return view(target_at_, target_size_); }

    // The path, not decoded. An absolute target without one gives "/", or "*" with OPTIONS (RFC 9112 3.2.4); the
    // asterisk form gives "*", CONNECT nothing. As many bytes behind it can be read as behind the head (parse_padding).
    std::string_view path() const noexcept {
        if (path_size_ != 0) [[likely]]
            return view(path_at_, path_size_);
        return path_without_text();
    }
    // What follows the first '?', not decoded.
    std::string_view query() const noexcept { return view(query_at_, query_size_); }

    // Host and port that the request is for: the target's authority when it has one, else Host (RFC 9112 3.2.2).
    // Checked against the grammar. Empty when Host is, or in 1.0 when there is none.
    std::string_view host() const noexcept { return view(host_at_, host_size_); }

    std::string_view name(const field_line& line) const noexcept { return view(line.name_offset, line.name_size); }
    std::string_view value(const field_line& line) const noexcept { return view(line.value_offset, line.value_size); }

    bool has(field f) const noexcept { return (present >> static_cast<unsigned>(f)) & 1; }

    // The value of the first line of a known field, in O(1).
    std::optional<std::string_view> find(field f) const noexcept {
        if (f == field::unknown || !has(f)) return std::nullopt;
        return value(fields[first_[static_cast<std::size_t>(f)]]);
    }
    // The same by name; O(1) when the name is a known one, else one comparison a line.
    std::optional<std::string_view> find(std::string_view name) const noexcept {
        const field_line* const line = first(name);
        return line ? std::optional(value(*line)) : std::nullopt;
    }
    // The first line of that name, and the one of the same name that follows a line of this head; null if there is
    // none.
    const field_line* first(std::string_view name) const noexcept;
    const field_line* next(const field_line&) const noexcept;

    // Calls visit(value) for each line of a known field in order: lines of one name form one list (RFC 9110 5.3).
    template <class Visit>
    void each(field f, Visit&& visit) const {
        if (!has(f)) return;
        for (const field_line& line : fields.subspan(first_[static_cast<std::size_t>(f)]))
            if (line.id == f) visit(value(line));
    }

private:
    friend struct head_builder;

    std::string_view path_without_text() const noexcept;
    std::string_view view(std::uint32_t at, std::uint32_t length) const noexcept { return {base + at, length}; }

    std::span<field_line> storage_;
    std::uint32_t method_at_ = 0, method_size_ = 0;
    std::uint32_t target_at_ = 0, target_size_ = 0;
    std::uint32_t path_at_ = 0, path_size_ = 0;
    std::uint32_t query_at_ = 0, query_size_ = 0;
    std::uint32_t host_at_ = 0, host_size_ = 0;
    // Index of the first line of each known field; only entries whose bit in `present` is set mean anything.
    std::uint16_t first_[64] = {};
};

} // namespace fastserve::http
