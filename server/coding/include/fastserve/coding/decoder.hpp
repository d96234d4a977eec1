// A coded body in pieces, decoded, when nobody knows whether who made it is a friend.
//
// Thread safety: that of its context_cache: one thread.
#pragma once

#include <fastserve/coding/coding.hpp>
#include <fastserve/coding/context_cache.hpp>
#include <fastserve/coding/error.hpp>
#include <fastserve/coding/progress.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve::coding {

struct decode_limits {
    // Decoded bytes of the whole stream. Exactly so many are fine.
    std::uint64_t max_bytes = std::uint64_t{8} << 20;
    // Decoded bytes for each coded byte, so far; 0: any. Honest text seldom exceeds 50; deflate can reach 1,032, br and
    // zstd many thousands.
    std::uint32_t max_ratio = 200;
    // The ratio is judged only when more than so many bytes were decoded: a short body that repeats itself is no bomb.
    std::uint64_t ratio_floor = std::uint64_t{1} << 20;
};

// Turns coded bytes into bytes. Move-only; it returns its context to the cache when it is closed or destroyed.
//
// What is taken:
// - gzip: one or more members, one after the other (RFC 1952 2.2), their checksums and lengths verified.
// - deflate: the zlib format, or, since some clients mean that, raw deflate (RFC 9110 8.4.1.2). The first byte tells
// them
//   apart: where zlib's has 8 in its lower half, raw deflate would begin with a stored block whose padding is not zero,
//   which no known encoder writes.
// - br: one stream, with windows up to 16 MiB; not the large ones that are no part of RFC 7932.
// - zstd: one or more frames, skippable ones among them, with windows up to 8 MiB (RFC 9659). Not the formats from
//   before RFC 8878.
// Anything behind the last of these is trailing_garbage, zeros as well. No dictionaries.
//
// How input and output are cut changes neither the verdict nor the body, but for the ratio, which is judged after each
// piece of at most 64 KiB that was decoded, and for how much comes out before an error.
//
// Memory: 48 KiB for gzip and deflate, the window and some 600 KiB for br and zstd.
class decoder {
public:
    // Closed.
    decoder() noexcept = default;
    decoder(decoder&& other) noexcept
        : context_{std::exchange(other.context_, nullptr)}, cache_{other.cache_}, limits_{other.limits_},
          consumed_{other.consumed_}, produced_{other.produced_}, coding_{other.coding_}, ended_{other.ended_},
          error_{other.error_} {}
    decoder& operator=(decoder&& other) noexcept;
    ~decoder() { close(); }

    // Begins a stream, with a context from `cache`, which outlives it; what it did before is dropped. Fails with
    // unsupported or no_memory, and is closed then.
    [[nodiscard]] errc open(context_cache& cache, content_coding c, decode_limits limits = {}) noexcept;
    // Gives the context back, wherever in a stream it is. Nothing happens to one that is closed.
    void close() noexcept;
    bool is_open() const noexcept { return context_ != nullptr; }

    // Takes input and writes what comes of it, never more than there is room for. `last` says that nothing follows this
    // input: only then can it be done, and only then is an incomplete stream truncated. need_output: call again with
    // the rest of the input, which may be empty, and room for a byte at least. An error is final.
    progress decode(std::string_view input, std::span<char> output, bool last) noexcept;

    // The same with as much output as it takes, within the limits, appended. After an error `output` holds what came
    // before it.
    [[nodiscard]] errc append(std::string_view input, bool last, std::string& output) noexcept;

    // Of this stream, so far.
    std::uint64_t consumed() const noexcept { return consumed_; }
    std::uint64_t produced() const noexcept { return produced_; }

private:
    progress fail(progress so_far, errc e) noexcept;

    detail::decode_context* context_ = nullptr;
    context_cache* cache_ = nullptr;
    decode_limits limits_{};
    std::uint64_t consumed_ = 0;
    std::uint64_t produced_ = 0;
    content_coding coding_ = identity;
    bool ended_ = false; // at the end of a member or frame, where the stream may end
    errc error_ = errc::ok;
};

// A whole body, decoded, appended to `output`, which is left as it was after an error.
[[nodiscard]] errc decode_whole(context_cache& cache, content_coding c, std::string_view body, std::string& output,
                                decode_limits limits = {}) noexcept;

} // namespace fastserve::coding
