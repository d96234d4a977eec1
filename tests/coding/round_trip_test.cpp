// What was coded is what comes back, however it was cut.
#include "coding_site.hpp"

#include <chrono>

namespace {

using namespace coding_test;

std::string encode_in_pieces(context_cache& cache, content_coding c, std::string_view input, cuts most,
                             std::mt19937_64& random, encode_options options) {
    encoder coder;
    EXPECT_EQ(coder.open(cache, c, options), errc::ok);
    std::string out, room;
    for (;;) {
        std::string_view piece = input.substr(0, 1 + random() % most.input);
        input.remove_prefix(piece.size());
        const operation wanted = input.empty()        ? operation::finish
                                 : random() % 16 == 0 ? operation::flush
                                                      : operation::more;
        for (;;) {
            const std::size_t size = encoder::min_output_bytes + random() % most.output;
            room.resize(encoder::min_output_bytes + most.output);
            const progress p = coder.encode(piece, std::span(room).first(size), wanted);
            EXPECT_LE(p.produced, size);
            EXPECT_EQ(p.error, errc::ok);
            out.append(room, 0, p.produced);
            piece.remove_prefix(p.consumed);
            if (p.state == status::done || p.state == status::error) return out;
            if (p.state == status::need_input) break;
        }
        EXPECT_TRUE(piece.empty());
        EXPECT_NE(wanted, operation::finish);
    }
}

TEST(coding_round_trip, cut_anywhere) {
    const auto seed = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    SCOPED_TRACE("seed " + std::to_string(seed));
    RecordProperty("seed", std::to_string(seed));
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    context_cache cache(std::size_t{64} << 20);
    const std::string bodies[] = {"",
                                  "a",
                                  words(100, seed),
                                  words(3'000, seed),
                                  words(300'000, seed),
                                  noise(5'000),
                                  noise(100'000, seed),
                                  std::string(200'000, '\0')};
    for (const content_coding c : codings()) {
        for (const std::string& body : bodies) {
            for (int round = 0; round != 6; ++round) {
                SCOPED_TRACE(std::string(to_string(c)) + " " + std::to_string(body.size()) + " " +
                             std::to_string(round));
                const std::size_t sizes[] = {3, 100, 10'000, 1'000'000};
                const std::size_t shift = body.size() > 10'000 ? 1 : 0;
                const auto pick = [&] { return sizes[shift + random() % (4 - shift)]; };
                const encode_options options{.level = static_cast<int>(random() % 7)};
                const std::string coded = encode_in_pieces(cache, c, body, {pick(), pick()}, random, options);
                const decoded back = decode_in_pieces(cache, c, coded, {pick(), pick()}, random());
                ASSERT_EQ(back.error, errc::ok);
                ASSERT_TRUE(back.body == body);
            }
        }
    }
    EXPECT_LE(cache.snapshot().misses, 2 * codings().size());
}

TEST(coding_round_trip, whole) {
    context_cache cache;
    for (const content_coding c : codings()) {
        const std::string body = words(100'000);
        std::string coded = "head", back = "tail";
        ASSERT_EQ(encode_whole(cache, c, body, coded), errc::ok);
        EXPECT_TRUE(coded.starts_with("head"));
        EXPECT_LT(coded.size(), body.size() / 2);
        ASSERT_EQ(decode_whole(cache, c, std::string_view(coded).substr(4), back), errc::ok);
        EXPECT_TRUE(back == "tail" + body);
    }
}

TEST(coding_round_trip, what_others_have_made) {
    const auto of = [](auto... bytes) { return std::string{static_cast<char>(bytes)...}; };
    struct {
        content_coding c;
        std::string bytes;
    } const made[] = {
        {gzip, of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0,
                  0, 0)},
        {deflate, of(0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 6, 0x2c, 2, 0x15)},
        {deflate, of(0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0)},           // raw
        {deflate, of(1, 5, 0, 0xfa, 0xff, 'h', 'e', 'l', 'l', 'o')}, // raw and stored
        {br, of(0x0b, 2, 0x80, 'h', 'e', 'l', 'l', 'o', 3)},
        {zstd, of(0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x29, 0, 0, 'h', 'e', 'l', 'l', 'o')},
        {zstd, of(0x28, 0xb5, 0x2f, 0xfd, 4, 0x58, 0x29, 0, 0, 'h', 'e', 'l', 'l', 'o', 0xa3, 0x6d, 0x9f, 0x88)},
    };
    for (const auto& m : made) {
        if (!available(m.c)) continue;
        const decoded back = decode_all_ways(m.c, m.bytes);
        EXPECT_EQ(back.error, errc::ok) << to_string(m.c);
        EXPECT_EQ(back.body, "hello") << to_string(m.c);
    }
}

TEST(coding_round_trip, a_flush_reaches_the_peer) {
    context_cache cache;
    for (const content_coding c : codings()) {
        SCOPED_TRACE(to_string(c));
        encoder coder;
        decoder other;
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        ASSERT_EQ(other.open(cache, c), errc::ok);
        std::string sent, got;
        for (int i = 0; i != 50; ++i) {
            const std::string event = "data: " + std::to_string(i) + "\n\n";
            sent += event;
            std::string wire;
            ASSERT_EQ(coder.append(event, operation::flush, wire), errc::ok);
            ASSERT_EQ(other.append(wire, false, got), errc::ok);
            ASSERT_EQ(got, sent);
        }
        std::string wire;
        ASSERT_EQ(coder.append({}, operation::finish, wire), errc::ok);
        EXPECT_EQ(other.append(wire, true, got), errc::ok);
        EXPECT_EQ(got, sent);
    }
}

TEST(coding_round_trip, flushes_end_whatever_the_room) {
    context_cache cache;
    for (const content_coding c : codings()) {
        const std::string body = noise(3'000);
        for (std::size_t room = encoder::min_output_bytes; room != encoder::min_output_bytes + 70; ++room) {
            encoder coder;
            ASSERT_EQ(coder.open(cache, c), errc::ok);
            std::string wire, piece(room, '\0');
            const auto run = [&](std::string_view input, operation wanted) {
                for (int calls = 0; calls != 200; ++calls) {
                    const progress p = coder.encode(input, piece, wanted);
                    wire.append(piece, 0, p.produced);
                    input.remove_prefix(p.consumed);
                    if (p.state != status::need_output) return p.state;
                }
                return status::need_output;
            };
            ASSERT_EQ(run(body, operation::flush), status::need_input) << to_string(c) << " " << room;
            ASSERT_EQ(run({}, operation::flush), status::need_input);
            EXPECT_LT(wire.size(), body.size() + 100);
            ASSERT_EQ(run({}, operation::finish), status::done);
            EXPECT_TRUE(decode(c, wire).body == body);
        }
    }
}

TEST(coding_round_trip, a_room_too_small_changes_nothing) {
    context_cache cache;
    for (const content_coding c : codings()) {
        encoder coder;
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        std::string room(encoder::min_output_bytes - 1, '#');
        const progress p = coder.encode("hello", room, operation::finish);
        EXPECT_EQ(p.state, status::need_output);
        EXPECT_EQ(p.consumed + p.produced, 0u);
        std::string wire;
        ASSERT_EQ(coder.append("hello", operation::finish, wire), errc::ok);
        EXPECT_EQ(decode(c, wire).body, "hello");
    }
}

TEST(coding_round_trip, every_level_and_those_beyond) {
    context_cache cache;
    const std::string body = words(20'000);
    for (const content_coding c : codings())
        for (const int level : {-1'000, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 19, 1'000}) {
            const decoded back = decode(c, encoded(cache, c, body, {.level = level}));
            EXPECT_EQ(back.error, errc::ok) << to_string(c) << " " << level;
            EXPECT_TRUE(back.body == body) << to_string(c) << " " << level;
        }
    // A context that is used again takes the new level, not the old one.
    for (const content_coding c : codings()) {
        const std::string fast = encoded(cache, c, body, {.level = 1});
        const std::string tight = encoded(cache, c, body, {.level = 9});
        EXPECT_LT(tight.size(), fast.size()) << to_string(c);
        EXPECT_EQ(encoded(cache, c, body, {.level = 1}), fast) << to_string(c);
        EXPECT_EQ(encoded(cache, c, body), encoded(cache, c, body, {.level = default_level(c)})) << to_string(c);
    }
}

TEST(coding_round_trip, what_does_not_shrink_is_left_alone) {
    context_cache cache;
    for (const content_coding c : codings()) {
        for (const std::string& body : {std::string(), std::string("a"), std::string(63, 'a'), std::string(64, 'a'),
                                        noise(1'000), noise(100'000)}) {
            std::string out = "as it was";
            EXPECT_EQ(encode_whole(cache, c, body, out), errc::not_smaller) << to_string(c) << " " << body.size();
            EXPECT_EQ(out, "as it was");
        }
        // At the border: so much noise, and behind it something that shrinks. 64 bytes less are enough, 63 are not.
        int smaller = 0, larger = 0;
        for (std::size_t tail = 0; tail != 200; ++tail) {
            const std::string body = noise(500) + std::string(tail, 'a');
            const std::string full = encoded(cache, c, body);
            std::string out;
            const errc got = encode_whole(cache, c, body, out);
            const bool worth = full.size() + 64 <= body.size();
            ASSERT_EQ(got, worth ? errc::ok : errc::not_smaller) << to_string(c) << " " << tail;
            ASSERT_EQ(out, worth ? full : "") << to_string(c) << " " << tail;
            ++(worth ? smaller : larger);
        }
        EXPECT_GT(smaller, 50);
        EXPECT_GT(larger, 50);
    }
}

} // namespace
