// One request and its response: what a handler works on.
//
// An exchange is not a connection (design 3.6): a suspended handler keeps its exchange after the socket is gone, and a
// protocol with streams will have many for one connection. Exchanges are pooled; reset() makes one ready for reuse and
// keeps what the response has grown.
//
// Lifetime of the request's bytes. A handler that was announced as plain (decision::plain) works on *borrowed* bytes:
// views into head and body are good until it returns, even if it answers later. For any other handler the exchange owns
// a copy before the handler runs, and views are good until reset().
//
// Thread safety: an exchange is used by one thread at a time, the one that runs its handler or the worker that serves
// its connection; only `peer_finished` may be read and written by both at once.
#pragma once

#include <fastserve/http/head.hpp>
#include <fastserve/http/limits.hpp>
#include <fastserve/http/response.hpp>
#include <fastserve/pool/buffer_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace fastserve::http {

// What is decided about a request once its head is known and before its body is read.
struct decision {
    // The response is complete already (an error page, 405, a redirect): no handler runs and the body is not read.
    bool answered = false;
    // The handler needs neither head nor body once it has returned, so that it may work on borrowed bytes.
    bool plain = true;
    // The most body bytes this route takes; more is answered 413.
    std::uint64_t body_bytes = 0;
    // How long the handler may take once it is suspended. Zero: no limit.
    std::chrono::milliseconds handler_timeout{0};
};

class exchange {
public:
    // For heads of up to limits::head_fields lines. Throws std::bad_alloc.
    explicit exchange(const limits& l) : lines_(std::make_unique<field_line[]>(l.head_fields)) {
        head.use_storage({lines_.get(), static_cast<std::size_t>(l.head_fields)});
    }
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    http::head head;
    std::string_view body; // the whole body, decoded; empty while it is still arriving
    http::response response;

    // The peer has shut down its sending side; it may still read the answer. Told while the handler is suspended.
    // Relaxed on both sides: nothing else is published by it.
    std::atomic<bool> peer_finished{false};

    // Only when no handler uses it any more. Releases what it owns of the request's bytes.
    void reset() noexcept {
        head.method = verb::unknown;
        body = {};
        peer_finished.store(false, std::memory_order_relaxed);
        response.reset();
        head_bytes_.reset();
        body_bytes_.reset();
        body_size_ = 0;
    }

private:
    friend class machine;

    std::unique_ptr<field_line[]> lines_;
    pool::buffer head_bytes_; // empty while the head is borrowed
    pool::buffer body_bytes_; // empty while the body is borrowed
    std::size_t body_size_ = 0;
};

} // namespace fastserve::http
