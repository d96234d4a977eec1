// multipart/form-data, part by part, as it comes (RFC 7578): what request::next_part() gives.
//
//     app.post("/upload", [](request& q, response& a) -> awaitable<> {
//         for (;;) {
//             auto p = co_await q.next_part();
//             if (!p) {
//                 a.problem(status_of(p.error()), p.error().message());
//                 co_return;
//             }
//             if (p->is_end()) break;
//             const auto saved = co_await p->save("/var/lib/uploads");
//             if (!saved) ...
//         }
//         a.text("thank you");
//     }, {.body = body::streamed, .max_body = 1 << 30});
//
// What one body may have of parts, bytes and names is said by http::multipart_limits (<fastserve/http/multipart.hpp>),
// which also says how the grammar is read.
#pragma once

#include <fastserve/http/multipart.hpp>
#include <fastserve/request.hpp>
#include <fastserve/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fastserve {

namespace detail {
class multipart_reader;
}

// A file that was made of a part.
struct saved_file {
    std::string path; // the directory as it was given, '/', and the name
    std::uint64_t bytes{};
};

// One part of a body.
//
// Lifetime: its views, and what it can do, are good until the next part is asked for, and as long as the request. It
// may be moved between two calls.
//
// Thread: that of the request's handler; one operation of a request at a time.
//
// Errors, never thrown unless it is said: those of request::next_part(); past, once another part was asked for. After
// one of http::multipart_errc or http::errc nothing more comes of this body.
class part {
public:
    // The end of the body.
    part() noexcept = default;

    // There was no further part: this is none, and has neither names nor content.
    bool is_end() const noexcept { return !of_; }

    // The form's field that it belongs to; several parts may have the same.
    std::string_view name() const noexcept { return head_.name; }
    // As the client has sent it: a file's name or path, of any characters. Empty where a form's user has chosen no
    // file; nothing if the part is no file.
    std::optional<std::string_view> filename() const noexcept { return head_.filename; }
    // What of it can be a file's name anywhere (<fastserve/http/safe_filename.hpp>); empty if the part is no file.
    std::string_view safe_filename() const noexcept { return head_.safe_filename; }
    // As sent, which proves nothing; "text/plain" where the part does not say.
    std::string_view content_type() const noexcept { return head_.content_type; }
    // The value of the part's first field line of this name, compared without regard to case.
    std::optional<std::string_view> field(std::string_view field_name) const noexcept {
        return head_.field(field_name);
    }

    // The next piece of the content: what has arrived, as soon as something has, and good until the next question. An
    // empty piece is the end.
    awaitable<result<chunk>> read();

    // All that is still to be read, for the values of short fields. errc::too_large if it is more than `most` bytes.
    awaitable<result<std::string>> text(std::size_t most = 64 * 1024);

    // Writes what is still to be read into a new file in `directory`, on the offload pool, so that no worker waits for
    // a disk. It is named as the client wants, as far as that is safe (safe_filename(), or the same of name() if the
    // part is no file); where that name is taken, something is put in before the extension. What is there is never
    // replaced or followed, be it a link. The file has its name only once it is complete, and belongs to its owner
    // alone (0600).
    //
    // What ends early, by whatever error, limit or exception, leaves no file. (Where the file system knows no files
    // without a name, it is called ".fastserve-" and a number meanwhile, and stays if the process is killed.) What was
    // saved is the handler's, also when a later part fails, or the delimiter that ended this one is malformed, which
    // the next question tells. Nothing is synced.
    //
    // Errors: also the system's (no_such_file_or_directory, permission_denied, no_space_on_device, ...). After one of
    // those the next part can be asked for. Throws what offload() throws: when its queue is full, what is answered 503
    // with Retry-After if nobody catches it.
    awaitable<result<saved_file>> save(std::string directory);
    // The same with a name of yours, which should not be the client's. errc::malformed unless it is one component of a
    // path; file_exists if it is taken.
    awaitable<result<saved_file>> save_as(std::string directory, std::string file_name);

private:
    friend class detail::multipart_reader;
    part(std::shared_ptr<detail::multipart_reader> of, std::uint64_t number, const http::part_head& head) noexcept;

    std::shared_ptr<detail::multipart_reader> of_; // null: the end
    std::uint64_t number_ = 0;
    http::part_head head_;
};

} // namespace fastserve
