// What to answer to GET and HEAD for one representation of a file (RFC 9110 13 and 14): the status, the fields, and
// which bytes to send.
//
// Pure: nothing is opened or read, and the time is told. Any thread; an object by one at a time.
#pragma once

#include <fastserve/files/representation.hpp>
#include <fastserve/http/byte_ranges.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fastserve::http {
struct head;
class response;
} // namespace fastserve::http

namespace fastserve::files {

// Room for any tag that is written here.
inline constexpr std::size_t longest_etag = 48;

// Writes the ETag of a representation, with its quotes, and returns its length: the size in hexadecimal, a hash of
// time, inode and device, and the coding if there is one ("\"1f4-9b3c01d2e5f60718-br\""). The hash tells nobody which
// inode it is.
//
// It is strong: content that changes gets another time or another inode. Not told apart are two changes in place, of
// the same size, within one tick of the file system's clock (some milliseconds), and files whose time somebody set
// back. Who replaces files by renaming new ones is safe from both.
std::size_t write_etag(const representation& of, char (&out)[longest_etag]) noexcept;

// What is sent next: first the text, then that part of the file.
struct piece {
    std::string_view text{}; // until the plan is moved or destroyed
    http::byte_range range{};
};

class plan {
public:
    // `request` is a GET or HEAD: other methods are the router's to refuse. `now` is Unix time in seconds, at most what
    // the answer's Date says. `seed` goes into the boundary of a multipart answer: who fills a file cannot guess it if
    // nobody can guess the seed.
    //
    // Views of `of` must live as long as the plan. Throws std::bad_alloc, for several ranges only.
    //
    // Last-Modified is sent, and dates in conditions are looked at, once the second that it names is over. The date can
    // then not stand for two states of the file, so that If-Range may rely on it (RFC 9110 8.8.2.2), and it is not in
    // the future (8.8.2.1). A time of 0 or before is none: it is what is left where nobody kept it.
    //
    // Several ranges are sent as multipart/byteranges. The whole is sent instead if the parts with their heads would be
    // longer, if there are more than http::most_byte_ranges, and if the representation is a coded one: whether its
    // coding is that of each part or of all of them together, recipients read differently.
    plan(const http::head& request, const representation& of, std::int64_t now, std::uint64_t seed = 0);

    // 200, 206, 304, 412 or 416.
    int status() const noexcept { return status_; }

    // Of the content, in bytes: with 200 and 206, also for HEAD, what GET would send. Otherwise 0.
    std::uint64_t length() const noexcept { return length_; }

    // What the content is made of, together length() bytes: none for HEAD and where there is no content.
    std::size_t pieces() const noexcept { return piece_count_; }
    piece operator[](std::size_t index) const noexcept;

    // With its quotes.
    std::string_view etag() const noexcept { return {etag_, etag_size_}; }

    // Sets the status and all fields but the length of a body, and content_length(), which counts where the body is not
    // in memory. The body is the caller's part: a stream of the pieces, or nothing. Throws std::bad_alloc.
    //  200, 206: Content-Type, Content-Encoding, ETag, Last-Modified, Accept-Ranges, Cache-Control, Vary; 206 with
    //            Content-Range, in its parts if it is multipart
    //  304:      ETag, Last-Modified, Cache-Control, Vary
    //  412:      none
    //  416:      Content-Range, Accept-Ranges
    void write_to(http::response& answer) const;

private:
    struct part {
        std::size_t text_end = 0; // in text_; its text begins where that of the part before ends
        http::byte_range range{};
    };

    bool take_ranges(std::span<const http::byte_range> ranges, std::uint64_t seed);
    void add_piece(http::byte_range range) noexcept { parts_[piece_count_++] = {text_.size(), range}; }

    representation of_;
    std::optional<std::int64_t> last_modified_;
    int status_ = 200;
    std::uint64_t length_ = 0;
    std::size_t piece_count_ = 0;
    std::array<part, http::most_byte_ranges + 1> parts_; // the last one of several is the end of the multipart body
    std::string text_;
    std::string multipart_type_; // Content-Type, if there are several parts
    std::uint8_t etag_size_ = 0;
    char etag_[longest_etag];
};

} // namespace fastserve::files
