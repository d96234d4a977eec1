#include <fastserve/coding/decoder.hpp>

#include "context.hpp"

#include <algorithm>
#include <exception>

namespace fastserve::coding {

namespace {

// The ratio is judged after each of these at the latest, whatever room the caller has.
constexpr std::size_t most_piece = std::size_t{64} << 10;
constexpr std::size_t least_piece = 512;

} // namespace

decoder& decoder::operator=(decoder&& other) noexcept {
    if (this != &other) {
        close();
        context_ = std::exchange(other.context_, nullptr);
        cache_ = other.cache_;
        limits_ = other.limits_;
        consumed_ = other.consumed_;
        produced_ = other.produced_;
        coding_ = other.coding_;
        ended_ = other.ended_;
        error_ = other.error_;
    }
    return *this;
}

errc decoder::open(context_cache& cache, content_coding c, decode_limits limits) noexcept {
    close();
    if (c == identity || !available(c)) return errc::unsupported;
    detail::decode_context* const context = cache.take_decoder(c);
    if (context == nullptr) return errc::no_memory;
    if (const errc failed = context->reset(); failed != errc::ok) {
        delete context;
        return failed;
    }
    context_ = context;
    cache_ = &cache;
    limits_ = limits;
    consumed_ = 0;
    produced_ = 0;
    coding_ = c;
    ended_ = false;
    error_ = errc::ok;
    return errc::ok;
}

void decoder::close() noexcept {
    if (context_ != nullptr) cache_->give(coding_, std::exchange(context_, nullptr));
}

progress decoder::fail(progress so_far, errc e) noexcept {
    error_ = e;
    so_far.state = status::error;
    so_far.error = e;
    return so_far;
}

progress decoder::decode(std::string_view input, std::span<char> output, bool last) noexcept {
    progress so_far;
    if (error_ != errc::ok) return fail(so_far, error_);
    if (context_ == nullptr) return fail(so_far, errc::misuse);
    for (;;) {
        if (ended_) {
            if (input.empty()) {
                so_far.state = last ? status::done : status::need_input;
                return so_far;
            }
            if (!context_->resume(input.front())) return fail(so_far, errc::trailing_garbage);
            ended_ = false;
        }
        // With nothing left of the limit, one byte more shows whether the stream goes on; nobody sees it.
        char spare = 0;
        const std::uint64_t left = limits_.max_bytes - produced_;
        const std::size_t most = std::min(output.size(), most_piece);
        const std::span<char> room =
            left == 0 ? std::span(&spare, 1) : output.first(left < most ? static_cast<std::size_t>(left) : most);
        if (room.empty()) {
            so_far.state = status::need_output;
            return so_far;
        }
        const detail::step s = context_->decode(input, room);
        input.remove_prefix(s.consumed);
        so_far.consumed += s.consumed;
        consumed_ += s.consumed;
        if (left == 0 && s.produced != 0) return fail(so_far, errc::too_large);
        output = output.subspan(s.produced);
        so_far.produced += s.produced;
        produced_ += s.produced;
        if (s.error != errc::ok) return fail(so_far, s.error);
        if (limits_.max_ratio != 0 && produced_ > limits_.ratio_floor &&
            (produced_ - 1) / limits_.max_ratio >= consumed_)
            return fail(so_far, errc::ratio_too_high);
        if (s.complete) {
            ended_ = true;
        } else if (s.produced != room.size() && input.empty()) {
            if (last) return fail(so_far, errc::truncated);
            return so_far;
        } else if (s.consumed == 0 && s.produced == 0) {
            return fail(so_far, errc::corrupt); // nothing goes forward, so nothing ever would
        }
    }
}

errc decoder::append(std::string_view input, bool last, std::string& output) noexcept {
    std::size_t filled = output.size();
    for (;;) {
        try {
            output.resize(filled + std::clamp(input.size() * 2, least_piece, most_piece));
        } catch (const std::exception&) {
            return errc::no_memory;
        }
        const progress p = decode(input, std::span(output).subspan(filled), last);
        filled += p.produced;
        output.resize(filled);
        input.remove_prefix(p.consumed);
        if (p.state != status::need_output) return p.error;
    }
}

errc decode_whole(context_cache& cache, content_coding c, std::string_view body, std::string& output,
                  decode_limits limits) noexcept {
    decoder coder;
    if (const errc failed = coder.open(cache, c, limits); failed != errc::ok) return failed;
    const std::size_t before = output.size();
    const errc result = coder.append(body, true, output);
    if (result != errc::ok) output.resize(before);
    return result;
}

} // namespace fastserve::coding
