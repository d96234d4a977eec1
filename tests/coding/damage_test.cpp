// Input that is cut, broken, or followed by something: each has its error, and none a body that nobody sent.
#include "coding_site.hpp"

#include <cstdio>

namespace {

using namespace coding_test;
using namespace std::string_view_literals;

const std::string message = "{\"message\":\"hello, hello, hello\",\"values\":[1,2,3,1,2,3,1,2,3]}";

std::string raw_deflated() {
    const std::string zlib_format = encoded(deflate, message);
    return zlib_format.substr(2, zlib_format.size() - 6); // without header and checksum
}

TEST(coding_damage, cut_at_every_byte) {
    std::vector<std::pair<content_coding, std::string>> all;
    for (const content_coding c : codings()) all.emplace_back(c, encoded(c, message));
    if (available(deflate)) all.emplace_back(deflate, raw_deflated());
    for (const auto& [c, coded] : all) {
        ASSERT_EQ(decode_all_ways(c, coded).body, message);
        for (std::size_t size = 0; size != coded.size(); ++size) {
            const decoded got = decode_all_ways(c, std::string_view(coded).substr(0, size));
            EXPECT_EQ(got.error, errc::truncated) << to_string(c) << " " << size;
            EXPECT_TRUE(message.starts_with(got.body));
        }
    }
}

TEST(coding_damage, what_follows) {
    for (const content_coding c : codings()) {
        const std::string coded = encoded(c, message);
        for (const std::string_view tail :
             {"x"sv, "\0"sv, "\0\0\0\0\0\0\0\0"sv, "\x1f\x8c"sv, "\x28\x28"sv, "\r\n"sv, "\x28\xb5\x2f\xfe"sv}) {
            const decoded got = decode_all_ways(c, coded + std::string(tail));
            EXPECT_EQ(got.error, errc::trailing_garbage) << to_string(c) << " " << static_cast<int>(tail[0]);
            EXPECT_EQ(got.body, message);
        }
    }
    if (available(deflate)) {
        EXPECT_EQ(decode_all_ways(deflate, raw_deflated() + "x").error, errc::trailing_garbage);
    }
}

TEST(coding_damage, one_after_the_other) {
    for (const content_coding c : codings()) {
        const std::string one = encoded(c, message), none = encoded(c, ""), two = encoded(c, "another");
        const decoded got = decode_all_ways(c, one + none + two);
        if (c == gzip || c == zstd) {
            EXPECT_EQ(got.error, errc::ok) << to_string(c);
            EXPECT_EQ(got.body, message + "another");
            const std::string both = one + two;
            for (std::size_t size = one.size() + 1; size != both.size(); ++size)
                EXPECT_EQ(decode(c, std::string_view(both).substr(0, size)).error, errc::truncated) << size;
            // The caps are for all of them together.
            const decode_limits exact{.max_bytes = message.size() + 7};
            const decode_limits less{.max_bytes = message.size() + 6};
            EXPECT_EQ(decode_all_ways(c, both, exact).error, errc::ok);
            EXPECT_EQ(decode_all_ways(c, both, less).error, errc::too_large);
        } else {
            EXPECT_EQ(got.error, errc::trailing_garbage) << to_string(c);
            EXPECT_EQ(got.body, message);
        }
    }
}

TEST(coding_damage, every_bit_turned) {
    context_cache cache;
    for (const content_coding c : codings()) {
        std::string coded = encoded(c, message);
        int refused = 0;
        for (std::size_t bit = 0; bit != coded.size() * 8; ++bit) {
            const auto turn = [&] { coded[bit / 8] = static_cast<char>(coded[bit / 8] ^ (1 << bit % 8)); };
            turn();
            const decoded got = decode_all_ways(c, coded);
            turn();
            refused += got.error != errc::ok;
            EXPECT_NE(got.error, errc::misuse);
            // These two carry a checksum. (A bit of gzip's header may be anything, as long as the body is right.)
            if ((c == gzip || c == deflate) && got.error == errc::ok) {
                EXPECT_EQ(got.body, message) << to_string(c) << " " << bit;
            }
            // Right after an error the context serves the next.
            std::string back;
            ASSERT_EQ(decode_whole(cache, c, coded, back), errc::ok);
            ASSERT_EQ(back, message);
        }
        EXPECT_GT(refused, 100) << to_string(c);
    }
}

TEST(coding_damage, noise_is_refused) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    context_cache cache;
    std::mt19937_64 random(seed);
    for (const content_coding c : codings()) {
        for (int i = 0; i != 300; ++i) {
            const std::string input = noise(random() % 300, random());
            const decode_limits limits{.max_bytes = 1 << 20};
            const decoded got = decode_in_pieces(cache, c, input, {400, 5'000}, random(), limits);
            EXPECT_LE(got.body.size(), limits.max_bytes);
            if (c == gzip || c == zstd) {
                EXPECT_TRUE(got.error == errc::corrupt || got.error == errc::truncated) << message_of(got.error);
            }
        }
    }
}

TEST(coding_damage, an_error_is_final) {
    context_cache cache;
    for (const content_coding c : codings()) {
        decoder coder;
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        std::string out;
        const std::string coded = encoded(c, message);
        ASSERT_EQ(coder.append(coded + "x", false, out), errc::trailing_garbage);
        EXPECT_EQ(coder.append(coded, true, out), errc::trailing_garbage);
        EXPECT_EQ(out, message);
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        out.clear();
        EXPECT_EQ(coder.append(coded, true, out), errc::ok);
        EXPECT_EQ(out, message);
        // Garbage may come later than the end.
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        ASSERT_EQ(coder.append(coded, false, out), errc::ok);
        EXPECT_EQ(coder.append("x", true, out), errc::trailing_garbage);
    }
}

TEST(coding_damage, a_dictionary_is_asked_for) {
    if (available(deflate)) { // FDICT in the second byte, then the dictionary's checksum
        const decoded got = decode_all_ways(deflate, "\x78\xbb\x1a\x0b\x04\x5d\xcb\x00\x82\x00\x06\x2c\x02\x15"sv);
        EXPECT_EQ(got.error, errc::needs_dictionary);
    }
    if (available(zstd)) { // a frame with the dictionary's number, 7
        const decoded got = decode_all_ways(zstd, "\x28\xb5\x2f\xfd\x21\x07\x05\x29\x00\x00hello"sv);
        EXPECT_EQ(got.error, errc::needs_dictionary);
    }
}

TEST(coding_damage, asking_for_nothing_is_no_fault) {
    context_cache cache;
    for (const content_coding c : codings()) {
        const std::string coded = encoded(c, message);
        for (std::size_t size = 0; size != coded.size(); ++size) {
            decoder coder;
            ASSERT_EQ(coder.open(cache, c), errc::ok);
            std::string out;
            ASSERT_EQ(coder.append(std::string_view(coded).substr(0, size), false, out), errc::ok);
            for (int i = 0; i != 40; ++i)
                ASSERT_EQ(coder.append({}, false, out), errc::ok) << to_string(c) << " " << size << " " << i;
            ASSERT_EQ(coder.append(std::string_view(coded).substr(size), true, out), errc::ok);
            ASSERT_EQ(out, message);
        }
    }
}

TEST(coding_damage, out_of_turn) {
    context_cache cache;
    encoder closed;
    decoder none;
    std::string out(100, '\0');
    EXPECT_EQ(closed.encode("a", out, operation::more).error, errc::misuse);
    EXPECT_EQ(none.decode("a", out, true).error, errc::misuse);
    EXPECT_EQ(closed.open(cache, identity), errc::unsupported);
    EXPECT_EQ(none.open(cache, identity), errc::unsupported);
    EXPECT_FALSE(closed.is_open() || none.is_open());
    for (const content_coding c : codings()) {
        encoder coder;
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        ASSERT_EQ(coder.append("a", operation::finish, out), errc::ok);
        const std::size_t size = out.size();
        EXPECT_EQ(coder.append({}, operation::finish, out), errc::ok); // nothing is left to do
        EXPECT_EQ(coder.append("b", operation::finish, out), errc::misuse);
        EXPECT_EQ(coder.append({}, operation::finish, out), errc::misuse);
        EXPECT_EQ(out.size(), size);
        ASSERT_EQ(coder.open(cache, c), errc::ok);
        ASSERT_EQ(coder.append({}, operation::finish, out), errc::ok);
        EXPECT_EQ(coder.append({}, operation::flush, out), errc::misuse);
    }
}

} // namespace
