// Bodies in pieces: a request's on its way to a suspended handler, a response's on its way from one.
#include <fastserve/http/machine.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace fastserve::http {

namespace {

// A piece that takes all the room there was is followed by one with more: memory follows bytes, not promises.
constexpr std::size_t next_piece = 16 * 1024;
constexpr std::size_t largest_piece = 64 * 1024;
// Pieces up to this size are copied behind their chunk's head.
constexpr std::size_t copied_piece = 16 * 1024;

} // namespace

// ---- the request's body
// --------------------------------------------------------------------------------------------------

// The handler starts now. `have` bytes behind the head are here: those of the body become its first piece.
step machine::stream_body(turn& t, const decision& d, std::size_t have) noexcept {
    exchange& x = *exchange_;
    std::size_t size = have;
    if (x.head.body == framing::length) {
        x.body_left_ = x.head.content_length;
        if (x.body_left_ > d.body_bytes) return fail(t, errc::body_too_large);
        size = static_cast<std::size_t>(std::min<std::uint64_t>(have, x.body_left_));
        x.body_left_ -= size;
        x.body_open = x.body_left_ != 0;
        have = size;
    } else {
        x.decoder_ = chunked_decoder(t.limits, d.body_bytes);
        const auto r = x.decoder_.decode(t.at, have);
        if (r.status == decode_status::error) return fail(t, x.decoder_.error());
        if (!keep_trailers(t, r.trailers)) return fail(t, 503);
        size = r.produced;
        have = r.consumed;
        x.body_open = r.status == decode_status::need_more;
    }
    x.rare_ = true;
    x.continued_ = have != 0 || !x.body_open || !x.head.expect_continue;
    x.body_received_ = have;
    if (!keep_head(t)) return fail(t, 503);
    if (size != 0) {
        x.body_bytes_ = t.buffers.acquire(size);
        if (!x.body_bytes_) return fail(t, 503);
        std::memcpy(x.body_bytes_.data(), t.at, size);
        x.body_size_ = size;
        x.body_waits = true;
    }
    t.at += have;
    keep_rest_or_close(t);
    phase_ = phase::handling;
    return {action::handle};
}

// The piece before is done with. Only a peer that has sent as much as there was room for is given a buffer in advance:
// what others send is received into the turn's input and copied, so that who sends nothing occupies nothing.
bool machine::room_for_piece(turn& t) noexcept {
    exchange& x = *exchange_;
    const std::size_t capacity = x.body_bytes_.capacity();
    x.body_size_ = 0;
    if (x.piece_filled_ && capacity >= largest_piece) return true;
    t.buffers.release(std::move(x.body_bytes_));
    if (!x.piece_filled_) return true;
    std::size_t wanted = std::clamp(capacity * 4, next_piece, largest_piece);
    if (x.head.body == framing::length)
        wanted = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, std::max<std::uint64_t>(x.body_left_, 1)));
    x.body_bytes_ = t.buffers.acquire(wanted);
    return static_cast<bool>(x.body_bytes_);
}

// Where the next piece is received.
std::span<char> machine::piece_area(turn& t) noexcept {
    exchange& x = *exchange_;
    std::span<char> area = x.body_bytes_ ? std::span<char>(x.body_bytes_.data(), x.body_bytes_.capacity())
                                         : t.input.first(std::min(t.input.size(), largest_piece));
    // What stands behind a chunked body is copied once: it must not be more than any other input.
    const std::uint64_t most = x.head.body == framing::length ? x.body_left_ : std::max(t.input.size(), next_piece);
    return area.first(static_cast<std::size_t>(std::min<std::uint64_t>(area.size(), most)));
}

step machine::on_body_wanted(turn& t) noexcept {
    exchange& x = *exchange_;
    assert(phase_ == phase::suspended);
    if (x.body_waits) {
        x.body_waits = false;
        x.body = {x.body_bytes_.data(), x.body_size_};
        return {action::body};
    }
    x.body = {};
    if (!x.body_open) return {action::body};
    if (!room_for_piece(t)) return fail(t, 503);
    if (!x.continued_ && !x.head_sent) {
        write_continue(t);
        x.continued_ = true;
    }
    // The time that the handler took is not the peer's.
    x.rate_from_ms_ = x.rate_from_ms_ == 0 ? t.now_ms : x.rate_from_ms_ + (t.now_ms - x.rate_paused_ms_);
    phase_ = phase::reading;
    return {action::read};
}

void machine::on_given_up(std::uint64_t now_ms) noexcept {
    if (phase_ == phase::reading) {
        exchange_->rate_paused_ms_ = now_ms;
    } else if (phase_ == phase::writing) {
        if (has_unsent()) exchange_->broken = exchange_->head_sent;
        exchange_->outgoing = {};
        forget_lent();
    } else {
        return;
    }
    phase_ = phase::suspended;
}

step machine::on_piece(turn& t, std::size_t size) noexcept {
    exchange& x = *exchange_;
    x.body_received_ += size;
    x.continued_ = true; // by itself
    const std::span<char> area = piece_area(t);
    const bool copied = !x.body_bytes_;
    x.piece_filled_ = size == area.size();
    const limits& l = t.limits;
    if (l.body_rate != 0) {
        // A peer that was fast may pause, but as long as one that reads may, and not for hours.
        const std::uint64_t earned = size * 1000 + x.rate_rest_;
        x.rate_from_ms_ += earned / l.body_rate;
        x.rate_rest_ = earned % l.body_rate;
        if (l.write_stall.count() != 0)
            x.rate_from_ms_ = std::min(x.rate_from_ms_, t.now_ms + static_cast<std::uint64_t>(l.write_stall.count()));
    }
    std::size_t taken = size;
    if (x.head.body == framing::length) {
        x.body_left_ -= size;
        x.body_size_ = size;
        x.body_open = x.body_left_ != 0;
    } else {
        const auto r = x.decoder_.decode(area.data(), size);
        if (r.status == decode_status::error) return body_failed(t, x.decoder_.error());
        if (!keep_trailers(t, r.trailers)) return fail(t, 503);
        x.body_size_ = r.produced;
        x.body_open = r.status == decode_status::need_more;
        if (x.body_open && r.produced == 0) return {action::read};
        taken = r.consumed;
    }
    if (copied && x.body_size_ != 0) {
        x.body_bytes_ = t.buffers.acquire(x.body_size_);
        if (!x.body_bytes_) return fail(t, 503);
        std::memcpy(x.body_bytes_.data(), area.data(), x.body_size_);
    }
    if (!x.body_open && taken != size) { // the next request begins here
        t.at = area.data() + taken;
        t.end = area.data() + size;
        keep_rest_or_close(t);
    }
    x.rate_paused_ms_ = t.now_ms;
    x.body = {x.body_bytes_.data(), x.body_size_};
    phase_ = phase::suspended;
    return {action::body};
}

// What is wrong is answered here and not by the handler, which is told why its body ended.
step machine::body_failed(turn& t, errc e) noexcept {
    exchange_->body_error = e;
    return fail(t, e);
}

// The handler has finished and has not taken all of the body.
void machine::leave_body() noexcept {
    exchange& x = *exchange_;
    x.body_open = false;
    const bool by_length = x.head.body == framing::length;
    // A client that was not told to continue may or may not send the body now: only closing is unambiguous.
    if (!x.continued_ || (by_length && x.body_left_ > dropped_body)) {
        keep_alive_ = false;
        lingers_ = true;
    } else {
        drops_body_ = true;
    }
}

// ---- the response's body
// -------------------------------------------------------------------------------------------------

bool machine::write_stream_head(turn& t) noexcept {
    exchange& x = *exchange_;
    http::response& r = x.response;
    r.stream();
    if (must_close(t)) keep_alive_ = false;
    const answer_plan plan = plan_answer(
        r, {.head_request = head_request_, .version_minor = x.head.version_minor, .keep_alive = keep_alive_});
    if (t.output.size() - t.output_size < head_bound(r) + longest_chunk_head) return false;
    keep_alive_ = !plan.close;
    t.output_size =
        static_cast<std::size_t>(write_head(t.output.data() + t.output_size, r, plan, t.templates) - t.output.data());
    x.framing_ = plan.body_follows ? plan.framing : body_framing::none;
    open_ended_ = x.framing_ == body_framing::until_close;
    x.outgoing_left = r.content_length().value_or(0); // counted also where no body follows
    x.head_sent = true;
    ++requests_;
    return true;
}

void machine::write_piece(turn& t, std::string_view piece) noexcept {
    exchange& x = *exchange_;
    if (x.response.content_length()) {
        piece = piece.substr(0, x.outgoing_left);
        x.outgoing_left -= piece.size();
    }
    if (x.framing_ == body_framing::none || piece.empty()) return;
    const bool chunked = x.framing_ == body_framing::chunked;
    char* out = t.output.data() + t.output_size;
    if (chunked) out = write_chunk_head(out, piece.size());
    t.output_size = static_cast<std::size_t>(out - t.output.data());
    if (piece.size() > copied_piece || t.output.size() - t.output_size < piece.size() + chunk_end.size()) {
        if (unsent_ == 0) sent_ms_ = t.now_ms; // the peer's time for it begins
        lend(piece);
        chunk_end_left_ = chunked ? static_cast<std::uint8_t>(chunk_end.size()) : 0;
        return;
    }
    std::memcpy(out, piece.data(), piece.size());
    out += piece.size();
    if (chunked) {
        std::memcpy(out, chunk_end.data(), chunk_end.size());
        out += chunk_end.size();
    }
    t.output_size = static_cast<std::size_t>(out - t.output.data());
}

step machine::on_write(turn& t) noexcept {
    exchange& x = *exchange_;
    assert(phase_ == phase::suspended && !lends_);
    if (!x.head_sent && !write_stream_head(t)) return fail(t, 500);
    write_piece(t, x.outgoing);
    phase_ = phase::writing;
    return {action::written};
}

step machine::on_interim(turn& t, int status) noexcept {
    exchange& x = *exchange_;
    assert(phase_ == phase::suspended);
    const field_block& fields = x.response.fields();
    if (!x.head_sent && x.head.version_minor != 0) {
        if (t.output.size() - t.output_size < interim_bound(fields)) return fail(t, 500);
        char* const out = write_interim(t.output.data() + t.output_size, status, fields);
        t.output_size = static_cast<std::size_t>(out - t.output.data());
        if (status == 100) x.continued_ = true;
    }
    phase_ = phase::writing;
    return {action::written};
}

void machine::on_written() noexcept {
    assert(phase_ == phase::writing && !has_unsent());
    exchange_->outgoing = {};
    phase_ = phase::suspended;
}

// The handler of a response in pieces has finished.
step machine::finish_stream(turn& t) noexcept {
    exchange& x = *exchange_;
    if (x.framing_ == body_framing::chunked && !x.broken) {
        if (t.output.size() - t.output_size < last_chunk_bytes(x.trailers)) return end(t, action::close);
        char* const out = write_last_chunk(t.output.data() + t.output_size, x.trailers);
        t.output_size = static_cast<std::size_t>(out - t.output.data());
    }
    const bool whole = x.framing_ != body_framing::length || x.outgoing_left == 0;
    if (x.broken || !whole) return end(t, action::close);
    open_ended_ = false;
    ++t.requests;
    return finish(t);
}

} // namespace fastserve::http
