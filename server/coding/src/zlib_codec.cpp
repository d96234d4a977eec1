// gzip and deflate, by zlib.
#include "block_allocator.hpp"
#include "context.hpp"

#include <algorithm>
#include <new>

#define ZLIB_CONST // NOLINT(bugprone-reserved-identifier): with it zlib takes constant input
#include <zlib.h>

namespace fastserve::coding::detail {
namespace {

constexpr int window_bits = 15;
constexpr int with_gzip = 16; // added to the window's bits

// zlib counts in 32 bits.
constexpr std::size_t max_piece = std::size_t{1} << 30;

void* take(void* self, uInt items, uInt size) {
    return block_allocator::take_for(self, std::size_t{items} * size);
}

class zlib_stream {
protected:
    zlib_stream() noexcept {
        z_.zalloc = take;
        z_.zfree = block_allocator::give_for;
        z_.opaque = &memory_;
    }
    void point(std::string_view input, std::span<char> output) noexcept {
        z_.next_in = reinterpret_cast<const Bytef*>(input.data());
        z_.avail_in = static_cast<uInt>(std::min(input.size(), max_piece));
        z_.next_out = reinterpret_cast<Bytef*>(output.data());
        z_.avail_out = static_cast<uInt>(std::min(output.size(), max_piece));
    }
    step moved(std::string_view input, std::span<char> output) const noexcept {
        return {.consumed = std::min(input.size(), max_piece) - z_.avail_in,
                .produced = std::min(output.size(), max_piece) - z_.avail_out};
    }

    block_allocator memory_;
    z_stream z_{};
    bool made_ = false;
};

class zlib_encoder final : public encode_context, zlib_stream {
public:
    explicit zlib_encoder(bool gzip_format) noexcept : bits_{gzip_format ? window_bits + with_gzip : window_bits} {}
    ~zlib_encoder() override {
        if (made_) deflateEnd(&z_);
    }

    errc reset(int level) noexcept override {
        level = std::clamp(level, 1, 9);
        if (made_) {
            // Between a reset and the first input other parameters take effect without any output.
            point({}, {});
            if (deflateReset(&z_) == Z_OK && deflateParams(&z_, level, Z_DEFAULT_STRATEGY) == Z_OK) return errc::ok;
            deflateEnd(&z_);
            made_ = false;
        }
        made_ = deflateInit2(&z_, level, Z_DEFLATED, bits_, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        return made_ ? errc::ok : errc::no_memory;
    }

    step encode(std::string_view input, std::span<char> output, operation wanted) noexcept override {
        point(input, output);
        const bool all = z_.avail_in == input.size();
        const int mode = !all || wanted == operation::more ? Z_NO_FLUSH
                         : wanted == operation::flush      ? Z_SYNC_FLUSH
                                                           : Z_FINISH;
        const int result = ::deflate(&z_, mode);
        step s = moved(input, output);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) s.error = errc::misuse;
        s.complete = all && (mode == Z_FINISH ? result == Z_STREAM_END : z_.avail_in == 0 && z_.avail_out != 0);
        return s;
    }

    std::size_t memory() const noexcept override { return sizeof *this + memory_.bytes(); }

private:
    int bits_;
};

class zlib_decoder final : public decode_context, zlib_stream {
public:
    explicit zlib_decoder(bool gzip_format) noexcept : gzip_format_{gzip_format} {}
    ~zlib_decoder() override {
        if (made_) inflateEnd(&z_);
    }

    errc reset() noexcept override {
        members_ = 0;
        format_known_ = gzip_format_;
        const int bits = gzip_format_ ? window_bits + with_gzip : window_bits;
        point({}, {});
        const int result = made_ ? inflateReset2(&z_, bits) : inflateInit2(&z_, bits);
        made_ = made_ || result == Z_OK;
        return result == Z_OK ? errc::ok : errc::no_memory;
    }

    step decode(std::string_view input, std::span<char> output) noexcept override {
        if (!format_known_) {
            if (input.empty()) return {};
            format_known_ = true;
            const bool zlib_format = (static_cast<unsigned char>(input.front()) & 0x0f) == Z_DEFLATED;
            if (!zlib_format && inflateReset2(&z_, -window_bits) != Z_OK) return {.error = errc::no_memory};
        }
        point(input, output);
        const int result = inflate(&z_, Z_NO_FLUSH);
        step s = moved(input, output);
        switch (result) {
        case Z_STREAM_END:
            s.complete = true;
            ++members_;
            break;
        case Z_OK:
        case Z_BUF_ERROR: break;
        case Z_NEED_DICT: s.error = errc::needs_dictionary; break;
        case Z_MEM_ERROR: s.error = errc::no_memory; break;
        default: // the two bytes that a member begins with tell whether this was one
            s.error = members_ != 0 && z_.total_in <= 2 ? errc::trailing_garbage : errc::corrupt;
        }
        return s;
    }

    bool resume(char first) noexcept override {
        return gzip_format_ && static_cast<unsigned char>(first) == 0x1f && inflateReset(&z_) == Z_OK;
    }

    std::size_t memory() const noexcept override { return sizeof *this + memory_.bytes(); }

private:
    std::size_t members_ = 0;
    bool gzip_format_;
    bool format_known_ = false;
};

} // namespace

encode_context* make_zlib_encoder(bool gzip_format) noexcept {
    return new (std::nothrow) zlib_encoder(gzip_format);
}
decode_context* make_zlib_decoder(bool gzip_format) noexcept {
    return new (std::nothrow) zlib_decoder(gzip_format);
}

} // namespace fastserve::coding::detail
