// A body in pieces, coded.
//
// Thread safety: that of its context_cache: one thread.
#pragma once

#include <fastserve/coding/coding.hpp>
#include <fastserve/coding/context_cache.hpp>
#include <fastserve/coding/error.hpp>
#include <fastserve/coding/progress.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fastserve::coding {

// How far the output has to go.
enum class operation : std::uint8_t {
    more,   // what is convenient: the library may hold everything back
    flush,  // so far that the peer can decode all of the input: for events and other answers that pause. Costs some
            // bytes
    finish, // to the end of the stream
};

struct encode_options {
    // gzip and deflate 1 to 9, br 0 to 11, zstd 1 to 19; what is outside is taken to the nearer end. Empty:
    // default_level().
    std::optional<int> level{};
};

// Turns bytes into coded bytes. Move-only; it returns its context to the cache when it is closed or destroyed.
//
// The history is 32 KiB for gzip and deflate, 128 KiB for br and 256 KiB for zstd, which bounds the memory of an
// encoder at the default level to 300 KiB, 3.5 MiB and 2 MiB, however long its stream is.
class encoder {
public:
    // With less room encode() does nothing: a flush must not be cut into pieces that are as long as its marker.
    static constexpr std::size_t min_output_bytes = 64;

    // Closed.
    encoder() noexcept = default;
    encoder(encoder&& other) noexcept
        : context_{std::exchange(other.context_, nullptr)}, cache_{other.cache_}, coding_{other.coding_},
          ended_{other.ended_}, error_{other.error_} {}
    encoder& operator=(encoder&& other) noexcept;
    ~encoder() { close(); }

    // Begins a stream, with a context from `cache`, which outlives it; what it did before is dropped. Fails with
    // unsupported or no_memory, and is closed then.
    [[nodiscard]] errc open(context_cache& cache, content_coding c, encode_options options = {}) noexcept;
    // Gives the context back, wherever in a stream it is. Nothing happens to one that is closed.
    void close() noexcept;
    bool is_open() const noexcept { return context_ != nullptr; }

    // Takes input and writes what comes of it, until the operation is complete (need_input, or done for finish) or the
    // output has less room than min_output_bytes (need_output). An operation that needs more output is continued by
    // calls with the same operation, no input that was taken before, and no new input. Fails with no_memory or misuse.
    progress encode(std::string_view input, std::span<char> output, operation wanted) noexcept;

    // The same with as much output as it takes, appended. After an error `output` holds what came before it.
    [[nodiscard]] errc append(std::string_view input, operation wanted, std::string& output) noexcept;

private:
    detail::encode_context* context_ = nullptr;
    context_cache* cache_ = nullptr;
    content_coding coding_ = identity;
    bool ended_ = false;
    errc error_ = errc::ok;
};

// A whole body, coded, appended to `output`, which is left as it was after an error. not_smaller: the coded form is not
// at least 64 bytes shorter, about what the fields it needs take; send the body as it is.
[[nodiscard]] errc encode_whole(context_cache& cache, content_coding c, std::string_view body, std::string& output,
                                encode_options options = {}) noexcept;

} // namespace fastserve::coding
