// Every scan level says what the scalar one says, at every alignment and against guard pages.
#include "guarded_buffer.hpp"
#include "parser_corpus.hpp"
#include "parser_support.hpp"

#include "../../server/http/src/scan.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace parser_test;

namespace {

std::string describe(const http::scan_marks& m, std::size_t size) {
    std::string s = std::to_string(m.count) + " marks, " + std::to_string(m.blocks) + " blocks, " +
                    (m.ended   ? "ended"
                     : m.wrong ? "wrong"
                               : "open") +
                    " at " + std::to_string(m.ended || m.wrong ? m.stop : 0);
    for (std::uint32_t i = 0; i < m.count; ++i) s.append(" ").append(std::to_string(m.at[i]));
    // Plain is promised up to the first block with a CR.
    std::uint32_t first_cr = m.blocks * 64;
    for (std::uint32_t i = 1; i < m.count && first_cr == m.blocks * 64; ++i) first_cr = m.at[i];
    for (std::uint32_t b = 0; b < m.blocks && b * 64 <= first_cr && b * 64 < size; ++b) {
        s.append(" p").append(std::to_string(m.plain[b]));
        if (first_cr / 64 == b) break;
    }
    return s;
}

std::string scan(http::scan_level level, const char* data, std::size_t size) {
    http::scan_marks marks;
    http::kernel_of(level)(data, size, marks);
    return describe(marks, size);
}

// A head with a few bytes changed, doubled, dropped or exchanged, most often for ones that mean something.
std::string mutated(std::string text, std::mt19937& random) {
    using namespace std::string_view_literals;
    static constexpr std::string_view telling = "\r\n\r\n :\t?%/#\0\x01\x7f\x80\xff{|}~@[`aZ09"sv;
    for (std::size_t n = random() % 4; n > 0 && !text.empty(); --n) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
        case 0:
            text[at] = static_cast<char>(random());
            break;
        case 1:
            text[at] = telling[random() % telling.size()];
            break;
        case 2:
            text.insert(at, 1, telling[random() % telling.size()]);
            break;
        default:
            text.erase(at, 1 + random() % 3);
            break;
        }
    }
    return text;
}

TEST(ParserScan, KernelsAgreeOnEveryByte) {
    for (const http::scan_level level : levels())
        for (unsigned c = 0; c < 256; ++c)
            for (std::size_t at : {0U, 15U, 16U, 31U, 33U, 63U, 64U, 100U}) {
                std::string text = "GET /abcdefgh?" + repeat("n", 40) +
                                   " HTTP/1.1\r\nName: value\r\nOther: " + repeat("o", 80) + std::string(64, ' ');
                text[at] = static_cast<char>(c);
                ASSERT_EQ(scan(level, text.data(), text.size() - 64),
                          scan(http::scan_level::scalar, text.data(), text.size() - 64))
                    << "level " << static_cast<int>(level) << ", byte " << c << " at " << at;
            }
}

TEST(ParserScan, KernelsAgreeOnMutatedHeads) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<char> room(4096 + 64 + 64);
    for (int round = 0; round < 60; ++round)
        for (const sample& c : corpus()) {
            const std::string text = mutated(c.text.substr(0, 2048), random).substr(0, 4096);
            const std::size_t shift = random() % 64;
            if (text.empty()) continue;
            // What lies around the data must not matter.
            for (char& x : room) x = static_cast<char>(random());
            std::memcpy(room.data() + shift, text.data(), text.size());
            const std::string expected = scan(http::scan_level::scalar, room.data() + shift, text.size());
            for (const http::scan_level level : levels())
                ASSERT_EQ(scan(level, room.data() + shift, text.size()), expected)
                    << "level " << static_cast<int>(level) << ' ' << testing::PrintToString(text);
        }
}

TEST(ParserScan, KernelsAgreeAtEveryAlignment) {
    const std::string text = corpus().front().text + "X: y\r\n";
    std::vector<char> room(text.size() + 128 + 64);
    for (std::size_t shift = 0; shift < 64; ++shift) {
        std::memcpy(room.data() + shift, text.data(), text.size());
        for (std::size_t size = 1; size <= text.size(); ++size)
            for (const http::scan_level level : levels())
                ASSERT_EQ(scan(level, room.data() + shift, size), scan(http::scan_level::scalar, text.data(), size));
    }
}

// The steps alone (byte by byte) are the reference for the walk at each level.
TEST(ParserScan, LevelsParseLikeTheStepsDo) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const level_guard guard;
    for (const sample& c : corpus())
        for (int round = 0; round < 12; ++round) {
            const std::string text = mutated(c.text.substr(0, 1500), random);
            const outcome expected = parse_bytewise(text);
            for (const http::scan_level level : levels()) {
                http::use(level);
                ASSERT_EQ(parse(text), expected)
                    << "level " << static_cast<int>(level) << ' ' << testing::PrintToString(text);
            }
        }
}

TEST(ParserScan, StaysWithinThePadding) {
    guarded_buffer end(32 * 1024), start(32 * 1024);
    const level_guard guard;
    for (const http::scan_level level : levels()) {
        http::use(level);
        for (const sample& c : corpus()) {
            const std::string text = c.text.substr(0, 20'000);
            const outcome expected = parse(text);
            for (char* at : {end.flush_with_end(text, http::parse_padding), start.flush_with_start(text)}) {
                subject s;
                EXPECT_EQ(s.result(s.feed(at, text.size())), expected);
            }
        }
        // Every length of one head, so that its last byte falls on every place of a block.
        const std::string text = "GET /a?b%20c HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\nA:\r\n\r\n";
        for (std::size_t size = 0; size <= text.size(); ++size) {
            const std::string cut = text.substr(0, size);
            subject s;
            s.feed(end.flush_with_end(cut, http::parse_padding), size);
        }
    }
}

TEST(ParserScan, ALevelIsUsedOnlyIfSupported) {
    const level_guard guard;
    EXPECT_TRUE(http::supported(http::scan_level::scalar));
    for (auto level : {http::scan_level::scalar, http::scan_level::sse2, http::scan_level::ssse3,
                       http::scan_level::avx2, http::scan_level::avx512, http::scan_level::neon}) {
        const http::scan_level before = http::current_scan_level();
        EXPECT_EQ(http::use(level), http::supported(level));
        EXPECT_EQ(http::current_scan_level(), http::supported(level) ? level : before);
    }
}

} // namespace
