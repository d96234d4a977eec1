// multipart/form-data, read as it comes (RFC 7578, RFC 2046 5.1).
#pragma once

#include <fastserve/http/limits.hpp>
#include <fastserve/http/multipart_error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace fastserve::http {

// What one body may have. Each limit is an error of its own when it is exceeded by one.
struct multipart_limits {
    std::uint64_t parts = 128;
    // Of one part: its field lines, the empty one, and the padding before them. More than 1 MiB is taken for 1 MiB.
    std::uint64_t head_bytes = 4 * 1024;
    std::uint64_t head_fields = 16;
    // Of one part, as decoded.
    std::uint64_t name_bytes = 256;
    std::uint64_t filename_bytes = 1024;
    // The content of a part without a file name, and of one with it.
    std::uint64_t field_bytes = 1024 * 1024;
    std::uint64_t file_bytes = no_most;
    // All that comes, delimiters and heads too: what a route's limit for bodies bounds as well.
    std::uint64_t total_bytes = limits{}.body_bytes;
    // What stands before the first delimiter, and behind the last, padding included.
    std::uint64_t preamble_bytes = 1024;
    std::uint64_t epilogue_bytes = 1024;
};

inline constexpr std::size_t longest_boundary = 70; // RFC 2046 5.1.1

// The boundary in the value of a Content-Type field: a view into it. Its characters are those of RFC 2046 5.1.1, quoted
// or not: what is not a token should be quoted, but is understood as it stands. Other parameters are passed over.
multipart_errc find_boundary(std::string_view content_type, std::string_view& boundary) noexcept;

// The head of a part. Views are good until next() is called behind its part_end, and while the decoder lives, also when
// it is moved.
struct part_head {
    // Of the field of the form; may be empty, and several parts may have the same (RFC 7578 4.3). As it was before a
    // browser wrote it: %22, %0D and %0A are read as what they stand for, and so are \" and \\ of other clients; any
    // other '%' or '\' is itself.
    std::string_view name;
    // As given, decoded in the same way: may be a path, hold controls, and is empty where no file was chosen. Without a
    // value the part is no file.
    std::optional<std::string_view> filename;
    // safe_filename() of it; empty without one.
    std::string_view safe_filename;
    // As given; "text/plain" where nothing is said (RFC 7578 4.4).
    std::string_view content_type;
    // All field lines as they came, each with its CRLF.
    std::string_view lines;

    // The value of the first line of that name, compared without regard to case, without the blanks around it.
    std::optional<std::string_view> field(std::string_view field_name) const noexcept;
};

enum class multipart_event : std::uint8_t {
    need_more, // all input was taken
    part,      // a part begins: head()
    data,      // content of it, never empty
    part_end,
    end, // of the body; only finish() says it
    error,
};

// Reads one body, in pieces cut anywhere: how it is cut changes neither events nor verdict, except into how many pieces
// the data of a part falls.
//
//     multipart_decoder decoder(limits);
//     if (const auto e = decoder.start(content_type); e != multipart_errc::ok) ...
//     while (piece of the body) {
//         do {
//             const auto step = decoder.next(piece);
//             piece.remove_prefix(step.consumed);
//             switch (step.event) ...
//         } while (step.event != need_more && step.event != error);
//     }
//     decoder.finish()
//
// Data is handed out where it lies in the input and is not copied. What may begin a delimiter at the end of a piece is
// held back until it is known; if it was data after all, it is a view into the decoder's copy of the delimiter. Heads
// of parts are copied. The decoder owns one block, of at most head_bytes + name_bytes + 2 * filename_bytes + 75 bytes,
// from its construction on; nothing else allocates. Time is linear in the input, whatever that is.
//
// The grammar is taken at its word where that leaves one reading:
//  - Lines end in CRLF; a lone CR or LF in a head or behind a delimiter is an error.
//  - CRLF "--" boundary is a delimiter wherever it stands, and what follows is blanks (transport padding) and CRLF, or
//    "--"; anything else is an error rather than data, since readers differ about that (RFC 2046 5.1.1). The CRLF may
//    be the one that ends the head, and is not needed where the body begins.
//  - Field lines have a token, a colon and a value without controls, and are not folded. Each part has one
//    Content-Disposition: form-data with one name (RFC 7578 4.2). Content-Disposition and Content-Type come once.
//  - filename* and name* are passed over: RFC 7578 4.2 forbids to send the encoding of RFC 5987, some clients send it
//    beside `filename`, and a second name would be one that others do not see.
//  - No part at all, "--boundary--", is what browsers send for an empty form, and no error.
// Content is given as it came: a Content-Transfer-Encoding (deprecated by RFC 7578 4.7) is a field line like others, a
// multipart within a part is data, and text is in whatever charset it has.
//
// An error is final for this body, but says nothing about the message around it: the connection may go on once the body
// has been read. An object is used by one thread at a time.
class multipart_decoder {
public:
    struct step {
        std::size_t consumed;
        multipart_event event;
        std::string_view data; // of event data
    };

    // Throws std::bad_alloc.
    explicit multipart_decoder(const multipart_limits& l = {});
    multipart_decoder(multipart_decoder&&) noexcept = default;
    multipart_decoder& operator=(multipart_decoder&&) noexcept = default;
    ~multipart_decoder() = default;

    // Begins a body, the first or another one. Returns what find_boundary() returns, and unless that is ok, next()
    // gives the same error.
    multipart_errc start(std::string_view content_type) noexcept;

    // Takes what it can of `input`, up to one event. A part is whole once part_end was said. To be called again with
    // what is left, also when that is empty, until need_more or error comes.
    step next(std::string_view input) noexcept;

    // The body has ended: `end`, or an error if it may not end here.
    step finish() noexcept;

    // Of the part that began last, while it lasts.
    const part_head& head() const noexcept { return head_; }

    // What was wrong, once a step was an error; ok before.
    multipart_errc error() const noexcept { return error_; }

private:
    // What the next byte is taken for.
    enum class state : std::uint8_t {
        preamble,
        data,
        part_ends,    // a delimiter was read, and part_end is to be said
        delimiter,    // behind a delimiter
        last_dash,    // behind a delimiter and '-'
        padding,      // blanks behind a delimiter
        delimiter_lf, // the LF of a delimiter
        line_first,   // the first byte of a field line, or the CR of the empty one
        field_name,
        field_value,
        field_lf,
        head_lf,      // the LF that ends a head
        last_padding, // blanks behind the last delimiter
        last_lf,      // its LF
        epilogue,
        failed,
    };

    step take(std::string_view input) noexcept;
    std::string_view content(std::string_view input, std::size_t& at) noexcept;
    std::string_view within_limit(std::string_view bytes) noexcept;
    multipart_errc delimiter_byte(char c) noexcept;
    multipart_errc head_byte(char c) noexcept;
    multipart_errc begin_content() noexcept;
    step fail(multipart_errc e, std::size_t consumed) noexcept;
    std::string_view delimiter() const noexcept { return {block_.get(), delimiter_size_}; }
    char* lines() const noexcept { return block_.get() + longest_delimiter; }

    static constexpr std::size_t longest_delimiter = 4 + longest_boundary;

    multipart_limits limits_;
    std::unique_ptr<char[]> block_; // the delimiter, field lines, decoded names
    part_head head_;
    std::uint64_t total_left_ = 0;
    std::uint64_t parts_left_ = 0;
    std::uint64_t content_left_ = 0; // of preamble, part or epilogue
    std::uint64_t fields_left_ = 0;
    std::size_t head_left_ = 0;
    std::size_t lines_size_ = 0;
    std::size_t delimiter_size_ = 0;
    std::size_t matched_ = 0;  // bytes of the delimiter that the input so far ends with
    std::size_t borrowed_ = 0; // of these, how many belong to what stands before the content
    state state_ = state::failed;
    multipart_errc error_ = multipart_errc::not_form_data;
};

} // namespace fastserve::http
