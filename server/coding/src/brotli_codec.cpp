// br, by libbrotli. Its contexts cannot be reset, but destroyed and made again from the same blocks.
#include "block_allocator.hpp"
#include "context.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <new>

#include <brotli/decode.h>
#include <brotli/encode.h>

namespace fastserve::coding::detail {
namespace {

// The library's own choice, 22, makes 25 MB of every long stream; and with each bit less it is about half.
constexpr std::uint32_t window_bits = 17;

class brotli_encoder final : public encode_context {
public:
    ~brotli_encoder() override { BrotliEncoderDestroyInstance(state_); }

    errc reset(int level) noexcept override {
        memory_.rotate();
        BrotliEncoderDestroyInstance(state_);
        state_ = BrotliEncoderCreateInstance(block_allocator::take_for, block_allocator::give_for, &memory_);
        if (state_ == nullptr) return errc::no_memory;
        level = std::clamp(level, BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY);
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(level));
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN, window_bits);
        return errc::ok;
    }

    // The encoder may be built so that it ends the process when it gets no memory (Debian's is), so it is left there
    // and then. It is C, whose frames have nothing to unwind, and all it owns is blocks of ours.
    step encode(std::string_view input, std::span<char> output, operation wanted) noexcept override {
        std::jmp_buf refused;
        if (setjmp(refused) == 0) {
            memory_.escape_to(&refused);
            const step s = compress(input, output, wanted);
            memory_.escape_to(nullptr);
            return s;
        }
        memory_.escape_to(nullptr);
        state_ = nullptr;
        memory_.drop_all();
        return {.error = errc::no_memory};
    }

    std::size_t memory() const noexcept override { return sizeof *this + memory_.bytes(); }

private:
    step compress(std::string_view input, std::span<char> output, operation wanted) noexcept {
        const auto mode = wanted == operation::more    ? BROTLI_OPERATION_PROCESS
                          : wanted == operation::flush ? BROTLI_OPERATION_FLUSH
                                                       : BROTLI_OPERATION_FINISH;
        auto* in = reinterpret_cast<const std::uint8_t*>(input.data());
        auto* out = reinterpret_cast<std::uint8_t*>(output.data());
        std::size_t unread = input.size();
        std::size_t room = output.size();
        const bool good = BrotliEncoderCompressStream(state_, mode, &unread, &in, &room, &out, nullptr) != BROTLI_FALSE;
        step s{.consumed = input.size() - unread, .produced = output.size() - room};
        if (!good) s.error = errc::misuse;
        s.complete = unread == 0 && BrotliEncoderHasMoreOutput(state_) == BROTLI_FALSE &&
                     (wanted != operation::finish || BrotliEncoderIsFinished(state_) != BROTLI_FALSE);
        return s;
    }

    block_allocator memory_;
    BrotliEncoderState* state_ = nullptr;
};

class brotli_decoder final : public decode_context {
public:
    ~brotli_decoder() override { BrotliDecoderDestroyInstance(state_); }

    errc reset() noexcept override {
        memory_.rotate();
        BrotliDecoderDestroyInstance(state_);
        state_ = BrotliDecoderCreateInstance(block_allocator::take_for, block_allocator::give_for, &memory_);
        return state_ == nullptr ? errc::no_memory : errc::ok;
    }

    step decode(std::string_view input, std::span<char> output) noexcept override {
        auto* in = reinterpret_cast<const std::uint8_t*>(input.data());
        auto* out = reinterpret_cast<std::uint8_t*>(output.data());
        std::size_t unread = input.size();
        std::size_t room = output.size();
        const auto result = BrotliDecoderDecompressStream(state_, &unread, &in, &room, &out, nullptr);
        step s{.consumed = input.size() - unread, .produced = output.size() - room};
        s.complete = result == BROTLI_DECODER_RESULT_SUCCESS;
        if (result == BROTLI_DECODER_RESULT_ERROR) s.error = memory_.failed() ? errc::no_memory : errc::corrupt;
        return s;
    }

    bool resume(char) noexcept override { return false; }

    std::size_t memory() const noexcept override { return sizeof *this + memory_.bytes(); }

private:
    block_allocator memory_;
    BrotliDecoderState* state_ = nullptr;
};

} // namespace

encode_context* make_brotli_encoder() noexcept {
    return new (std::nothrow) brotli_encoder;
}
decode_context* make_brotli_decoder() noexcept {
    return new (std::nothrow) brotli_decoder;
}

} // namespace fastserve::coding::detail
