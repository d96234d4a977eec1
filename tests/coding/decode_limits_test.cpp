// Caps on what comes out, and bombs.
#include "coding_site.hpp"

namespace {

using namespace coding_test;

constexpr decode_limits any{.max_bytes = ~std::uint64_t{0}, .max_ratio = 0};

TEST(coding_limits, the_size_to_the_byte) {
    for (const content_coding c : codings()) {
        for (const std::string& body : {std::string("hello"), words(5'000), words(70'000), noise(10'000)}) {
            SCOPED_TRACE(std::string(to_string(c)) + " " + std::to_string(body.size()));
            const std::string coded = encoded(c, body);
            decode_limits limits = any;
            for (limits.max_bytes = body.size() - 1; limits.max_bytes != body.size() + 2; ++limits.max_bytes) {
                const decoded got = decode_all_ways(c, coded, limits);
                EXPECT_EQ(got.error, limits.max_bytes < body.size() ? errc::too_large : errc::ok) << limits.max_bytes;
                EXPECT_TRUE(body.starts_with(got.body));
                EXPECT_EQ(got.body.size(), std::min<std::uint64_t>(body.size(), limits.max_bytes));
            }
            limits.max_bytes = 0;
            EXPECT_EQ(decode_all_ways(c, coded, limits).error, errc::too_large);
            EXPECT_EQ(decode_all_ways(c, encoded(c, ""), limits).error, errc::ok);
        }
    }
}

TEST(coding_limits, no_more_than_the_room) {
    context_cache cache;
    for (const content_coding c : codings()) {
        const std::string coded = encoded(c, std::string(100'000, 'a'));
        decoder coder;
        ASSERT_EQ(coder.open(cache, c, any), errc::ok);
        std::string_view rest = coded;
        EXPECT_EQ(coder.decode(rest, {}, true).state, status::need_output);
        std::string room(1'000, '\0');
        std::size_t calls = 0;
        for (progress p; p.state != status::done; ++calls) {
            p = coder.decode(rest, std::span(room).first(100), true);
            ASSERT_NE(p.state, status::error);
            ASSERT_LE(p.produced, 100u);
            rest.remove_prefix(p.consumed);
        }
        EXPECT_GE(calls, 1'000u);
        EXPECT_EQ(coder.produced(), 100'000u);
        EXPECT_EQ(coder.consumed(), coded.size());
    }
}

// Zeros, made without ever holding them.
std::string bomb(content_coding c, std::size_t size) {
    context_cache cache;
    encoder coder;
    EXPECT_EQ(coder.open(cache, c), errc::ok);
    const std::string zeros(std::size_t{1} << 20, '\0');
    std::string out;
    for (; size != 0; size -= zeros.size()) EXPECT_EQ(coder.append(zeros, operation::more, out), errc::ok);
    EXPECT_EQ(coder.append({}, operation::finish, out), errc::ok);
    return out;
}

TEST(coding_limits, bombs) {
    constexpr std::size_t size = std::size_t{24} << 20;
    for (const content_coding c : codings()) {
        SCOPED_TRACE(to_string(c));
        const std::string coded = bomb(c, size);
        EXPECT_LT(coded.size(), size / 900);

        // By default the ratio ends it, soon after it may be judged.
        const decoded by_ratio = decode(c, coded);
        EXPECT_EQ(by_ratio.error, errc::ratio_too_high);
        EXPECT_LE(by_ratio.body.size(), decode_limits{}.ratio_floor + (128 << 10));

        decode_limits limits{.max_bytes = 3'000'000, .max_ratio = 0};
        const decoded by_size = decode(c, coded, limits);
        EXPECT_EQ(by_size.error, errc::too_large);
        EXPECT_EQ(by_size.body.size(), limits.max_bytes);
        EXPECT_LE(by_size.body.capacity(), 3 * limits.max_bytes);

        EXPECT_EQ(decode(c, coded, {.max_bytes = size, .max_ratio = 0}).error, errc::ok);
        EXPECT_EQ(decode(c, coded, {.max_bytes = size, .ratio_floor = size}).error, errc::ok);

        context_cache cache;
        std::string left = "as it was";
        EXPECT_EQ(decode_whole(cache, c, coded, left), errc::ratio_too_high);
        EXPECT_EQ(left, "as it was");
    }
}

TEST(coding_limits, the_ratio_above_its_floor_only) {
    for (const content_coding c : codings()) {
        const std::string body(30'000, 'a');
        const std::string coded = encoded(c, body);
        ASSERT_GT(body.size() / coded.size(), 100u);
        const auto error = [&](std::uint32_t ratio, std::uint64_t floor) {
            return decode_all_ways(c, coded, {.max_ratio = ratio, .ratio_floor = floor}).error;
        };
        EXPECT_EQ(error(100, 30'000), errc::ok) << to_string(c);
        EXPECT_EQ(error(100, 29'999), errc::ratio_too_high) << to_string(c);
        EXPECT_EQ(error(0, 0), errc::ok) << to_string(c);
        EXPECT_EQ(error(60'000, 0), errc::ok) << to_string(c);
    }
    // What is as dense as text is passes, however long.
    const std::string text = words(1'000'000);
    for (const content_coding c : codings())
        EXPECT_EQ(decode(c, encoded(c, text), {.max_ratio = 50, .ratio_floor = 10'000}).error, errc::ok)
            << to_string(c);
}

// Endless members without a byte in them cost input, and nothing else.
TEST(coding_limits, members_without_end) {
    for (const content_coding c : codings()) {
        if (c != gzip && c != zstd) continue;
        const std::string none = encoded(c, "");
        std::string many;
        for (int i = 0; i != 10'000; ++i) many += none;
        const decoded got = decode(c, many);
        EXPECT_EQ(got.error, errc::ok);
        EXPECT_EQ(got.body, "");
    }
}

} // namespace
