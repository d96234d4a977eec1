// Feeds one chunked body to the decoder, cut anywhere.
#pragma once

#include <fastserve/http/chunked.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::http {

inline constexpr std::uint64_t plenty = 1 << 20;

struct outcome {
    decode_status status = decode_status::need_more;
    errc error = errc::ok;
    std::string body;
    std::size_t consumed = 0;
    std::string trailers;

    bool operator==(const outcome&) const = default;
};

inline void PrintTo(const outcome& o, std::ostream* out) {
    *out << "{status " << static_cast<int>(o.status) << ", " << message_of(o.error) << ", consumed " << o.consumed
         << ", body '" << o.body.substr(0, 100) << "', trailers '" << o.trailers << "'}";
}

// Feeds the input cut at `cuts` (ascending), each piece in memory of exactly its size, so that a sanitizer sees a look
// beyond it. `in_place` chooses between decode() and next().
inline outcome run(std::string_view input, const std::vector<std::size_t>& cuts, bool in_place, const limits& l = {},
                   std::uint64_t max_body = plenty) {
    chunked_decoder decoder(l, max_body);
    std::string trailers;
    outcome o;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size() && o.status == decode_status::need_more; ++i) {
        const std::size_t end = i < cuts.size() ? cuts[i] : input.size();
        const std::size_t size = end - begin;
        const auto piece = std::make_unique_for_overwrite<char[]>(size);
        std::memcpy(piece.get(), input.data() + begin, size);
        std::size_t consumed = 0;
        if (in_place) {
            const auto result = decoder.decode(piece.get(), size);
            EXPECT_LE(result.produced, result.consumed);
            o.status = result.status;
            o.body.append(piece.get(), result.produced);
            trailers += result.trailers;
            consumed = result.consumed;
        } else {
            do {
                const auto result = decoder.next(piece.get() + consumed, size - consumed);
                o.status = result.status;
                o.body += result.data;
                trailers += result.trailers;
                consumed += result.consumed;
            } while (o.status == decode_status::need_more && consumed < size);
        }
        o.consumed += consumed;
        if (o.status == decode_status::need_more) {
            EXPECT_EQ(consumed, size);
        }
        begin = end;
    }
    o.error = decoder.error();
    EXPECT_EQ(o.status == decode_status::error, o.error != errc::ok);
    EXPECT_EQ(o.status == decode_status::done, decoder.done());
    if (o.status == decode_status::done) o.trailers = trailers;

    // What has ended stays ended, and takes nothing more.
    if (o.status != decode_status::need_more) {
        char more[] = "5\r\nhello\r\n";
        const auto again = decoder.decode(more, sizeof more - 1);
        EXPECT_EQ(again.status, o.status);
        EXPECT_EQ(again.consumed + again.produced + again.trailers.size(), 0U);
    }
    return o;
}

} // namespace fastserve::http
