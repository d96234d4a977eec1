// What the tests of the codings share: bodies, and coding and decoding in pieces of random size.
#pragma once

#include <fastserve/coding/coding.hpp>
#include <fastserve/coding/context_cache.hpp>
#include <fastserve/coding/decoder.hpp>
#include <fastserve/coding/encoder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coding_test {

using namespace fastserve::coding;

// Those that this build has.
inline std::vector<content_coding> codings() {
    std::vector<content_coding> all;
    for (const content_coding c : {gzip, deflate, br, zstd})
        if (available(c)) all.push_back(c);
    return all;
}

// Text that shrinks to a fourth or so.
inline std::string words(std::size_t size, std::uint64_t seed = 1) {
    static constexpr std::string_view list[] = {"request", "response", "{\"id\":", "field", "<td>", "of", "worker",
                                                "\n",      "the",      "0.25",     "a",     "}",    "in", "connection"};
    std::mt19937_64 random(seed);
    std::string text;
    while (text.size() < size) {
        text += list[random() % std::size(list)];
        text += random() % 4 == 0 ? std::to_string(random() % 10'000) : " ";
    }
    text.resize(size);
    return text;
}

inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

// The coded form, however long; fails the test when there is none.
inline std::string encoded(context_cache& cache, content_coding c, std::string_view body, encode_options options = {}) {
    encoder coder;
    EXPECT_EQ(coder.open(cache, c, options), errc::ok);
    std::string out;
    EXPECT_EQ(coder.append(body, operation::finish, out), errc::ok);
    return out;
}
inline std::string encoded(content_coding c, std::string_view body) {
    context_cache cache;
    return encoded(cache, c, body);
}

struct decoded {
    errc error = errc::ok;
    std::string body; // also what came before an error
};

// How to cut: pieces of the input and of the output have 1 to so many bytes.
struct cuts {
    std::size_t input;
    std::size_t output;
};

inline decoded decode_in_pieces(context_cache& cache, content_coding c, std::string_view input, cuts most,
                                std::uint64_t seed, decode_limits limits = {}) {
    std::mt19937_64 random(seed);
    decoder coder;
    decoded result;
    if ((result.error = coder.open(cache, c, limits)) != errc::ok) return result;
    std::string room;
    constexpr std::string_view guard = "not yours";
    for (std::string_view piece;;) {
        if (piece.empty()) piece = input.substr(0, 1 + random() % most.input);
        const bool last = piece.size() == input.size();
        // Behind the room that is offered stands what nobody may touch.
        const std::size_t size = 1 + random() % most.output;
        room.resize(most.output + guard.size());
        room.replace(size, guard.size(), guard);
        const progress p = coder.decode(piece, std::span(room).first(size), last);
        EXPECT_LE(p.produced, size);
        EXPECT_EQ(std::string_view(room).substr(size, guard.size()), guard);
        EXPECT_EQ(p.error != errc::ok, p.state == status::error);
        result.body.append(room, 0, p.produced);
        input.remove_prefix(p.consumed);
        piece.remove_prefix(p.consumed);
        if (p.state == status::error || p.state == status::done) {
            result.error = p.error;
            EXPECT_TRUE(p.state == status::error || input.empty());
            EXPECT_EQ(coder.produced(), result.body.size());
            return result;
        }
        if (p.state == status::need_input) {
            EXPECT_TRUE(piece.empty());
        }
    }
}

inline decoded decode(content_coding c, std::string_view input, decode_limits limits = {}) {
    context_cache cache;
    decoded result;
    decoder coder;
    if ((result.error = coder.open(cache, c, limits)) == errc::ok)
        result.error = coder.append(input, true, result.body);
    return result;
}

// The same verdict, in one piece and cut in several ways.
inline decoded decode_all_ways(content_coding c, std::string_view input, decode_limits limits = {}) {
    const decoded whole = decode(c, input, limits);
    context_cache cache;
    for (const cuts most : {cuts{1, 1}, cuts{1, 100'000}, cuts{100'000, 1}, cuts{7, 5}, cuts{1'000, 1'000}}) {
        if (input.size() / most.input + whole.body.size() / most.output > 60'000) continue;
        const decoded pieces = decode_in_pieces(cache, c, input, most, 1, limits);
        EXPECT_EQ(pieces.error, whole.error) << to_string(c) << " " << most.input << " " << most.output;
        // A library may find what is wrong before it gives away what was right.
        EXPECT_TRUE(whole.error == errc::ok || whole.error == errc::too_large
                        ? pieces.body == whole.body
                        : pieces.body.starts_with(whole.body) || whole.body.starts_with(pieces.body));
    }
    return whole;
}

} // namespace coding_test

namespace fastserve::coding {
inline void PrintTo(errc e, std::ostream* to) {
    *to << message_of(e);
}
} // namespace fastserve::coding
