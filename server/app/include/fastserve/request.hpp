// The request as a handler sees it.
#pragma once

#include <fastserve/error.hpp>
#include <fastserve/http/error.hpp>
#include <fastserve/types.hpp>

#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace fastserve {

class form_data;   // form.hpp
class form_values; // form.hpp
class part;        // multipart.hpp
class request;
class worker;

namespace http {
struct field_line;
struct head;
struct multipart_limits;
} // namespace http

namespace detail {
class context;
struct file_access;
bool runs_on_worker(const request&) noexcept;

// Spelled out, because a result<bool> or result<std::string> could be made of many things.
template <class T>
result<T> good(T&& value) {
    return {boost::system::in_place_value, std::forward<T>(value)};
}
template <class T>
result<T> bad(errc e) {
    return {boost::system::in_place_error, make_error_code(e)};
}

// Text from the wire as a T: the whole of it, or errc::malformed or errc::out_of_range.
template <class T>
result<T> parse_as(std::string_view text) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        return good(T(text));
    } else if constexpr (std::is_same_v<T, bool>) {
        if (text == "true" || text == "1") return good(true);
        if (text == "false" || text == "0") return good(false);
        return bad<T>(errc::malformed);
    } else {
        static_assert(std::is_arithmetic_v<T>, "param<T> and query<T> take numbers, bool, std::string and string_view");
        T value{};
        const char* const all = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), all, value);
        if (end != all || error == std::errc::invalid_argument) return bad<T>(errc::malformed);
        if (error != std::errc{}) return bad<T>(errc::out_of_range);
        return good(std::move(value));
    }
}
} // namespace detail

// A piece of a streamed body. Good until the next read() of its request, and until the handler ends.
struct chunk {
    std::string_view bytes;

    bool empty() const noexcept { return bytes.empty(); }
    operator std::string_view() const noexcept { return bytes; }
};

// The values of the field lines of one name, in order: for (const std::string_view value : q.fields("Accept")). Lines
// of one name form one list (RFC 9110 5.3). Good as long as the views of its request; allocates nothing.
class field_values {
public:
    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = std::string_view;

        iterator() = default;
        std::string_view operator*() const noexcept;
        iterator& operator++() noexcept;
        iterator operator++(int) noexcept {
            const iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.line_ == b.line_; }

    private:
        friend class request;
        iterator(const http::head* of, const http::field_line* line) noexcept : of_(of), line_(line) {}

        const http::head* of_ = nullptr;
        const http::field_line* line_ = nullptr; // null: the end
    };

    iterator begin() const noexcept { return begin_; }
    iterator end() const noexcept { return {}; }
    bool empty() const noexcept { return begin_ == end(); }

private:
    friend class request;
    explicit field_values(iterator begin) noexcept : begin_(begin) {}

    iterator begin_;
};

// Lifetime: the request and every view it hands out are good until the handler ends; for a coroutine, until it returns;
// for a deferred answer, until the handler that deferred it returns. Copy what must live longer. A debug build of the
// library names the route of who uses it later, and ends the program.
//
// Thread: the one the handler runs on.
//
// Errors: what is not there is nullopt, empty or errc::missing; nothing throws but std::bad_alloc.
class request {
public:
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    http::verb method() const noexcept;
    // As sent, not decoded (RFC 9112 3.2).
    std::string_view target() const noexcept;
    // Without the query, not decoded.
    std::string_view path() const noexcept;
    // The whole body; empty if there is none, and on a streamed route.
    std::string_view body() const noexcept;
    // The next piece of the body of a streamed route (route_options::body): what has arrived, as soon as something has.
    // An empty piece is the end. The peer is held back while nobody asks, its time for the body stands still, and it
    // is told to go on (100 Continue, RFC 9110 10.1.1) by the first question: a handler that answers without reading
    // refuses the body unsent.
    //
    // Errors, never thrown: why the body ends before it is whole, after which the request is answered without the
    // handler (an http::errc: 400, 408 or 413), disconnected, cancelled (the body is not lost: read again), busy,
    // not_streamed, taken.
    //
    // Read with a limit of time: Asio's operator || drops the value of what it did not choose, so that a piece which
    // comes in the same moment as the timer would be lost. Let a coroutine of one's own store it:
    //
    //     auto into = [&]() -> awaitable<> { piece = co_await q.read(); }; // a std::optional<result<chunk>>
    //     co_await (into() || awaitable<>(sleep_for(1s)));
    awaitable<result<chunk>> read();
    // The next part of a multipart/form-data body on a streamed route; what of the part before was not read is passed
    // over. Behind the last one it is a part that is_end(), however often it is asked for; see multipart.hpp.
    //
    // Limits: those of the first call. Without them http::multipart_limits as they are by default, and in all as much
    // as the route takes (route_options::max_body), else limits::body_bytes.
    //
    // Errors, never thrown: those of http::multipart_errc, which are final; those of read(); taken, after read() was
    // asked. With not_form_data, or another fault of Content-Type, nothing was read, and read() can be.
    awaitable<result<part>> next_part();
    awaitable<result<part>> next_part(const http::multipart_limits&);
    // The host the request is for: the target's authority when it has one, else Host (RFC 9112 3.2.2).
    std::string_view host() const noexcept;
    // 0 or 1 for HTTP/1.x.
    unsigned version_minor() const noexcept;

    // The route that was found: its name, or its pattern if it was given none.
    std::string_view route_name() const noexcept;
    // What {name} matched, percent-decoded (RFC 3986 2.1). Empty if the route has no such parameter.
    std::string_view param(std::string_view name) const;
    // The same as a number, bool (true, false, 1 or 0) or string: errc::malformed, out_of_range, or missing.
    template <class T>
    result<T> param(std::string_view name) const {
        const auto text = find_param(name);
        if (!text) return detail::bad<T>(errc::missing);
        return detail::parse_as<T>(*text);
    }
    // The first value of a key in the query, with + and percent-encoding decoded as forms write them; empty for a key
    // without '='. errc::missing or bad_encoding.
    result<std::string_view> query(std::string_view key) const;
    template <class T>
    result<T> query(std::string_view key) const {
        const auto text = query(key);
        if (!text) return {boost::system::in_place_error, text.error()};
        return detail::parse_as<T>(*text);
    }

    // All values of a key in the query, decoded likewise, in the order in which they stand; none if there is no such
    // key. errc::bad_encoding. Give the result a name before going over it: for (... : *q.queries("k")) loses it.
    result<form_values> queries(std::string_view key) const;
    // The body as a form (application/x-www-form-urlencoded), decoded; form.hpp says what can be asked of it. It is
    // decoded each time: keep the result. One pair that cannot be decoded is an error of the whole form.
    //
    // Errors: wrong_type (another Content-Type, or none, or a compressed body), too_many (limits::form_pairs),
    // bad_encoding, not_whole. status_of() has the status that answers each.
    result<form_data> form() const;

    // The value of the first line of this name, compared without regard to case. O(1) for well-known fields.
    std::optional<std::string_view> field(std::string_view name) const noexcept;
    // Those of all lines of this name. The name need not outlive the call.
    field_values fields(std::string_view name) const noexcept;
    // Which of these media types the client would rather have (Accept, RFC 9110 12.5.1): the one of the highest weight,
    // of equal ones the first, and the first of all when the client says nothing of it. Nothing when it takes none of
    // them: answer 406, or send what you have all the same. The answer depends on the field, which caches must be told:
    //
    //     a.add("Vary", "Accept");
    //     const auto type = q.accepts({"text/html", "application/json"});
    //     if (!type) return a.problem(406, "");
    //
    // The types are well formed, perhaps with parameters ("text/html;charset=utf-8"), and at most 16: what is behind
    // them is never chosen. The view returned is the one given.
    std::optional<std::string_view> accepts(std::span<const std::string_view> types) const noexcept;
    std::optional<std::string_view> accepts(std::initializer_list<std::string_view> types) const noexcept {
        return accepts(std::span(types.begin(), types.size()));
    }
    // The value of the first line of this name in the trailer section behind a chunked body (RFC 9110 6.5): from the
    // start of the handler if the body comes as a whole, else once read() has said its end. Trailers are never among
    // the fields above, and what must stand in the head is not found among them: fields of framing, routing,
    // authentication, conditions and controls, and of the content's format (RFC 9110 6.5.1).
    std::optional<std::string_view> trailer(std::string_view name) const noexcept;
    // The value of the first cookie of this name, as it was sent (RFC 6265 4.2).
    std::optional<std::string_view> cookie(std::string_view name) const noexcept;

    address peer() const;
    // Asked to stop when the peer has left, the deadline has passed, or the server is being cut short; the answer will
    // then reach nobody. May be kept and used on any thread. Callbacks run on the worker and must not throw.
    std::stop_token stop() const;
    // The peer has shut down its sending side; it may still read the answer.
    bool peer_finished() const noexcept;
    // The worker this request is served by.
    worker& on() const noexcept;

private:
    friend class detail::context;
    friend struct detail::file_access;
    friend bool detail::runs_on_worker(const request&) noexcept;
    explicit request(detail::context& x) noexcept : x_(x) {}
    std::optional<std::string_view> find_param(std::string_view name) const;

    detail::context& x_;
};

} // namespace fastserve
