// zstd frames made by hand: windows (RFC 9659), skippable frames, formats from before the standard.
#include "coding_site.hpp"

namespace {

using namespace coding_test;
using namespace std::string_view_literals;
using namespace std::string_literals;

constexpr std::string_view magic = "\x28\xb5\x2f\xfd";
constexpr std::string_view raw_hello = "\x29\0\0hello"sv; // the last block, not compressed

// RFC 8878 3.1.1.1.2: an exponent of two above 10, and eighths of that on top.
std::string with_window(unsigned exponent, unsigned eighths) {
    std::string frame(magic);
    frame += '\0';
    frame += static_cast<char>((exponent - 10) << 3 | eighths);
    return frame.append(raw_hello);
}

// The size besides, 4 bytes: what knows where the frame ends need not keep a window for it.
std::string with_window_and_size(unsigned exponent, std::uint32_t size) {
    std::string frame(magic);
    frame += '\x80';
    frame += static_cast<char>((exponent - 10) << 3);
    for (int i = 0; i != 4; ++i) frame += static_cast<char>(size >> 8 * i);
    return frame.append(raw_hello);
}

// A single segment: its content's size is its window, 4 bytes here.
std::string with_size(std::uint32_t size) {
    std::string frame(magic);
    frame += '\xa0';
    for (int i = 0; i != 4; ++i) frame += static_cast<char>(size >> 8 * i);
    return frame.append(raw_hello);
}

TEST(coding_zstd, eight_mebibytes_and_no_more) {
    for (unsigned exponent = 10; exponent != 41; ++exponent)
        for (unsigned eighths = 0; eighths != 8; ++eighths) {
            const bool fits = exponent < 23 || (exponent == 23 && eighths == 0);
            const decoded got = decode_all_ways(zstd, with_window(exponent, eighths));
            EXPECT_EQ(got.error, fits ? errc::ok : errc::window_too_large) << exponent << " " << eighths;
            EXPECT_EQ(got.body, fits ? "hello" : "");
        }
    // Also where it would not be used.
    EXPECT_EQ(decode_all_ways(zstd, with_window_and_size(23, 5)).error, errc::ok);
    EXPECT_EQ(decode_all_ways(zstd, with_window_and_size(24, 5)).error, errc::window_too_large);
    // Another frame is judged like the first.
    EXPECT_EQ(decode_all_ways(zstd, with_window(10, 0) + with_window(24, 0)).error, errc::window_too_large);
}

TEST(coding_zstd, a_single_segment_is_its_own_window) {
    EXPECT_EQ(decode_all_ways(zstd, with_size(5)).error, errc::ok);
    EXPECT_EQ(decode_all_ways(zstd, with_size(6)).error, errc::corrupt); // fewer bytes than it says
    EXPECT_EQ(decode_all_ways(zstd, with_size(8 << 20)).error, errc::corrupt);
    EXPECT_EQ(decode_all_ways(zstd, with_size((8 << 20) + 1)).error, errc::window_too_large);
}

TEST(coding_zstd, skippable_frames) {
    const std::string skipped = "\x5f\x2a\x4d\x18\x03\x00\x00\x00xyz"s, empty = "\x50\x2a\x4d\x18\x00\x00\x00\x00"s;
    const decoded got = decode_all_ways(zstd, skipped + with_window(10, 0) + empty + skipped + with_window(11, 0));
    EXPECT_EQ(got.error, errc::ok);
    EXPECT_EQ(got.body, "hellohello");
    EXPECT_EQ(decode_all_ways(zstd, skipped.substr(0, skipped.size() - 1)).error, errc::truncated);
    EXPECT_EQ(decode_all_ways(zstd, skipped + "x").error, errc::trailing_garbage);
}

TEST(coding_zstd, no_formats_from_before) {
    for (const char first : {'\x22', '\x23', '\x24', '\x25', '\x26', '\x27', '\x1e', '\x29'}) {
        std::string frame = with_window(20, 0);
        frame[0] = first;
        EXPECT_EQ(decode_all_ways(zstd, frame).error, errc::corrupt);
        EXPECT_EQ(decode_all_ways(zstd, frame.substr(0, 4)).error, errc::corrupt);
        EXPECT_EQ(decode_all_ways(zstd, with_window(20, 0) + frame).error, errc::trailing_garbage);
    }
}

} // namespace
