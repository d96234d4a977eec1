// However the bytes arrive, the verdict is the same; and what has been read is not read again.
#include "parser_corpus.hpp"
#include "parser_support.hpp"

#include "../../server/http/src/scan.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace parser_test;
using http::parse_status;

namespace {

// Bytes that scans were asked to look at, block by block.
std::uint64_t scanned_bytes = 0;
http::scan_kernel counted_kernel = nullptr;
void count_and_scan(const char* data, std::size_t size, http::scan_marks& out) noexcept {
    counted_kernel(data, size, out);
    scanned_bytes += 64 * out.blocks;
}

TEST(ParserSplit, EverySplitPointGivesTheSameResult) {
    for (const sample& c : corpus()) {
        const std::string_view text = std::string_view(c.text).substr(0, 20'000);
        const outcome whole = parse(text);
        // All points of short texts; of long ones the first and some of the rest.
        for (std::size_t cut = 0; cut <= text.size(); cut += cut < 1100 ? 1 : 977) {
            subject s;
            ASSERT_EQ(parse_in(s, text, {cut, text.size()}), whole)
                << "cut at " << cut << " of " << testing::PrintToString(text.substr(0, 300));
        }
    }
}

TEST(ParserSplit, ByteByByteGivesTheSameResult) {
    for (const sample& c : corpus()) {
        const std::string_view text = std::string_view(c.text).substr(0, 2500);
        ASSERT_EQ(parse_bytewise(text), parse(text)) << testing::PrintToString(text.substr(0, 300));
    }
}

TEST(ParserSplit, RandomPiecesGiveTheSameResult) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (const sample& c : corpus()) {
        const std::string_view text = std::string_view(c.text).substr(0, 20'000);
        const outcome whole = parse(text);
        for (int round = 0; round < 8; ++round) {
            std::vector<std::size_t> sizes;
            for (std::size_t at = 0; at < text.size();) {
                at = std::min(text.size(), at + 1 + random() % (1 + text.size() / 4));
                sizes.push_back(at);
            }
            subject s;
            ASSERT_EQ(parse_in(s, text, sizes), whole) << testing::PrintToString(text.substr(0, 300));
        }
    }
}

// An error is told with its byte: the text up to there fails, one byte less waits.
TEST(ParserSplit, AnErrorIsSeenWithItsByte) {
    struct expectation {
        std::string before; // not wrong yet
        char byte;
        http::errc error;
    };
    const std::string start = "GET / HTTP/1.1\r\n";
    using http::errc;
    const expectation expectations[] = {
        {"", '\n', errc::bad_line_end},
        {"", ' ', errc::bad_request_line},
        {"G", '(', errc::bad_method},
        {repeat("A", 32), 'A', errc::unknown_method},
        {"GET", '\r', errc::bad_request_line},
        {"GET ", ' ', errc::bad_request_line},
        {"GET ", '*', errc::bad_target},
        {"GET ", 'x', errc::bad_target},
        {"GET http", 'x', errc::bad_target},
        {"GET http:/", 'x', errc::bad_target},
        {"GET /a", '#', errc::bad_target},
        {"GET /%4", 'x', errc::bad_target},
        {"GET /%", '/', errc::bad_target},
        {"OPTIONS *", '/', errc::bad_target},
        {"GET /", '\r', errc::bad_request_line},
        {"GET /", '\n', errc::bad_line_end},
        {"GET / ", 'h', errc::bad_version},
        {"GET / HTTP/", 'x', errc::bad_version},
        {"GET / HTTP/1", '/', errc::bad_version},
        {"GET / HTTP/2.", '0', errc::unsupported_version},
        {"GET / HTTP/1.1", ' ', errc::bad_version},
        {"GET / HTTP/1.1", '\n', errc::bad_line_end},
        {"GET / HTTP/1.1\r", 'H', errc::bad_line_end},
        {"BREW / HTTP/1.1\r", '\n', errc::unknown_method},
        {start, ' ', errc::obsolete_fold},
        {start, ':', errc::bad_field_name},
        {start, '\n', errc::bad_line_end},
        {start + "Name", ' ', errc::bad_field_name},
        {start + "Name", '\r', errc::bad_field_name},
        {start + "Name: v", '\x01', errc::bad_field_value},
        {start + "Name: v", '\n', errc::bad_line_end},
        {start + "Name: v\r", 'x', errc::bad_line_end},
        {start + "Name: v\r\n", '\t', errc::obsolete_fold},
        {start + "Name: v\r\n\r", 'x', errc::bad_line_end},
        {start + "Host: a\r\n\r", '\r', errc::bad_line_end},
        {start + "Name: v\r\n\r", '\n', errc::missing_host},
    };
    for (const expectation& e : expectations) {
        EXPECT_EQ(parse(e.before).status, parse_status::need_more) << e.before;
        EXPECT_EQ(parse_bytewise(e.before).status, parse_status::need_more) << e.before;
        const std::string text = e.before + e.byte;
        EXPECT_EQ(parse(text).error, e.error) << text << '|' << http::message_of(parse(text).error);
        EXPECT_EQ(parse(text + repeat("x", 100)).error, e.error) << text;
    }
}

TEST(ParserSplit, ResumingCostsTheNewBytes) {
    const std::string text = "GET /path HTTP/1.1\r\nHost: localhost\r\n" + repeat("Some-Name: with a value\r\n", 80) +
                             "Long: " + repeat("v", 6000) + "\r\n\r\n";
    const std::string padded = text + std::string(http::parse_padding, ' ');
    http::use(http::current_scan_level()); // decides, where no parse has yet
    counted_kernel = http::current_kernel();
    http::use_kernel(count_and_scan);
    for (std::size_t step : {7U, 16U, 64U, 100U, 1000U, 5000U}) {
        subject s;
        scanned_bytes = 0;
        std::size_t calls = 0;
        parse_status status = parse_status::need_more;
        for (std::size_t size = 0; size < text.size();) {
            size = std::min(text.size(), size + step);
            status = s.feed(padded.data(), size);
            ++calls;
        }
        EXPECT_EQ(status, parse_status::complete);
        if (step >= 64) {
            EXPECT_GT(scanned_bytes, 0U) << "in steps of " << step;
        }
        // A scan of a line that is cut short is repeated at most once when the line is whole; it is rounded up to
        // blocks.
        EXPECT_LE(scanned_bytes, 2 * text.size() + 128 * calls) << "in steps of " << step;
    }
    http::use_kernel(counted_kernel);
}

// A window of a scan holds 1,024 bytes: with the CR as its last one, the line is whole a byte behind it.
TEST(ParserSplit, NothingIsScannedBehindALineThatEndsWithTheBytes) {
    http::use(http::current_scan_level());
    counted_kernel = http::current_kernel();
    http::use_kernel([](const char* data, std::size_t size, http::scan_marks& out) noexcept {
        EXPECT_GT(size, 0U);
        counted_kernel(data, size, out);
    });
    const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nLong: ";
    for (std::size_t size = 1020; size < 1030; ++size) {
        const std::string text = start + std::string(size - start.size() - 2, 'v') + "\r\n";
        const std::string padded = text + "\r\n" + std::string(http::parse_padding, ' ');
        subject s;
        EXPECT_EQ(s.feed(padded.data(), text.size()), parse_status::need_more) << size;
        EXPECT_EQ(s.feed(padded.data(), text.size() + 2), parse_status::complete) << size;
    }
    http::use_kernel(counted_kernel);
}

} // namespace
