// HTTP/1.x on one connection, as a state machine without I/O (RFC 9112).
//
// The machine is told what happened and answers with one `step`: what its owner does next. It never sees a socket, a
// clock or a thread: bytes come in through the area it names, the time is a number in the turn, and what is to be sent
// lies in the spans of output(). One function of the owner interprets the steps:
//
//     step s = m.on_input(turn, n);
//     for (;;) switch (s.next) {
//         case action::route:  s = m.on_decision(turn, decide(*m.current())); break;
//         case action::handle: s = run(*m.current()) ? m.on_answer(turn) : m.on_suspended(turn); break;
//         ...
//
// A suspended handler may ask for the next piece of its request's body (on_body_wanted) or have a piece of its response
// sent (on_write, on_interim), one after the other; `body` and `written` are the answers, unless it gives up waiting.
//
// Actions other than route, handle and body begin with sending what is ready. When not all of it could be sent,
// on_sent() keeps the rest, and nothing else is done until it is sent too; then resume(), which is allowed at any time
// between turns and says again what is to be done.
//
// Invariants
// * At most one exchange is in work. While it waits, nothing behind it is parsed and nothing is read.
// * Answers leave in the order of the requests, and those that are ready leave together: the turn's output is sent
// once.
// * No head is parsed while output of an earlier turn is unsent (back-pressure), and the unsent rest is bounded by one
//   turn's output and one response.
// * Received bytes that wait are bounded by one turn's input and what limits allow one request.
// * An idle connection holds no buffer and no exchange. A piece of a streamed body that has not come holds no buffer,
//   unless the one before has taken all the room it had.
// * Memory that is refused ends in an answer (503) and the end of the connection, never in a request half served.
//
// Thread safety: none; a machine is used by the worker that serves its connection.
#pragma once

#include <fastserve/http/error.hpp>
#include <fastserve/http/exchange.hpp>
#include <fastserve/http/limits.hpp>
#include <fastserve/http/serializer.hpp>
#include <fastserve/pool/buffer_pool.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fastserve::http {

enum class action : std::uint8_t {
    route,   // the head is known: decide about current(), then on_decision()
    handle,  // the request is whole: run the handler of current(), then on_answer() or on_suspended()
    read,    // send what is ready, then receive into input_area() and call on_input()
    flush,   // send what is ready, then call resume()
    later,   // send what is ready, let other connections have their turn, then call resume()
    wait,    // send what is ready; the handler has the word: on_answer() when it finished, sent or not
    body,    // hand current()->body to the suspended handler: a piece, or if it is empty the end; then as wait
    written, // send what is ready; once all is sent on_written(), and tell the suspended handler that its piece is out
    linger,  // send what is ready, shut down the sending side, then receive and drop until the peer closes
    close,   // send what is ready, then close
};

struct step {
    action next;
};

// Words what a machine refuses by itself once the route of a request is known: a body that is too large or too slow, a
// handler that is too late, and what there is no memory for.
class refusal_writer {
public:
    // Fills the response of `page`, which has none yet, with a status, fields and a whole body; it is sent if it fits
    // the turn's output. `page` is `refused`, or, where its handler has that, another exchange, reset. False: the
    // reason will do.
    virtual bool word_refusal(const exchange& refused, exchange& page, int status) noexcept = 0;

protected:
    ~refusal_writer() = default;
};

// A worker's workspace, lent to one machine at a time. Nothing in it outlives the turn but what the machine copies.
struct turn {
    const http::limits& limits;
    pool::buffer_cache& buffers;
    const response_templates& templates;

    // Where bytes are received that no connection owns. The area is followed by parse_padding readable bytes.
    std::span<char> input{};
    // Where answers are gathered, and how much of it is filled. An answer whose head does not fit is a 500, and one
    // that is refused early needs 512 bytes: 64 KiB is a sensible size.
    std::span<char> output{};
    std::size_t output_size = 0;

    // An exchange at hand, reset; a machine takes it from here and gives back to here. Without one a request is
    // answered 503.
    exchange* spare = nullptr;
    // A second one, given back while `spare` was at hand: the owner takes it after the turn.
    exchange* returned = nullptr;

    std::uint64_t now_ms = 0; // monotonic
    bool draining = false;    // answers carry Connection: close

    // Used by the machine: what is received and not parsed yet.
    char* at = nullptr;
    char* end = nullptr;
    unsigned requests = 0;

    // Null: the body of what is refused is the reason.
    refusal_writer* refusals = nullptr;

    // Before each turn of a connection.
    void begin() noexcept {
        output_size = 0;
        requests = 0;
        at = end = nullptr;
    }
};

class machine {
public:
    machine() noexcept = default;
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    // A fresh connection. The exchange and buffers of the one before must have been given up by abandon().
    void start(std::uint64_t now_ms) noexcept;

    // A connection that is only told why it is not served (an error status): the answer is ready at once.
    step refuse(turn&, int status) noexcept;

    // Where to receive, after action::read or action::linger. Never empty.
    std::span<char> input_area(turn&) noexcept;

    // `size` bytes were received into input_area(), at least one.
    step on_input(turn&, std::size_t size) noexcept;
    // The peer has shut down its sending side. Where the machine asked to read, this is for the end of the stream that
    // receiving reported; while it waits or has output unsent, the system's hint is enough: what was sent before is
    // still served, action::read then means to receive at once, and the end is reported again when it is met.
    step on_peer_finished(turn&) noexcept;
    step on_decision(turn&, const decision&) noexcept;
    // The handler left current().response complete. Its views into the request end here.
    step on_answer(turn&) noexcept;
    // The handler will finish later.
    step on_suspended(turn&) noexcept;
    // The suspended handler asks for the next piece of a streamed body. Bytes that arrive between pieces stay with the
    // system: that is the back-pressure. 100 Continue goes out with the first question.
    step on_body_wanted(turn&) noexcept;
    // The suspended handler sends current()->outgoing, which it lends until `written` is done or the exchange is taken
    // from the machine. The first piece, which may be empty, sends the head: the response is a stream from then on, of
    // content_length() bytes if that was given, else chunked. on_answer() ends it.
    step on_write(turn&) noexcept;
    // The suspended handler sends an interim response (RFC 9110 15.2) with the fields that its response has by now,
    // before any piece. Nothing is sent to HTTP/1.0 clients.
    step on_interim(turn&, int status) noexcept;
    // All that on_write() or on_interim() made ready is sent.
    void on_written() noexcept;
    // The suspended handler does not wait any longer for what it has asked for, if it did. A piece of the body stays
    // with the system, and the peer's time for it stands still. What is being sent is not lent any more: what of it is
    // out is the last of the answer.
    void on_given_up(std::uint64_t now_ms) noexcept;
    // Says what is to be done next, after all was sent.
    step resume(turn&) noexcept;
    // Instead of action::close: the peer has sent more, and closing on it would be a reset.
    step linger(turn&) noexcept;
    // The time is deadline_ms() or later.
    step on_deadline(turn&) noexcept;

    // What is to be sent now, in order. Some of it lies in the turn.
    std::array<std::string_view, 4> output(const turn&) const noexcept;
    // The first `size` bytes of output() were sent. What is left is kept by the machine: `turn` is free afterwards.
    // False: no memory for the rest, which is lost; close the connection at once.
    bool on_sent(turn&, std::size_t size) noexcept;
    bool has_unsent() const noexcept { return unsent_ != 0 || lends_ || chunk_end_left_ != 0; }

    // The exchange in work, or null.
    exchange* current() const noexcept { return exchange_; }
    // Takes the exchange in work from the machine: its handler goes on without a connection, and what it has lent is
    // its own again.
    exchange* detach() noexcept;
    // The connection ends: gives up all buffers and hands out the exchange in work (null if there is none). If
    // suspended() said so before, a handler still uses it.
    exchange* abandon() noexcept;

    // When on_deadline() is due, in the turn's clock; 0: never. Changes only by the calls above.
    std::uint64_t deadline_ms(const limits&) const noexcept;
    // Between requests, with nothing received and nothing unsent: may be moved to another worker.
    bool idle() const noexcept { return phase_ == phase::idle && !has_unsent() && unparsed() == 0; }
    // The same, but that empty lines, which begin no request, may have come: may be closed without loss.
    bool between_requests() const noexcept {
        return idle() || (phase_ == phase::head && !has_unsent() && !exchange_->parser_.started());
    }
    bool lingering() const noexcept { return phase_ == phase::lingering; }
    // The end of the connection is the end of the answer that is being sent, which is not whole: it must be reset,
    // since an orderly end would tell the peer that this was all (RFC 9112 8).
    bool must_reset() const noexcept { return open_ended_; }
    // current() is a suspended handler's: the machine never gives it back by itself, not even after a deadline; take it
    // with detach() or abandon(), or say on_answer().
    bool suspended() const noexcept { return exchange_ != nullptr && phase_ >= phase::suspended; }
    // ... which waits for a piece of the body: there is something to receive for it.
    bool reading() const noexcept { return phase_ == phase::reading; }
    // Answered so far, and since when.
    std::uint64_t requests() const noexcept { return requests_; }
    std::uint64_t started_ms() const noexcept { return started_ms_; }

private:
    enum class phase : std::uint8_t {
        idle,      // between requests; the next ones may wait in input_ for their turn
        head,      // some bytes of a head have been looked at, and lie in input_
        deciding,  // the head is whole, its route is being asked for
        body,      // the rest of a whole body is awaited
        handling,  // the handler runs
        answering, // the answer waits for room in the output
        sending,   // a body that is not copied is being sent
        dropping,  // the rest of a body that nobody wants is awaited; the exchange is kept for its framing alone
        // From here on an exchange is a suspended handler's.
        suspended, // the handler finishes later
        reading,   // ... and waits for a piece of the body
        writing,   // ... and waits until its piece is sent
        lingering, // answered for good; what still arrives is dropped
        closing,   // answered for good
    };

    // The most body bytes that are read only to keep a connection whose request was answered without them.
    static constexpr std::uint64_t dropped_body = 256 * 1024;

    std::size_t unparsed() const noexcept { return input_end_ - input_begin_; }
    bool handler_works() const noexcept { return phase_ >= phase::suspended && phase_ <= phase::writing; }
    bool must_close(const turn&) const noexcept;
    std::uint64_t phase_deadline_ms(const limits&) const noexcept;
    std::uint64_t stall_deadline_ms(const limits&) const noexcept;

    step next_head(turn&) noexcept;
    step await_body(turn&, std::size_t have) noexcept;
    void write_continue(turn&) noexcept;
    step on_body(turn&, std::size_t size) noexcept;
    step body_ready(turn&) noexcept;
    step drop_body(turn&) noexcept;
    step stream_body(turn&, const decision&, std::size_t have) noexcept;
    step on_piece(turn&, std::size_t size) noexcept;
    step body_failed(turn&, errc) noexcept;
    bool room_for_piece(turn&) noexcept;
    std::span<char> piece_area(turn&) noexcept;
    void leave_body() noexcept;
    bool write_stream_head(turn&) noexcept;
    void write_piece(turn&, std::string_view) noexcept;
    step finish_stream(turn&) noexcept;
    step answer(turn&) noexcept;
    step answer_and_linger(turn&) noexcept;
    step finish(turn&) noexcept;
    step pause(turn&, action) noexcept;
    step end(turn&, action) noexcept;
    step fail(turn&, errc) noexcept;
    step fail(turn&, int status) noexcept;
    bool write_refusal(turn&, int status) noexcept;

    void enter(turn&, phase) noexcept;
    void load_input(turn&) const noexcept;
    void drop_input(turn&) noexcept;
    void drop_output(turn&) noexcept;
    void forget_lent() noexcept;
    bool keep_rest(turn&) noexcept;
    void keep_rest_or_close(turn&) noexcept;
    bool keep_head(turn&) noexcept;
    bool keep_trailers(turn&, std::string_view lines) noexcept;
    bool grow_head(turn&) noexcept;
    bool grow_body(turn&, std::size_t room) noexcept;
    void lend(std::string_view) noexcept;
    void clear_exchange(turn&) noexcept;
    void give_exchange(turn&) noexcept;

    // Read and written each turn.
    phase phase_ = phase::idle;
    bool keep_alive_ = true;
    bool plain_ = true;
    bool head_request_ = false;
    bool answered_ = false;     // the response was complete before the body was read
    bool lingers_ = false;      // the client may be sending when we close
    bool drops_body_ = false;   // the answer is ready, the rest of the body is not wanted
    bool drops_chunks_ = false; // and is chunked
    bool peer_finished_ = false;
    bool open_ended_ = false;         // the answer is sent until the connection closes, and is not whole
    bool lends_ = false;              // exchange_->external_ is not empty
    std::uint8_t chunk_end_left_ = 0; // of the CRLF behind it
    std::uint32_t input_begin_ = 0;   // of input_: bytes not parsed yet
    std::uint32_t input_end_ = 0;
    exchange* exchange_ = nullptr;
    std::uint64_t requests_ = 0;
    std::uint64_t since_ms_ = 0; // when the phase began
    std::uint64_t started_ms_ = 0;

    // Touched when a request or an answer does not fit one turn.
    pool::buffer input_;
    pool::buffer output_;
    std::uint32_t unsent_begin_ = 0; // of output_
    std::uint32_t unsent_ = 0;
    std::uint64_t sent_ms_ = 0; // of the last progress while something is unsent
};
static_assert(sizeof(machine) <= 120, "one lies in every connection");

} // namespace fastserve::http
