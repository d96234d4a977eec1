#include <fastserve/coding/encoder.hpp>

#include "context.hpp"

#include <algorithm>
#include <exception>

namespace fastserve::coding {

namespace {

constexpr std::size_t least_piece = 512;
constexpr std::size_t most_piece = std::size_t{64} << 10;

} // namespace

encoder& encoder::operator=(encoder&& other) noexcept {
    if (this != &other) {
        close();
        context_ = std::exchange(other.context_, nullptr);
        cache_ = other.cache_;
        coding_ = other.coding_;
        ended_ = other.ended_;
        error_ = other.error_;
    }
    return *this;
}

errc encoder::open(context_cache& cache, content_coding c, encode_options options) noexcept {
    close();
    if (c == identity || !available(c)) return errc::unsupported;
    detail::encode_context* const context = cache.take_encoder(c);
    if (context == nullptr) return errc::no_memory;
    if (const errc failed = context->reset(options.level.value_or(default_level(c))); failed != errc::ok) {
        delete context;
        return failed;
    }
    context_ = context;
    cache_ = &cache;
    coding_ = c;
    ended_ = false;
    error_ = errc::ok;
    return errc::ok;
}

void encoder::close() noexcept {
    if (context_ != nullptr) cache_->give(coding_, std::exchange(context_, nullptr));
}

progress encoder::encode(std::string_view input, std::span<char> output, operation wanted) noexcept {
    progress so_far;
    if (error_ == errc::ok && (context_ == nullptr || (ended_ && (wanted != operation::finish || !input.empty()))))
        error_ = errc::misuse;
    while (error_ == errc::ok) {
        if (ended_) {
            so_far.state = status::done;
            return so_far;
        }
        if (output.size() < min_output_bytes) {
            so_far.state = status::need_output;
            return so_far;
        }
        const detail::step s = context_->encode(input, output, wanted);
        input.remove_prefix(s.consumed);
        output = output.subspan(s.produced);
        so_far.consumed += s.consumed;
        so_far.produced += s.produced;
        error_ = s.error;
        if (error_ != errc::ok) break;
        if (s.complete) {
            if (wanted != operation::finish) return so_far;
            ended_ = true;
        } else if (s.consumed == 0 && s.produced == 0) {
            error_ = errc::misuse; // nothing goes forward, so nothing ever would
        }
    }
    so_far.state = status::error;
    so_far.error = error_;
    return so_far;
}

errc encoder::append(std::string_view input, operation wanted, std::string& output) noexcept {
    std::size_t filled = output.size();
    for (;;) {
        try {
            output.resize(filled + std::clamp(input.size() / 2, least_piece, most_piece));
        } catch (const std::exception&) {
            return errc::no_memory;
        }
        const progress p = encode(input, std::span(output).subspan(filled), wanted);
        filled += p.produced;
        output.resize(filled);
        input.remove_prefix(p.consumed);
        if (p.state != status::need_output) return p.error;
    }
}

errc encode_whole(context_cache& cache, content_coding c, std::string_view body, std::string& output,
                  encode_options options) noexcept {
    constexpr std::size_t least = encoder::min_output_bytes;
    encoder coder;
    if (const errc failed = coder.open(cache, c, options); failed != errc::ok) return failed;
    const std::size_t before = output.size();
    std::size_t written = 0;
    errc result = errc::ok;
    for (std::string_view rest = body; result == errc::ok;) {
        const std::size_t room = body.size() - written;
        if (room < least) {
            result = errc::not_smaller;
            break;
        }
        try {
            output.resize(before + written + std::min(room, std::clamp(rest.size() / 2, least_piece, most_piece)));
        } catch (const std::exception&) {
            result = errc::no_memory;
            break;
        }
        const progress p = coder.encode(rest, std::span(output).subspan(before + written), operation::finish);
        written += p.produced;
        rest.remove_prefix(p.consumed);
        result = p.error;
        if (p.state == status::done) {
            if (body.size() - written < least) result = errc::not_smaller;
            break;
        }
    }
    output.resize(result == errc::ok ? before + written : before);
    return result;
}

} // namespace fastserve::coding
