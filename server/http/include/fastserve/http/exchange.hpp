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
// Bodies in pieces. A handler whose request was decided to be streamed starts after the head and takes the body piece
// by piece; any suspended handler may send its response's body so. Both go through the machine (machine.hpp), one piece
// at a time.
//
// Thread safety: an exchange is used by one thread at a time, the one that runs its handler or the worker that serves
// its connection; only `peer_finished` may be read and written by both at once.
#pragma once

#include <fastserve/http/chunked.hpp>
#include <fastserve/http/head.hpp>
#include <fastserve/http/head_parser.hpp>
#include <fastserve/http/limits.hpp>
#include <fastserve/http/response.hpp>
#include <fastserve/http/serializer.hpp>
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
    // The handler starts now and asks for the body with machine::on_body_wanted(). Never plain.
    bool streamed = false;
    // The most body bytes this route takes; more is answered 413.
    std::uint64_t body_bytes = 0;
    // How long the handler may take once it is suspended. Zero: no limit.
    std::chrono::milliseconds handler_timeout{0};
};

class exchange {
public:
    // For heads of up to limits::head_fields lines. Throws std::bad_alloc.
    explicit exchange(const limits& l) : lines_(std::make_unique<field_line[]>(l.head_fields)), parser_() {
        head.use_storage({lines_.get(), static_cast<std::size_t>(l.head_fields)});
    }
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    http::head head;
    // The whole body, decoded; empty while it is still arriving. Of a streamed one the piece that was handed over last,
    // good until the next one is asked for.
    std::string_view body;
    // The lines of the trailer section behind a chunked body, each with its CRLF, once that is whole: kept apart from
    // the head's, and text until somebody asks (find_trailer).
    std::string_view request_trailers;
    http::response response;

    // Of a streamed body: more of it may come, and why it ended before it was whole.
    bool body_open = false;
    errc body_error = errc::ok;
    // A piece came with the head, and the handler has not been given it.
    bool body_waits = false;

    // What the handler sends next: lent until action::written is done.
    std::string_view outgoing;
    // Behind the last chunk (RFC 9112 7.1.2).
    field_block trailers;
    // The head of the response has been written: it, and the kind of its body, are settled.
    bool head_sent = false;
    // The response was begun and cannot be completed: the connection ends, so that the peer notices.
    bool broken = false;
    // How much the handler has still to give of a body whose length was announced, be it sent or not (HEAD).
    std::uint64_t outgoing_left = 0;

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
        if (rare_ || head_sent || !trailers.empty()) [[unlikely]]
            reset_rare();
    }

private:
    friend class machine;

    void reset_rare() noexcept {
        request_trailers = {};
        trailer_bytes_.reset();
        rare_ = body_open = body_waits = piece_filled_ = continued_ = head_sent = broken = false;
        body_error = errc::ok;
        outgoing = {};
        trailers.clear();
        outgoing_left = 0;
        framing_ = body_framing::none;
        rate_from_ms_ = rate_rest_ = 0;
    }

    std::unique_ptr<field_line[]> lines_;

    // Where the machine is in this request, set as it goes: what it has to remember only while an exchange is in work
    // lies here, so that an idle connection does not carry it.
    union {
        head_parser parser_;      // until the head is whole
        chunked_decoder decoder_; // from then on
    };
    std::uint64_t body_left_ = 0;     // of a body framed by its length
    std::uint64_t body_received_ = 0; // in this phase
    std::string_view external_;       // the unsent part of a body that is not copied; empty unless machine::lends_
    std::chrono::milliseconds handler_timeout_{0};

    pool::buffer head_bytes_; // empty while the head is borrowed
    pool::buffer body_bytes_; // empty while the body is borrowed
    std::size_t body_size_ = 0;
    pool::buffer trailer_bytes_;
    bool rare_ = false; // a body in pieces, or trailers: something of what follows, or of the above, was used

    // Bodies in pieces.
    bool piece_filled_ = false; // there may be more than there was room for
    bool continued_ = false;    // the body is on its way: 100 Continue was sent, or is not waited for
    body_framing framing_ = body_framing::none;
    std::uint64_t rate_from_ms_ = 0;   // what the body's rate is measured from; 0: nothing was asked for yet
    std::uint64_t rate_rest_ = 0;      // what bytes have earned beyond it: less than a millisecond, times the rate
    std::uint64_t rate_paused_ms_ = 0; // since when the handler does not ask
};

} // namespace fastserve::http
