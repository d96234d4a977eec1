// The request as a handler sees it.
#pragma once

#include <fastserve/types.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace fastserve {

class worker;

namespace detail {
class context;

// Text from the wire as a T: the whole of it, or invalid_argument or result_out_of_range.
template <class T>
result<T> parse_as(std::string_view text) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        return T(text);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (text == "true" || text == "1") return true;
        if (text == "false" || text == "0") return false;
        return std::make_error_code(std::errc::invalid_argument);
    } else {
        static_assert(std::is_arithmetic_v<T>, "param<T> and query<T> take numbers, bool, std::string and string_view");
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{}) return std::make_error_code(error);
        if (end != text.data() + text.size()) return std::make_error_code(std::errc::invalid_argument);
        return value;
    }
}
} // namespace detail

// Lifetime: the request and every view it hands out are good until the handler ends; for a coroutine, until it returns;
// for a deferred answer, until the handler that deferred it returns. Copy what must live longer.
//
// Thread: the one the handler runs on. In debug builds, use after the end is reported with the route's name.
class request {
public:
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    http::verb method() const noexcept;
    // As sent, not decoded (RFC 9112 3.2).
    std::string_view target() const noexcept;
    // Without the query, not decoded.
    std::string_view path() const noexcept;
    // The whole body; empty if there is none.
    std::string_view body() const noexcept;
    // The host the request is for: the target's authority when it has one, else Host (RFC 9112 3.2.2).
    std::string_view host() const noexcept;
    // 0 or 1 for HTTP/1.x.
    unsigned version_minor() const noexcept;

    // The route that was found: its name, or its pattern if it was given none.
    std::string_view route_name() const noexcept;
    // What {name} matched, percent-decoded. Empty if the route has no such parameter.
    std::string_view param(std::string_view name) const;
    template <class T>
    result<T> param(std::string_view name) const {
        return detail::parse_as<T>(param(name));
    }
    // The first value of a key in the query, with + and percent-encoding decoded. no_such_key if it is not there,
    // illegal_byte_sequence if it is not valid encoding.
    result<std::string_view> query(std::string_view key) const;
    template <class T>
    result<T> query(std::string_view key) const {
        const auto text = query(key);
        if (!text) return text.error();
        return detail::parse_as<T>(*text);
    }

    // The value of the first line of this name, compared without regard to case. O(1) for well-known fields.
    std::optional<std::string_view> field(std::string_view name) const noexcept;
    // The value of a cookie (RFC 6265 5.4).
    std::optional<std::string_view> cookie(std::string_view name) const noexcept;

    address peer() const;
    // Asked to stop when the peer has left, the deadline has passed, or the server is being cut short. May be kept and
    // used on any thread.
    std::stop_token stop() const;
    // The peer has shut down its sending side; it may still read the answer.
    bool peer_finished() const noexcept;
    // The worker this request is served by.
    worker& on() const noexcept;

private:
    friend class detail::context;
    explicit request(detail::context& x) noexcept : x_(x) {}

    detail::context& x_;
};

} // namespace fastserve
