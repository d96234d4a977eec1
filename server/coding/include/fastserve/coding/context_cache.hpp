// A worker's contexts of the compression libraries that nobody uses at the moment. Making one costs far more than
// coding a small body with it: it is up to megabytes, in part to be cleared.
//
// Thread safety: one thread at a time, with all encoders and decoders that were opened with it. No atomics, no locks.
//
// Invariants: retained_bytes() is the sum of the idle contexts' memory and never exceeds the bound given to the
// constructor. Each idle context is in the list of its coding and direction; where there is no room for one more, the
// list that holds the most has to yield, so that a burst of one coding does not shut out the others. A context that met
// an error is as good as any other: it is reset before it is used again.
//
// Why not pool::local_cache: that is bounded by a number of equal objects whose memory is its pool's, these differ by a
// factor of a hundred, grow while they are used, and their memory is malloc's.
#pragma once

#include <fastserve/coding/coding.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace fastserve::coding {

namespace detail {
class encode_context;
class decode_context;
} // namespace detail

class context_cache {
public:
    // Room for a handful of encoders of each coding.
    static constexpr std::size_t default_max_bytes = std::size_t{8} << 20;

    struct stats {
        std::uint64_t hits = 0;    // contexts that were reused
        std::uint64_t misses = 0;  // contexts that were made
        std::uint64_t dropped = 0; // contexts that were deleted since there was no room
        std::size_t idle = 0;      // contexts kept now
        std::size_t retained_bytes = 0;
    };

    // Holds nothing before something was used. `max_bytes` of 0: nothing is ever kept.
    explicit context_cache(std::size_t max_bytes = default_max_bytes) noexcept : max_bytes_{max_bytes} {}
    context_cache(const context_cache&) = delete;
    context_cache& operator=(const context_cache&) = delete;
    // Every encoder and decoder that was opened with it is closed before.
    ~context_cache() { trim(); }

    // Gives idle contexts back to malloc until at most `keep_bytes` are retained; the bytes given back. For a worker
    // that is about to sleep for long, or short of memory.
    std::size_t trim(std::size_t keep_bytes = 0) noexcept;

    const stats& snapshot() const noexcept { return stats_; }

private:
    friend class encoder;
    friend class decoder;

    // Null: no memory. Not reset.
    detail::encode_context* take_encoder(content_coding c) noexcept;
    detail::decode_context* take_decoder(content_coding c) noexcept;
    // Keeps or deletes.
    void give(content_coding c, detail::encode_context* context) noexcept;
    void give(content_coding c, detail::decode_context* context) noexcept;

    // Idle contexts of one coding and direction, the one given back last in front.
    template <class Context>
    struct list {
        Context* head = nullptr;
        std::size_t bytes = 0;
    };
    template <class Context>
    Context* pop(list<Context>& from) noexcept;
    template <class Context>
    void push(list<Context>& to, Context* context) noexcept;
    // Deletes one from the list with the most bytes, if that are more than `bytes`.
    bool evict_from_above(std::size_t bytes) noexcept;

    std::array<list<detail::encode_context>, http::content_coding_count> encoders_{};
    std::array<list<detail::decode_context>, http::content_coding_count> decoders_{};
    std::size_t max_bytes_;
    stats stats_{};
};

} // namespace fastserve::coding
