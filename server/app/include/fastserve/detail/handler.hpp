// Handlers of every accepted signature, behind one type.
#pragma once

#include <fastserve/request.hpp>
#include <fastserve/response.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fastserve::detail {

enum class handler_kind : std::uint8_t { plain, coroutine, blocking };

// Owned by its route, shared by all workers: calls run at the same time on several threads.
class handler {
public:
    explicit handler(handler_kind k) noexcept : kind(k) {}
    virtual ~handler() = default;
    // Only for plain and blocking ones.
    virtual void call(request&, response&) = 0;
    // Only for coroutines.
    virtual awaitable<> start(request&, response&) = 0;

    const handler_kind kind;
};

template <class H>
struct blocking_handler {
    H call;
};

template <class T>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<boost::asio::awaitable<T>> = true;
template <class T>
inline constexpr bool is_blocking = false;
template <class H>
inline constexpr bool is_blocking<blocking_handler<H>> = true;

template <class H>
decltype(auto) invoke(H& h, request& q, response& a) {
    if constexpr (std::invocable<H&, request&, response&>)
        return h(q, a);
    else if constexpr (std::invocable<H&, request&>)
        return h(q);
    else
        return h();
}

template <class H>
concept invocable_handler =
    std::invocable<H&, request&, response&> || std::invocable<H&, request&> || std::invocable<H&>;

// For a plain handler's text, which is written as soon as the handler has returned: not copied before.
struct lender {
    static void text(response&, std::string_view);
};

// A handler that returns a value answers 200 with it. `at_once`: a view of text is as good when the answer is written.
template <class T>
void respond(response& a, T&& value, bool at_once) {
    using V = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<V, std::string>)
        a.text(std::string(std::forward<T>(value)));
    else if constexpr (std::convertible_to<T, std::string_view>)
        at_once ? lender::text(a, value) : a.text(std::string_view(value));
    else {
        static_assert(
            std::is_same_v<V, boost::json::value>,
            "a handler returns void, a string, a string_view, a boost::json::value, or an awaitable of these");
        a.json(value);
    }
}

template <class H>
class typed_handler final : public handler {
    using returned = decltype(invoke(std::declval<H&>(), std::declval<request&>(), std::declval<response&>()));

public:
    explicit typed_handler(H h, handler_kind k = is_awaitable<returned> ? handler_kind::coroutine : handler_kind::plain)
        : handler(k), h_(std::move(h)) {}

    void call(request& q, response& a) override {
        if constexpr (std::is_void_v<returned>)
            invoke(h_, q, a);
        else if constexpr (!is_awaitable<returned>)
            respond(a, invoke(h_, q, a), kind == handler_kind::plain);
    }

    awaitable<> start(request& q, response& a) override {
        if constexpr (std::is_same_v<returned, awaitable<>>)
            return invoke(h_, q, a);
        else if constexpr (is_awaitable<returned>)
            return start_with_value(q, a);
        else
            return {};
    }

private:
    awaitable<> start_with_value(request& q, response& a) { respond(a, co_await invoke(h_, q, a), false); }

    H h_;
};

template <class H>
std::unique_ptr<handler> make_handler(H h) {
    if constexpr (is_blocking<H>) {
        using inner = decltype(h.call);
        static_assert(invocable_handler<inner>, "a handler takes (request&, response&), (const request&) or nothing");
        static_assert(!is_awaitable<decltype(invoke(std::declval<inner&>(), std::declval<request&>(),
                                                    std::declval<response&>()))>,
                      "a coroutine cannot be blocking(): let it await offload()");
        return std::make_unique<typed_handler<inner>>(std::move(h.call), handler_kind::blocking);
    } else {
        static_assert(invocable_handler<H>, "a handler takes (request&, response&), (const request&) or nothing");
        return std::make_unique<typed_handler<H>>(std::move(h));
    }
}

} // namespace fastserve::detail
