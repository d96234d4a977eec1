// zstd, by libzstd.
#include "context.hpp"

#include <algorithm>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

namespace fastserve::coding::detail {
namespace {

// Of our encoder: what the other end has to keep for each connection, and this one, too.
constexpr int window_bits = 18;
// Of our decoder: 8 MiB (RFC 9659 3).
constexpr int max_window_bits = 23;
// A frame's header is never longer (RFC 8878 3.1.1).
constexpr std::size_t max_header_bytes = 18;

errc meaning_of(std::size_t result) noexcept {
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: return errc::no_memory;
    case ZSTD_error_frameParameter_windowTooLarge: return errc::window_too_large;
    case ZSTD_error_dictionary_wrong: return errc::needs_dictionary;
    default: return errc::corrupt;
    }
}

class zstd_encoder final : public encode_context {
public:
    ~zstd_encoder() override { ZSTD_freeCCtx(context_); }

    errc reset(int level) noexcept override {
        if (context_ == nullptr) context_ = ZSTD_createCCtx();
        if (context_ == nullptr) return errc::no_memory;
        ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
        ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, std::clamp(level, 1, 19));
        ZSTD_CCtx_setParameter(context_, ZSTD_c_windowLog, window_bits);
        return errc::ok;
    }

    step encode(std::string_view input, std::span<char> output, operation wanted) noexcept override {
        const auto mode = wanted == operation::more    ? ZSTD_e_continue
                          : wanted == operation::flush ? ZSTD_e_flush
                                                       : ZSTD_e_end;
        ZSTD_inBuffer in{input.data(), input.size(), 0};
        ZSTD_outBuffer out{output.data(), output.size(), 0};
        const std::size_t left = ZSTD_compressStream2(context_, &out, &in, mode);
        step s{.consumed = in.pos, .produced = out.pos};
        if (ZSTD_isError(left)) {
            s.error = meaning_of(left) == errc::no_memory ? errc::no_memory : errc::misuse;
        } else {
            s.complete = in.pos == in.size && (wanted == operation::more ? out.pos != out.size : left == 0);
        }
        return s;
    }

    std::size_t memory() const noexcept override { return sizeof *this + ZSTD_sizeof_CCtx(context_); }

private:
    ZSTD_CCtx* context_ = nullptr;
};

class zstd_decoder final : public decode_context {
public:
    ~zstd_decoder() override { ZSTD_freeDCtx(context_); }

    errc reset() noexcept override {
        frames_ = 0;
        taken_ = 0;
        drained_ = true;
        if (context_ != nullptr) {
            ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
            return errc::ok;
        }
        context_ = ZSTD_createDCtx();
        if (context_ == nullptr) return errc::no_memory;
        ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, max_window_bits);
        return errc::ok;
    }

    step decode(std::string_view input, std::span<char> output) noexcept override {
        // The library may know formats that are older than the standard.
        if (taken_ == 0 && !input.empty() && !begins_frame(input.front())) return {.error = errc::corrupt};
        // A frame that lies in the input as a whole is decoded without looking at its window, if the header is in one
        // piece. Byte by byte it is judged the same however the input is cut.
        if (taken_ < max_header_bytes) input = input.substr(0, 1);
        // Asked in vain too often, the library calls that an error.
        if (input.empty() && drained_) return {};
        ZSTD_inBuffer in{input.data(), input.size(), 0};
        ZSTD_outBuffer out{output.data(), output.size(), 0};
        const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
        step s{.consumed = in.pos, .produced = out.pos};
        taken_ += in.pos;
        drained_ = out.pos != out.size;
        if (ZSTD_isError(left)) {
            const bool no_frame = ZSTD_getErrorCode(left) == ZSTD_error_prefix_unknown;
            s.error = no_frame && frames_ != 0 ? errc::trailing_garbage : meaning_of(left);
        } else if (left == 0 && taken_ != 0) {
            s.complete = true;
            ++frames_;
        }
        return s;
    }

    bool resume(char first) noexcept override {
        taken_ = 0; // the library begins anew by itself
        return begins_frame(first);
    }

    std::size_t memory() const noexcept override { return sizeof *this + ZSTD_sizeof_DCtx(context_); }

private:
    // The lowest byte of the number that frames, or skippable frames, begin with.
    static bool begins_frame(char first) noexcept {
        const auto byte = static_cast<unsigned char>(first);
        return byte == 0x28 || (byte & 0xf0) == 0x50;
    }

    ZSTD_DCtx* context_ = nullptr;
    std::size_t frames_ = 0;
    std::size_t taken_ = 0; // of this frame
    bool drained_ = true;   // no output waits in the library
};

} // namespace

encode_context* make_zstd_encoder() noexcept {
    return new (std::nothrow) zstd_encoder;
}
decode_context* make_zstd_decoder() noexcept {
    return new (std::nothrow) zstd_decoder;
}

} // namespace fastserve::coding::detail
