#include <fastserve/coding/context_cache.hpp>

#include "context.hpp"

// Which libraries this build has; without the definition, none.
#ifndef FASTSERVE_WITH_ZLIB
#define FASTSERVE_WITH_ZLIB 0
#endif
#ifndef FASTSERVE_WITH_BROTLI
#define FASTSERVE_WITH_BROTLI 0
#endif
#ifndef FASTSERVE_WITH_ZSTD
#define FASTSERVE_WITH_ZSTD 0
#endif

namespace fastserve::coding {

namespace {

detail::encode_context* make_encoder([[maybe_unused]] content_coding c) noexcept {
#if FASTSERVE_WITH_ZLIB
    if (c == gzip || c == deflate) return detail::make_zlib_encoder(c == gzip);
#endif
#if FASTSERVE_WITH_BROTLI
    if (c == br) return detail::make_brotli_encoder();
#endif
#if FASTSERVE_WITH_ZSTD
    if (c == zstd) return detail::make_zstd_encoder();
#endif
    return nullptr;
}

detail::decode_context* make_decoder([[maybe_unused]] content_coding c) noexcept {
#if FASTSERVE_WITH_ZLIB
    if (c == gzip || c == deflate) return detail::make_zlib_decoder(c == gzip);
#endif
#if FASTSERVE_WITH_BROTLI
    if (c == br) return detail::make_brotli_decoder();
#endif
#if FASTSERVE_WITH_ZSTD
    if (c == zstd) return detail::make_zstd_decoder();
#endif
    return nullptr;
}

} // namespace

bool available(content_coding c) noexcept {
    constexpr std::array<bool, http::content_coding_count> built{
        true, FASTSERVE_WITH_ZLIB != 0, FASTSERVE_WITH_ZLIB != 0, FASTSERVE_WITH_BROTLI != 0, FASTSERVE_WITH_ZSTD != 0};
    return built[static_cast<std::size_t>(c)];
}

template <class Context>
Context* context_cache::pop(list<Context>& from) noexcept {
    Context* const taken = from.head;
    if (taken != nullptr) {
        from.head = taken->next;
        from.bytes -= taken->charged;
        stats_.retained_bytes -= taken->charged;
        --stats_.idle;
    }
    return taken;
}

template <class Context>
void context_cache::push(list<Context>& to, Context* context) noexcept {
    context->charged = context->memory();
    while (context->charged > max_bytes_ - stats_.retained_bytes) {
        ++stats_.dropped;
        if (!evict_from_above(to.bytes + context->charged)) {
            delete context;
            return;
        }
    }
    context->next = to.head;
    to.head = context;
    to.bytes += context->charged;
    stats_.retained_bytes += context->charged;
    ++stats_.idle;
}

bool context_cache::evict_from_above(std::size_t bytes) noexcept {
    list<detail::encode_context>* encoders = nullptr;
    list<detail::decode_context>* decoders = nullptr;
    for (auto& l : encoders_)
        if (l.bytes > bytes) bytes = l.bytes, encoders = &l;
    for (auto& l : decoders_)
        if (l.bytes > bytes) bytes = l.bytes, decoders = &l;
    if (decoders != nullptr) {
        delete pop(*decoders);
    } else if (encoders != nullptr) {
        delete pop(*encoders);
    }
    return decoders != nullptr || encoders != nullptr;
}

detail::encode_context* context_cache::take_encoder(content_coding c) noexcept {
    if (detail::encode_context* const kept = pop(encoders_[static_cast<std::size_t>(c)])) {
        ++stats_.hits;
        return kept;
    }
    ++stats_.misses;
    return make_encoder(c);
}

detail::decode_context* context_cache::take_decoder(content_coding c) noexcept {
    if (detail::decode_context* const kept = pop(decoders_[static_cast<std::size_t>(c)])) {
        ++stats_.hits;
        return kept;
    }
    ++stats_.misses;
    return make_decoder(c);
}

void context_cache::give(content_coding c, detail::encode_context* context) noexcept {
    push(encoders_[static_cast<std::size_t>(c)], context);
}
void context_cache::give(content_coding c, detail::decode_context* context) noexcept {
    push(decoders_[static_cast<std::size_t>(c)], context);
}

std::size_t context_cache::trim(std::size_t keep_bytes) noexcept {
    const std::size_t before = stats_.retained_bytes;
    for (auto& l : encoders_)
        while (stats_.retained_bytes > keep_bytes && l.head != nullptr) delete pop(l);
    for (auto& l : decoders_)
        while (stats_.retained_bytes > keep_bytes && l.head != nullptr) delete pop(l);
    return before - stats_.retained_bytes;
}

} // namespace fastserve::coding
