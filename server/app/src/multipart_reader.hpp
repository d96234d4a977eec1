// The parts of one request's body, as its handler asks for them.
//
// Ownership: shared by the request, from the first question on, and by the parts that its handler holds: so a coroutine
// that was left behind, and goes on after the request has ended, finds this and is told so (detach()). What it shows of
// the body is the request's.
//
// Thread safety: the thread of the handler.
//
// Invariants: `number_` is that of the part whose content may be asked for, if any; it goes up as soon as another one
// is asked for, so that no two handles are good at once. One operation at a time: `busy_`.
#pragma once

#include "context.hpp"

#include <fastserve/http/multipart.hpp>
#include <fastserve/multipart.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve::detail {

class offload_pool;

class multipart_reader {
public:
    using handle = std::shared_ptr<multipart_reader>;

    multipart_reader(context& x, const http::multipart_limits& l) : of_(&x), decoder_(l) {}

    // The request has ended, and its memory is somebody else's.
    void detach() noexcept { of_ = nullptr; }

    // For what must end although its coroutine does not go on; null once the request has ended.
    offload_pool* pool() const noexcept;

    // The operations of request and part. They are no members, because their coroutines keep what they work on.
    static awaitable<result<part>> next(context&, http::multipart_limits);
    static awaitable<result<chunk>> read(handle, std::uint64_t number);
    static awaitable<result<std::string>> text(handle, std::uint64_t number, std::size_t most);
    // Under `name`, or if `beside`, under one that is made of it.
    static awaitable<result<saved_file>> save(handle, std::uint64_t number, std::string directory, std::string name,
                                              bool beside);

private:
    using step = http::multipart_decoder::step;

    // The one operation that is under way.
    class turn {
    public:
        explicit turn(handle of) noexcept : of_(std::move(of)) { of_->busy_ = true; }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() { of_->busy_ = false; }

    private:
        handle of_;
    };

    // Why nothing can be done with that part now.
    static error_code refusal(const handle&, std::uint64_t number) noexcept;
    // Within a turn: the next piece of the part that is open.
    static awaitable<result<chunk>> piece(multipart_reader&);
    // The next event there is; need_more: more of the body must be read first, and given.
    step take() noexcept;
    error_code give(const result<chunk>&) noexcept;

    context* of_; // null: it has ended
    http::multipart_decoder decoder_;
    std::string_view rest_; // of the body's last piece, what was not decoded
    bool whole_ = false;    // the body has been read to its end
    bool open_ = false;     // a part has begun and not ended
    bool busy_ = false;
    std::uint64_t number_ = 0;
};

// The next piece of a streamed body: for request::read(), or `for_parts`.
awaitable<result<chunk>> read_body(context&, bool for_parts);

} // namespace fastserve::detail
