// Middleware of every accepted signature, behind one type.
#pragma once

#include <fastserve/middleware.hpp>
#include <fastserve/types.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace fastserve::detail {

// Owned by the routes that use it, shared by all workers: calls run at the same time on several threads. Each kind has
// a call of its own, and only that is made.
class middleware {
public:
    enum class kind : std::uint8_t { before, around, after };

    explicit middleware(kind k, bool reads = false) noexcept : of(k), reads_request(reads) {}
    virtual ~middleware() = default;
    virtual verdict before(request&, response&) { return go_on; }
    virtual awaitable<> around(request&, response&, next) { return {}; }
    virtual void after(request&, response&) {}

    const kind of;
    const bool reads_request; // after()
};

template <class M>
class typed_before final : public middleware {
public:
    explicit typed_before(M m) : middleware(kind::before), m_(std::move(m)) {}

    verdict before(request& q, response& a) override {
        if constexpr (std::is_void_v<std::invoke_result_t<M&, request&, response&>>) {
            m_(q, a);
            return go_on;
        } else {
            return m_(q, a);
        }
    }

private:
    M m_;
};

template <class M>
class typed_around final : public middleware {
public:
    explicit typed_around(M m) : middleware(kind::around), m_(std::move(m)) {}

    awaitable<> around(request& q, response& a, next rest) override { return m_(q, a, std::move(rest)); }

private:
    M m_;
};

template <class F>
class typed_after final : public middleware {
    static constexpr bool reads = std::invocable<F&, request&, response&>;

public:
    explicit typed_after(F f) : middleware(kind::after, reads), f_(std::move(f)) {}

    void after(request& q, response& a) override {
        if constexpr (reads)
            f_(q, a);
        else
            f_(a);
    }

private:
    F f_;
};

template <class M>
inline constexpr bool is_after = false;
template <class F>
inline constexpr bool is_after<after_hook<F>> = true;

template <class M>
std::unique_ptr<middleware> make_middleware(M m) {
    if constexpr (is_after<M>) {
        using inner = decltype(m.call);
        static_assert(std::invocable<inner&, request&, response&> || std::invocable<inner&, response&>,
                      "after() takes a void(request&, response&) or a void(response&)");
        return std::make_unique<typed_after<inner>>(std::move(m.call));
    } else if constexpr (std::invocable<M&, request&, response&, next>) {
        static_assert(std::is_same_v<std::invoke_result_t<M&, request&, response&, next>, awaitable<>>,
                      "middleware that takes next is a coroutine: awaitable<>(request&, response&, next)");
        return std::make_unique<typed_around<M>>(std::move(m));
    } else {
        static_assert(std::invocable<M&, request&, response&>,
                      "middleware takes (request&, response&), and a coroutine next besides, or is given to after()");
        using said = std::invoke_result_t<M&, request&, response&>;
        static_assert(std::is_void_v<said> || std::is_same_v<said, verdict>,
                      "middleware returns go_on or answered, or nothing; a coroutine takes next, too");
        return std::make_unique<typed_before<M>>(std::move(m));
    }
}

} // namespace fastserve::detail
