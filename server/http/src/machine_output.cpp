// The machine's way from a response to bytes that were sent, its ends and its deadlines.
#include <fastserve/http/machine.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace fastserve::http {

namespace {

// Bodies up to this size are copied behind their head: cheaper than a second span for the kernel to walk.
constexpr std::size_t copied_body = 16 * 1024;
// How long a peer may go on sending after its last answer before the connection is cut.
constexpr std::chrono::milliseconds linger_time{5'000};

// 0: never.
std::uint64_t after(std::uint64_t since_ms, std::chrono::milliseconds timeout) noexcept {
    return timeout.count() == 0 ? 0 : since_ms + static_cast<std::uint64_t>(timeout.count());
}

std::uint64_t earlier(std::uint64_t a, std::uint64_t b) noexcept {
    return a == 0 || b == 0 ? a | b : std::min(a, b);
}

} // namespace

void machine::enter(turn& t, phase p) noexcept {
    phase_ = p;
    since_ms_ = t.now_ms;
}

// ---- answers
// ---------------------------------------------------------------------------------------------------------

step machine::on_answer(turn& t) noexcept {
    if (phase_ >= phase::suspended) {
        if (phase_ >= phase::lingering) { // it comes too late: something else was answered
            give_exchange(t);
            return resume(t);
        }
        on_given_up(t.now_ms);
        load_input(t);
        phase_ = phase::handling;
    }
    if (exchange_->body_open) [[unlikely]]
        leave_body();
    if (exchange_->head_sent) [[unlikely]]
        return finish_stream(t);
    return answer(t);
}

step machine::answer_and_linger(turn& t) noexcept {
    keep_alive_ = false;
    lingers_ = true;
    return answer(t);
}

bool machine::must_close(const turn& t) const noexcept {
    const limits& l = t.limits;
    return t.draining || (l.requests_per_connection != 0 && requests_ + 1 >= l.requests_per_connection) ||
           (l.connection_age.count() != 0 && t.now_ms >= after(started_ms_, l.connection_age));
}

step machine::answer(turn& t) noexcept {
    http::response& r = exchange_->response;
    const bool large = r.body_view().size() > std::min(copied_body, t.output.size() / 4);
    // Before the head says whether the connection goes on.
    if (large) {
        keep_rest_or_close(t);
        if (!r.keep_body()) return fail(t, 503);
    }
    if (must_close(t)) keep_alive_ = false;
    const answer_plan plan = plan_answer(
        r, {.head_request = head_request_, .version_minor = exchange_->head.version_minor, .keep_alive = keep_alive_});
    // A body that was announced to come in pieces and of which none came.
    if (plan.body_follows && r.kind() == body_kind::stream) return fail(t, 500);
    const std::string_view body = plan.body_follows ? r.body_view() : "";
    const std::size_t copied = large ? 0 : body.size();
    if (t.output.size() - t.output_size < head_bound(r) + copied) [[unlikely]] {
        if (t.output_size == 0) return fail(t, 500);
        if (!r.keep_body()) return fail(t, 503);
        keep_rest_or_close(t);
        phase_ = phase::answering;
        return {action::flush};
    }
    keep_alive_ = !plan.close;
    char* const out = write_head(t.output.data() + t.output_size, r, plan, t.templates);
    std::memcpy(out, body.data(), copied);
    t.output_size = static_cast<std::size_t>(out - t.output.data()) + copied;
    ++requests_;
    ++t.requests;
    if (copied == body.size()) return finish(t);
    lend(body);
    sent_ms_ = t.now_ms;
    phase_ = phase::sending;
    return {action::flush};
}

// The answer is written: what comes next?
step machine::finish(turn& t) noexcept {
    const http::head& head = exchange_->head;
    // If the client did not ask for the end, or not all that it sent was read, more may be on its way.
    const bool lingers = lingers_ || drops_body_ || head.keep_alive || t.at != t.end;
    drops_chunks_ = head.body == framing::chunked;
    const bool drops = std::exchange(drops_body_, false);
    if (drops && keep_alive_) {
        clear_exchange(t);
        drop_input(t);
        exchange_->body_received_ = 0;
        enter(t, phase::dropping);
        return {action::read};
    }
    give_exchange(t);
    if (!keep_alive_) return end(t, lingers ? action::linger : action::close);
    phase_ = phase::idle;
    return next_head(t);
}

step machine::on_suspended(turn& t) noexcept {
    keep_rest_or_close(t);
    if (plain_) exchange_->body = {}; // borrowed, and gone with the turn
    enter(t, phase::suspended);
    return {action::wait};
}

step machine::resume(turn& t) noexcept {
    switch (phase_) {
    case phase::suspended:
        return {action::wait};
    case phase::reading:
        return {action::read};
    case phase::writing:
        return {action::written};
    case phase::lingering:
        return {action::linger};
    case phase::closing:
        return {action::close};
    default:
        break;
    }
    if (has_unsent()) return {action::flush};
    switch (phase_) {
    case phase::answering:
        load_input(t);
        return answer(t);
    case phase::sending:
        load_input(t);
        return finish(t);
    case phase::idle:
        if (unparsed() == 0) return {action::read};
        load_input(t);
        return next_head(t);
    default:
        return {action::read};
    }
}

// There is more to parse, but not now.
step machine::pause(turn& t, action a) noexcept {
    if (!keep_rest(t)) return fail(t, 503);
    enter(t, phase::idle);
    return {a};
}

// No further request is answered.
step machine::end(turn& t, action a) noexcept {
    if (exchange_ && phase_ < phase::suspended) give_exchange(t);
    drop_input(t);
    enter(t, a == action::linger ? phase::lingering : phase::closing);
    return {a};
}

step machine::linger(turn& t) noexcept {
    return end(t, action::linger);
}

step machine::fail(turn& t, errc e) noexcept {
    return fail(t, status_of(e));
}

step machine::fail(turn& t, int status) noexcept {
    if (exchange_ && exchange_->head_sent) { // it was begun with another one
        forget_lent();
        return end(t, action::close);
    }
    if (!t.refusals || !write_refusal(t, status)) {
        const answer_context context{.head_request = head_request_, .keep_alive = false};
        const extra_field extra = status == 503 ? extra_field{"Retry-After", "1"} : extra_field{};
        t.output_size += write_error(t.output.data() + t.output_size, t.output.size() - t.output_size, status, context,
                                     t.templates, extra);
    }
    return end(t, action::linger);
}

// In the words of the layer above, if the route is known and no answer was made yet. False: there are none.
bool machine::write_refusal(turn& t, int status) noexcept {
    const bool routed = phase_ == phase::deciding || phase_ == phase::body || handler_works();
    if (!exchange_ || !routed || answered_) return false;
    exchange* const page = handler_works() ? t.spare : exchange_;
    if (!page || !t.refusals->word_refusal(*exchange_, *page, status)) return false;
    const http::response& r = page->response;
    const answer_plan plan = plan_answer(
        r, {.head_request = head_request_, .version_minor = exchange_->head.version_minor, .keep_alive = false});
    const std::string_view body = plan.body_follows ? r.body_view() : "";
    const bool fits = r.kind() != body_kind::stream && t.output.size() - t.output_size >= head_bound(r) + body.size();
    if (fits) {
        char* const out = write_head(t.output.data() + t.output_size, r, plan, t.templates);
        std::memcpy(out, body.data(), body.size());
        t.output_size = static_cast<std::size_t>(out - t.output.data()) + body.size();
    }
    if (page != exchange_) page->reset();
    return fits;
}

step machine::refuse(turn& t, int status) noexcept {
    return fail(t, status);
}

// ---- bytes
// -----------------------------------------------------------------------------------------------------------

std::array<std::string_view, 4> machine::output(const turn& t) const noexcept {
    return {std::string_view{output_ ? output_.data() + unsent_begin_ : nullptr, unsent_},
            std::string_view{t.output.data(), t.output_size}, lends_ ? exchange_->external_ : std::string_view(),
            chunk_end.substr(chunk_end.size() - chunk_end_left_)};
}

bool machine::on_sent(turn& t, std::size_t size) noexcept {
    const bool had_unsent = has_unsent();
    if (!had_unsent && size == t.output_size) [[likely]] {
        t.output_size = 0;
        return true;
    }
    const bool progress = size != 0;
    const std::size_t kept = std::min<std::size_t>(size, unsent_);
    unsent_begin_ += static_cast<std::uint32_t>(kept);
    unsent_ -= static_cast<std::uint32_t>(kept);
    size -= kept;
    const std::size_t fresh = std::min(size, t.output_size);
    std::size_t lent = 0;
    if (lends_) {
        std::string_view& left = exchange_->external_;
        lent = std::min(size - fresh, left.size());
        left.remove_prefix(lent);
        lends_ = !left.empty();
    }
    chunk_end_left_ = static_cast<std::uint8_t>(chunk_end_left_ - (size - fresh - lent));

    const std::string_view rest{t.output.data() + fresh, t.output_size - fresh};
    t.output_size = 0;
    if (!rest.empty()) {
        if (output_.capacity() - unsent_begin_ - unsent_ < rest.size()) {
            pool::buffer larger = t.buffers.acquire(unsent_ + rest.size());
            if (!larger) {
                drop_output(t);
                return false;
            }
            if (unsent_ != 0) std::memcpy(larger.data(), output_.data() + unsent_begin_, unsent_);
            t.buffers.release(std::move(output_));
            output_ = std::move(larger);
            unsent_begin_ = 0;
        }
        std::memcpy(output_.data() + unsent_begin_ + unsent_, rest.data(), rest.size());
        unsent_ += static_cast<std::uint32_t>(rest.size());
    } else if (unsent_ == 0) {
        t.buffers.release(std::move(output_));
        unsent_begin_ = 0;
    }

    if (has_unsent()) {
        if (progress || !had_unsent) sent_ms_ = t.now_ms;
    } else if (had_unsent) {
        // While nothing was read the peer could not make progress either. A handler's time goes on.
        if (!handler_works())
            since_ms_ = t.now_ms;
        else if (exchange_ && exchange_->rate_from_ms_ != 0) // null: it was detached
            exchange_->rate_from_ms_ = std::max(exchange_->rate_from_ms_,
                                                phase_ == phase::reading ? t.now_ms : exchange_->rate_paused_ms_);
    }
    return true;
}

void machine::drop_output(turn& t) noexcept {
    t.buffers.release(std::move(output_));
    unsent_begin_ = unsent_ = 0;
    t.output_size = 0;
    forget_lent();
}

// What lies in the exchange, or is its handler's, is not sent any more.
void machine::forget_lent() noexcept {
    if (std::exchange(lends_, false)) exchange_->external_ = {};
    chunk_end_left_ = 0;
}

// What is not copied. Not empty.
void machine::lend(std::string_view bytes) noexcept {
    exchange_->external_ = bytes;
    lends_ = true;
}

// ---- ends and time
// ---------------------------------------------------------------------------------------------------

step machine::on_peer_finished(turn& t) noexcept {
    peer_finished_ = true;
    switch (phase_) {
    case phase::suspended:
    case phase::writing:
        if (exchange_) exchange_->peer_finished.store(true, std::memory_order_relaxed);
        return resume(t);
    case phase::reading: // the body will not become whole
        exchange_->body_error = errc::incomplete_body;
        return end(t, action::close);
    case phase::answering:
    case phase::sending:
        return {action::flush};
    case phase::lingering:
    case phase::closing:
        return end(t, action::close);
    default:
        // Nothing was asked for while there is something to do: the stream may hold more before its end.
        if (has_unsent()) return {action::flush};
        if (phase_ == phase::idle && unparsed() != 0) return {action::later};
        return end(t, action::close);
    }
}

exchange* machine::detach() noexcept {
    forget_lent();
    if (phase_ == phase::reading || phase_ == phase::writing) phase_ = phase::suspended;
    return std::exchange(exchange_, nullptr);
}

exchange* machine::abandon() noexcept {
    input_.reset();
    output_.reset();
    input_begin_ = input_end_ = unsent_begin_ = unsent_ = 0;
    phase_ = phase::closing;
    return detach();
}

std::uint64_t machine::stall_deadline_ms(const limits& l) const noexcept {
    return has_unsent() ? after(sent_ms_, l.write_stall) : 0;
}

std::uint64_t machine::phase_deadline_ms(const limits& l) const noexcept {
    switch (phase_) {
    case phase::idle:
        return after(since_ms_, l.idle_timeout);
    case phase::head:
        return after(since_ms_, exchange_->parser_.started() ? l.head_timeout : l.idle_timeout);
    case phase::body:
    case phase::dropping:
        if (l.body_rate == 0) return 0;
        return since_ms_ + static_cast<std::uint64_t>(l.body_grace.count()) +
               exchange_->body_received_ * 1000 / l.body_rate;
    case phase::reading: {
        const std::uint64_t late = after(since_ms_, exchange_->handler_timeout_);
        if (l.body_rate == 0 || has_unsent()) return late; // nothing is read before all is sent
        return earlier(late, exchange_->rate_from_ms_ + static_cast<std::uint64_t>(l.body_grace.count()));
    }
    case phase::suspended:
    case phase::writing:
        return exchange_ ? after(since_ms_, exchange_->handler_timeout_) : 0; // null: it was detached
    case phase::lingering:
        return after(since_ms_, linger_time);
    default:
        return 0;
    }
}

std::uint64_t machine::deadline_ms(const limits& l) const noexcept {
    if (has_unsent() && !handler_works()) return stall_deadline_ms(l);
    return earlier(stall_deadline_ms(l), phase_deadline_ms(l));
}

step machine::on_deadline(turn& t) noexcept {
    if (const std::uint64_t stalled = stall_deadline_ms(t.limits); stalled != 0 && t.now_ms >= stalled) {
        drop_output(t); // it will never leave
        return end(t, action::close);
    }
    switch (phase_) {
    case phase::head:
        return exchange_->parser_.started() ? fail(t, errc::head_timeout) : end(t, action::close);
    case phase::body:
        return fail(t, errc::body_timeout);
    case phase::reading:
        if (const std::uint64_t late = after(since_ms_, exchange_->handler_timeout_); late == 0 || t.now_ms < late)
            return body_failed(t, errc::body_timeout);
        return fail(t, 503);
    case phase::suspended:
    case phase::writing:
        return fail(t, 503);
    default:
        return end(t, action::close);
    }
}

} // namespace fastserve::http
