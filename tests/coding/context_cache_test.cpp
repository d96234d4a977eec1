// Contexts are used again, within a bound, and given back.
#include "coding_site.hpp"

#include <utility>

namespace {

using namespace coding_test;

TEST(coding_cache, a_context_is_used_again) {
    for (const content_coding c : codings()) {
        context_cache cache;
        for (int i = 0; i != 5; ++i) {
            const std::string coded = encoded(cache, c, "hello");
            std::string back;
            ASSERT_EQ(decode_whole(cache, c, coded, back), errc::ok);
            ASSERT_EQ(back, "hello");
        }
        const auto& s = cache.snapshot();
        EXPECT_EQ(s.misses, 2u);
        EXPECT_EQ(s.hits, 8u);
        EXPECT_EQ(s.idle, 2u);
        EXPECT_EQ(s.dropped, 0u);
        EXPECT_GT(s.retained_bytes, 0u);
    }
}

TEST(coding_cache, one_left_in_the_middle_is_used_again) {
    context_cache cache;
    const std::string body = words(50'000);
    for (const content_coding c : codings()) {
        const std::string coded = encoded(cache, c, body);
        for (const operation wanted : {operation::more, operation::flush}) {
            encoder coder;
            ASSERT_EQ(coder.open(cache, c), errc::ok);
            std::string room(100, '\0');
            (void)coder.encode(noise(10'000), room, wanted);
            decoder reader;
            ASSERT_EQ(reader.open(cache, c), errc::ok);
            (void)reader.decode(std::string_view(coded).substr(0, 1'000), room, false);
            coder.close();
            reader.close();
            EXPECT_FALSE(coder.is_open() || reader.is_open());
            EXPECT_EQ(encoded(cache, c, body), coded) << to_string(c);
            std::string back;
            ASSERT_EQ(decode_whole(cache, c, coded, back), errc::ok);
            EXPECT_TRUE(back == body);
        }
    }
    EXPECT_EQ(cache.snapshot().misses, 2 * codings().size());
}

TEST(coding_cache, several_at_the_same_time) {
    context_cache cache(std::size_t{64} << 20);
    std::vector<encoder> coders;
    std::vector<std::string> wires;
    for (const content_coding c : codings())
        for (int i = 0; i != 3; ++i) {
            coders.emplace_back();
            ASSERT_EQ(coders.back().open(cache, c), errc::ok);
        }
    wires.resize(coders.size());
    for (int round = 0; round != 20; ++round)
        for (std::size_t i = 0; i != coders.size(); ++i)
            ASSERT_EQ(coders[i].append(std::to_string(i) + ",", operation::more, wires[i]), errc::ok);
    std::size_t i = 0;
    for (const content_coding c : codings())
        for (int k = 0; k != 3; ++k, ++i) {
            ASSERT_EQ(coders[i].append({}, operation::finish, wires[i]), errc::ok);
            std::string expected;
            for (int round = 0; round != 20; ++round) expected += std::to_string(i) + ",";
            EXPECT_EQ(decode(c, wires[i]).body, expected);
        }
    coders.clear();
    EXPECT_EQ(cache.snapshot().idle, 3 * codings().size());
}

TEST(coding_cache, the_bound_holds) {
    for (const content_coding c : codings()) {
        std::size_t one = 0;
        {
            context_cache cache;
            encoded(cache, c, words(100'000));
            one = cache.snapshot().retained_bytes;
            ASSERT_GT(one, 10'000u);
        }
        for (const std::size_t bound : {std::size_t{0}, one - 1, one, 2 * one - 1, 2 * one}) {
            context_cache cache(bound);
            {
                encoder a, b, d;
                for (encoder* e : {&a, &b, &d}) {
                    std::string out;
                    ASSERT_EQ(e->open(cache, c), errc::ok);
                    ASSERT_EQ(e->append(words(100'000), operation::finish, out), errc::ok);
                }
            }
            EXPECT_LE(cache.snapshot().retained_bytes, bound);
            EXPECT_EQ(cache.snapshot().idle, bound / one) << to_string(c);
            EXPECT_EQ(cache.snapshot().dropped, 3 - bound / one);
        }
    }
}

TEST(coding_cache, a_burst_of_one_coding_does_not_shut_out_the_others) {
    if (!available(gzip)) return; // of which many fit
    context_cache cache;
    {
        std::vector<encoder> burst(40);
        for (encoder& e : burst) ASSERT_EQ(e.open(cache, gzip), errc::ok);
    }
    EXPECT_GT(cache.snapshot().dropped, 0u);
    const std::size_t idle = cache.snapshot().idle;
    EXPECT_GT(idle, 20u);
    for (const content_coding c : codings()) {
        encoded(cache, c, words(100'000));
        const std::uint64_t hits = cache.snapshot().hits;
        encoded(cache, c, words(100'000));
        EXPECT_EQ(cache.snapshot().hits, hits + 1) << to_string(c);
    }
    EXPECT_GT(cache.snapshot().idle, 5u);
    EXPECT_LE(cache.snapshot().retained_bytes, context_cache::default_max_bytes);
}

TEST(coding_cache, trimming_gives_back) {
    context_cache cache;
    for (const content_coding c : codings()) {
        std::string back;
        ASSERT_EQ(decode_whole(cache, c, encoded(cache, c, words(10'000)), back), errc::ok);
    }
    const std::size_t held = cache.snapshot().retained_bytes;
    EXPECT_EQ(cache.snapshot().idle, 2 * codings().size());
    EXPECT_EQ(cache.trim(held), 0u);
    const std::size_t some = cache.trim(held - 1);
    EXPECT_GT(some, 0u);
    EXPECT_EQ(cache.snapshot().retained_bytes, held - some);
    EXPECT_EQ(cache.trim(), held - some);
    EXPECT_EQ(cache.snapshot().idle, 0u);
    EXPECT_EQ(cache.snapshot().retained_bytes, 0u);
    for (const content_coding c : codings()) EXPECT_EQ(decode(c, encoded(cache, c, "again")).body, "again");
}

TEST(coding_cache, moving) {
    context_cache cache;
    for (const content_coding c : codings()) {
        encoder first;
        ASSERT_EQ(first.open(cache, c), errc::ok);
        std::string wire, out;
        ASSERT_EQ(first.append("hel", operation::more, wire), errc::ok);
        encoder second(std::move(first));
        ASSERT_EQ(second.append("lo", operation::more, wire), errc::ok);
        encoder third;
        ASSERT_EQ(third.open(cache, c), errc::ok);
        third = std::move(second);
        EXPECT_FALSE(first.is_open() || second.is_open()); // NOLINT(bugprone-use-after-move)
        ASSERT_EQ(third.append({}, operation::finish, wire), errc::ok);

        decoder one;
        ASSERT_EQ(one.open(cache, c), errc::ok);
        ASSERT_EQ(one.append(std::string_view(wire).substr(0, 5), false, out), errc::ok);
        decoder two(std::move(one));
        decoder three;
        ASSERT_EQ(three.open(cache, c), errc::ok);
        three = std::move(two);
        EXPECT_FALSE(one.is_open() || two.is_open()); // NOLINT(bugprone-use-after-move)
        EXPECT_EQ(three.append(std::string_view(wire).substr(5), true, out), errc::ok);
        EXPECT_EQ(out, "hello");
        EXPECT_EQ(three.consumed(), wire.size());
    }
}

// The figures of encoder.hpp and decoder.hpp.
TEST(coding_cache, what_a_context_occupies) {
    const std::string body = words(4'000'000);
    for (const content_coding c : codings()) {
        context_cache cache(std::size_t{1} << 30);
        std::string wire;
        {
            encoder coder;
            ASSERT_EQ(coder.open(cache, c), errc::ok);
            for (std::string_view rest = body; !rest.empty();) {
                const auto piece = rest.substr(0, 10'000);
                rest.remove_prefix(piece.size());
                ASSERT_EQ(coder.append(piece, operation::more, wire), errc::ok);
            }
            ASSERT_EQ(coder.append({}, operation::finish, wire), errc::ok);
        }
        const std::size_t encoding = cache.trim();
        std::string back;
        ASSERT_EQ(decode_whole(cache, c, wire, back), errc::ok);
        const std::size_t decoding = cache.trim();
        std::printf("%-8s %8zu bytes to encode, %8zu to decode\n", std::string(to_string(c)).c_str(), encoding,
                    decoding);
        EXPECT_LE(encoding, std::size_t{c == br ? 3'584u : c == zstd ? 2'048u : 300u} << 10);
        EXPECT_LE(decoding, c == br || c == zstd ? std::size_t{1} << 20 : std::size_t{48} << 10);
    }
}

} // namespace
