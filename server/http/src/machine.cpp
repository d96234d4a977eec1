// The machine's way from bytes to a request that is whole. The way from a response to bytes is in machine_output.cpp.
#include <fastserve/http/machine.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace fastserve::http {

namespace {

// Room for what one read of a chunked body brings.
constexpr std::size_t chunk_room = 4 * 1024;

} // namespace

void machine::start(std::uint64_t now_ms) noexcept {
    assert(!exchange_ && !input_ && !output_);
    phase_ = phase::idle;
    head_request_ = lingers_ = drops_body_ = peer_finished_ = open_ended_ = false;
    requests_ = 0;
    started_ms_ = since_ms_ = now_ms;
}

// ---- memory
// ----------------------------------------------------------------------------------------------------------

void machine::load_input(turn& t) const noexcept {
    t.at = input_ ? input_.data() + input_begin_ : nullptr;
    t.end = input_ ? input_.data() + input_end_ : nullptr;
}

void machine::drop_input(turn& t) noexcept {
    t.at = t.end = nullptr;
    input_begin_ = input_end_ = 0;
    t.buffers.release(std::move(input_));
}

// Keeps what is not parsed yet beyond the turn.
bool machine::keep_rest(turn& t) noexcept {
    const auto size = static_cast<std::size_t>(t.end - t.at);
    if (size == 0) {
        drop_input(t);
        return true;
    }
    if (input_ && t.at >= input_.data() && t.at < input_.data() + input_.capacity()) {
        input_begin_ = static_cast<std::uint32_t>(t.at - input_.data());
        input_end_ = static_cast<std::uint32_t>(t.end - input_.data());
        return true;
    }
    assert(!input_);
    input_ = t.buffers.acquire(size);
    if (!input_) return false;
    std::memcpy(input_.data(), t.at, size);
    input_begin_ = 0;
    input_end_ = static_cast<std::uint32_t>(size);
    load_input(t);
    return true;
}

// For when an exchange is in work: without memory for what stands behind it, it is the last one.
void machine::keep_rest_or_close(turn& t) noexcept {
    if (keep_rest(t)) return;
    keep_alive_ = false;
    lingers_ = true;
    drop_input(t);
}

// Makes the exchange own its head, and its body where that lies in the input.
bool machine::keep_head(turn& t) noexcept {
    exchange& x = *exchange_;
    if (x.head_bytes_) return true;
    // Copied even if the head lies in a buffer of ours, which could change hands: then what stands behind would have to
    // be copied instead, for every request of a long pipeline.
    const std::size_t body = x.body_bytes_ ? 0 : x.body.size();
    x.head_bytes_ = t.buffers.acquire(x.head.size + body);
    if (!x.head_bytes_) return false;
    char* const copy = x.head_bytes_.data();
    std::memcpy(copy, x.head.base, x.head.size);
    x.head.base = copy;
    if (body != 0) {
        std::memcpy(copy + x.head.size, x.body.data(), body);
        x.body = {copy + x.head.size, body};
    }
    return true;
}

// Some more of the trailer section. Copied even if it lies in a buffer of ours: there are hardly ever any.
bool machine::keep_trailers(turn& t, std::string_view lines) noexcept {
    if (lines.empty()) [[likely]]
        return true;
    exchange& x = *exchange_;
    const std::size_t have = x.request_trailers.size();
    if (x.trailer_bytes_.capacity() - have < lines.size()) {
        pool::buffer larger = t.buffers.acquire(std::max(have + lines.size(), x.trailer_bytes_.capacity() * 2));
        if (!larger) return false;
        if (have != 0) std::memcpy(larger.data(), x.trailer_bytes_.data(), have);
        t.buffers.release(std::move(x.trailer_bytes_));
        x.trailer_bytes_ = std::move(larger);
    }
    std::memcpy(x.trailer_bytes_.data() + have, lines.data(), lines.size());
    x.request_trailers = {x.trailer_bytes_.data(), have + lines.size()};
    x.rare_ = true;
    return true;
}

// Room for more of a head: at least a quarter of the buffer that it lies in.
bool machine::grow_head(turn& t) noexcept {
    const std::size_t quarter = input_.capacity() / 4;
    if (input_.capacity() - input_end_ >= quarter) return true;
    const std::size_t have = unparsed();
    if (input_begin_ >= quarter) {
        std::memmove(input_.data(), input_.data() + input_begin_, have);
    } else {
        pool::buffer larger = t.buffers.acquire(input_.capacity() * 2);
        if (!larger) return false;
        std::memcpy(larger.data(), input_.data() + input_begin_, have);
        t.buffers.release(std::move(input_));
        input_ = std::move(larger);
    }
    input_begin_ = 0;
    input_end_ = static_cast<std::uint32_t>(have);
    return true;
}

// Room for at least `room` more bytes of body. Doubling from what has arrived, never from what a Content-Length
// announces: memory follows bytes, not promises.
bool machine::grow_body(turn& t, std::size_t room) noexcept {
    exchange& x = *exchange_;
    const std::size_t capacity = x.body_bytes_.capacity();
    if (capacity - x.body_size_ >= room) return true;
    std::size_t wanted = std::max(capacity * 2, x.body_size_ + room);
    if (x.head.body == framing::length)
        wanted = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, x.body_size_ + std::max(room, x.body_left_)));
    pool::buffer larger = t.buffers.acquire(wanted);
    if (!larger) return false;
    if (x.body_size_ != 0) std::memcpy(larger.data(), x.body_bytes_.data(), x.body_size_);
    t.buffers.release(std::move(x.body_bytes_));
    x.body_bytes_ = std::move(larger);
    return true;
}

// Makes it as good as new, but for what tells where the request ends.
void machine::clear_exchange(turn& t) noexcept {
    exchange& x = *exchange_;
    assert(!lends_);
    t.buffers.release(std::move(x.head_bytes_));
    t.buffers.release(std::move(x.body_bytes_));
    x.reset();
}

void machine::give_exchange(turn& t) noexcept {
    clear_exchange(t);
    assert(!t.spare || !t.returned);
    (t.spare ? t.returned : t.spare) = std::exchange(exchange_, nullptr);
}

// ---- input
// -----------------------------------------------------------------------------------------------------------

std::span<char> machine::input_area(turn& t) noexcept {
    if (phase_ == phase::head) return {input_.data() + input_end_, input_.capacity() - input_end_};
    if (phase_ == phase::reading) return piece_area(t);
    if (phase_ != phase::body) return t.input;
    exchange& x = *exchange_;
    // What stands behind a chunked body is copied once: it must not be more than any other input.
    const std::uint64_t most = x.head.body == framing::length ? x.body_left_ : std::max(t.input.size(), chunk_room);
    const std::size_t room = x.body_bytes_.capacity() - x.body_size_;
    return {x.body_bytes_.data() + x.body_size_, static_cast<std::size_t>(std::min<std::uint64_t>(room, most))};
}

step machine::on_input(turn& t, std::size_t size) noexcept {
    switch (phase_) {
    case phase::head:
        input_end_ += static_cast<std::uint32_t>(size);
        load_input(t);
        return next_head(t);
    case phase::body:
        return on_body(t, size);
    case phase::reading:
        return on_piece(t, size);
    case phase::lingering:
        return {action::linger};
    case phase::closing:
        return {action::close};
    default:
        assert((phase_ == phase::idle || phase_ == phase::dropping) && !input_);
        t.at = t.input.data();
        t.end = t.at + size;
        return phase_ == phase::dropping ? drop_body(t) : next_head(t);
    }
}

step machine::next_head(turn& t) noexcept {
    if (!exchange_) {
        head_request_ = false;
        if (t.at == t.end) {
            drop_input(t);
            enter(t, phase::idle);
            return {action::read};
        }
        if (has_unsent()) return pause(t, action::flush);
        if (t.requests >= t.limits.turn_requests) return pause(t, action::later);
        // Half of the area is room for an ordinary answer. One that does not fit either waits in answer().
        if (t.output_size > t.output.size() / 2 || t.output_size >= t.limits.output_bytes)
            return pause(t, action::flush);
        exchange_ = std::exchange(t.spare, nullptr);
        if (!exchange_) return fail(t, 503);
        exchange_->parser_ = head_parser();
    }
    http::head& head = exchange_->head;
    const bool begun = phase_ == phase::head && exchange_->parser_.started();
    const parse_status parsed = exchange_->parser_.parse(t.at, static_cast<std::size_t>(t.end - t.at), head, t.limits);
    head_request_ = head.method == verb::head;
    if (parsed == parse_status::need_more) {
        if (!keep_rest(t) || !grow_head(t)) return fail(t, 503);
        // Empty lines begin no request: its time counts from its own first byte.
        if (!begun) enter(t, phase::head);
        return {action::read};
    }
    if (parsed == parse_status::error) return fail(t, exchange_->parser_.error());
    t.at += head.size;
    keep_alive_ = head.keep_alive;
    if (peer_finished_) exchange_->peer_finished.store(true, std::memory_order_relaxed);
    phase_ = phase::deciding;
    return {action::route};
}

step machine::on_decision(turn& t, const decision& d) noexcept {
    exchange& x = *exchange_;
    plain_ = d.plain && !d.streamed;
    answered_ = d.answered;
    x.handler_timeout_ = d.handler_timeout;
    if (x.head.body == framing::none) [[likely]]
        return body_ready(t);
    // A client that waits for 100 Continue may or may not send the body now: only closing is unambiguous, be the body
    // here already or not.
    if (answered_ && x.head.expect_continue) return answer_and_linger(t);

    const auto have = static_cast<std::size_t>(t.end - t.at);
    if (d.streamed && !answered_) return stream_body(t, d, have);
    if (x.head.body == framing::length) {
        x.body_left_ = x.head.content_length;
        if (!answered_ && x.body_left_ > d.body_bytes) return fail(t, errc::body_too_large);
        if (have < x.body_left_) return await_body(t, have);
        x.body = {t.at, static_cast<std::size_t>(x.body_left_)};
        t.at += x.body_left_;
        return body_ready(t);
    }
    x.decoder_ = chunked_decoder(t.limits, answered_ ? dropped_body : d.body_bytes);
    const auto r = x.decoder_.decode(t.at, have);
    if (r.status == decode_status::error) return answered_ ? answer_and_linger(t) : fail(t, x.decoder_.error());
    if (!keep_trailers(t, r.trailers)) return fail(t, 503);
    if (r.status == decode_status::need_more) return await_body(t, r.produced);
    x.body = {t.at, r.produced};
    t.at += r.consumed;
    return body_ready(t);
}

// The body is not whole: `have` bytes of it lie at t.at, and nothing behind them.
step machine::await_body(turn& t, std::size_t have) noexcept {
    exchange& x = *exchange_;
    const bool by_length = x.head.body == framing::length;
    const bool silent = t.at == t.end;
    if (answered_) {
        if (by_length && x.body_left_ > dropped_body) return answer_and_linger(t);
        if (by_length) x.body_left_ -= have;
        t.at = t.end;
        drops_body_ = true;
        return answer(t);
    }
    // Besides the body that is here, room for the next read.
    if (!keep_head(t) || !grow_body(t, have + (by_length ? 1 : chunk_room))) return fail(t, 503);
    if (have != 0) std::memcpy(x.body_bytes_.data(), t.at, have);
    x.body_size_ = have;
    if (by_length) x.body_left_ -= have;
    if (x.head.expect_continue && silent) write_continue(t);
    drop_input(t);
    enter(t, phase::body);
    x.body_received_ = have;
    return {action::read};
}

// Without room for it the client will send its body a little later, unasked (RFC 9110 10.1.1).
void machine::write_continue(turn& t) noexcept {
    constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
    if (t.output.size() - t.output_size < line.size()) return;
    std::memcpy(t.output.data() + t.output_size, line.data(), line.size());
    t.output_size += line.size();
}

step machine::on_body(turn& t, std::size_t size) noexcept {
    exchange& x = *exchange_;
    x.body_received_ += size;
    if (x.head.body == framing::length) {
        x.body_size_ += size;
        x.body_left_ -= size;
        if (x.body_left_ != 0) return grow_body(t, 1) ? step{action::read} : fail(t, 503);
        t.at = t.end = nullptr;
    } else {
        char* const raw = x.body_bytes_.data() + x.body_size_;
        const auto r = x.decoder_.decode(raw, size);
        if (r.status == decode_status::error) return fail(t, x.decoder_.error());
        if (!keep_trailers(t, r.trailers)) return fail(t, 503);
        x.body_size_ += r.produced;
        if (r.status == decode_status::need_more) return grow_body(t, chunk_room) ? step{action::read} : fail(t, 503);
        // The next request begins in this one's body buffer, which ends with this exchange.
        t.at = raw + r.consumed;
        t.end = raw + size;
        keep_rest_or_close(t);
    }
    x.body = {x.body_bytes_.data(), x.body_size_};
    return body_ready(t);
}

step machine::body_ready(turn& t) noexcept {
    if (answered_) return answer(t);
    if (!plain_) {
        if (!keep_head(t)) return fail(t, 503);
        keep_rest_or_close(t);
    }
    phase_ = phase::handling;
    return {action::handle};
}

// Takes from the front of the input what still belongs to a body that nobody wants.
step machine::drop_body(turn& t) noexcept {
    exchange& x = *exchange_;
    const auto have = static_cast<std::size_t>(t.end - t.at);
    x.body_received_ += have;
    bool more = false;
    if (drops_chunks_) {
        const auto r = x.decoder_.decode(t.at, have);
        if (r.status == decode_status::error) return end(t, action::linger);
        t.at += r.consumed;
        more = r.status == decode_status::need_more;
    } else {
        const auto dropped = std::min<std::uint64_t>(have, x.body_left_);
        t.at += dropped;
        x.body_left_ -= dropped;
        more = x.body_left_ != 0;
    }
    if (more) return x.body_received_ > dropped_body ? end(t, action::linger) : step{action::read};
    give_exchange(t);
    phase_ = phase::idle;
    return next_head(t);
}

} // namespace fastserve::http
