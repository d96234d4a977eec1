// What a compression library has to offer to encoder and decoder, and the makers of it.
#pragma once

#include <fastserve/coding/coding.hpp>
#include <fastserve/coding/encoder.hpp>
#include <fastserve/coding/error.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace fastserve::coding::detail {

struct step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    // Encoding: the operation is. Decoding: the member or frame is.
    bool complete = false;
    errc error = errc::ok;
};

class encode_context {
public:
    encode_context() noexcept = default;
    encode_context(const encode_context&) = delete;
    encode_context& operator=(const encode_context&) = delete;
    virtual ~encode_context() = default;

    // Makes it ready for a stream, whatever happened before; the first time also. ok or no_memory; after that it is
    // only to be deleted.
    virtual errc reset(int level) noexcept = 0;
    // One call of the library, or a few. It need not take all of the input even where there is room.
    virtual step encode(std::string_view input, std::span<char> output, operation wanted) noexcept = 0;
    // Bytes it occupies now.
    virtual std::size_t memory() const noexcept = 0;

    encode_context* next = nullptr; // in the cache
    std::size_t charged = 0;        // what the cache has counted for it
};

class decode_context {
public:
    decode_context() noexcept = default;
    decode_context(const decode_context&) = delete;
    decode_context& operator=(const decode_context&) = delete;
    virtual ~decode_context() = default;

    virtual errc reset() noexcept = 0;
    // Neither takes more nor writes more than it needs to. Less than all room used: it wants input, or is complete.
    virtual step decode(std::string_view input, std::span<char> output) noexcept = 0;
    // After it was complete: whether another member or frame may begin with this byte, for which it then is ready.
    virtual bool resume(char first) noexcept = 0;
    virtual std::size_t memory() const noexcept = 0;

    decode_context* next = nullptr;
    std::size_t charged = 0;
};

// Null: no memory. Each is defined in the one file that knows its library, if that is part of the build.
encode_context* make_zlib_encoder(bool gzip_format) noexcept;
decode_context* make_zlib_decoder(bool gzip_format) noexcept;
encode_context* make_brotli_encoder() noexcept;
decode_context* make_brotli_decoder() noexcept;
encode_context* make_zstd_encoder() noexcept;
decode_context* make_zstd_decoder() noexcept;

} // namespace fastserve::coding::detail
