// Each limit of the chunked decoder one below, at and one above its bound.
#include <fastserve/http/chunked.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using namespace fastserve::http;
using status = decode_status;

// The verdict, whole and byte by byte; ok for a body that is done.
errc verdict(std::string_view input, const limits& l = {}, std::uint64_t max_body = 1 << 20) {
    std::string memory(input);
    chunked_decoder whole(l, max_body);
    const auto result = whole.decode(memory.data(), memory.size());
    EXPECT_NE(result.status, status::need_more);

    memory = input;
    chunked_decoder bytewise(l, max_body);
    std::size_t consumed = 0;
    status last = status::need_more;
    for (std::size_t i = 0; i < memory.size() && last == status::need_more; ++i) {
        const auto one = bytewise.decode(memory.data() + i, 1);
        consumed += one.consumed;
        last = one.status;
    }
    EXPECT_EQ(last, result.status);
    EXPECT_EQ(consumed, result.consumed);
    EXPECT_EQ(bytewise.error(), whole.error());
    return whole.error();
}

TEST(chunked_limits, line) {
    limits l;
    l.chunk_line_bytes = 32;
    for (const std::size_t size : {31U, 32U, 33U}) {
        const errc expected = size <= 32 ? errc::ok : errc::chunk_line_too_long;
        EXPECT_EQ(verdict("1;" + std::string(size - 2, 'a') + "\r\nx\r\n0\r\n\r\n", l), expected) << size;
        EXPECT_EQ(verdict("1;a=\"" + std::string(size - 6, ' ') + "\"\r\nx\r\n0\r\n\r\n", l), expected) << size;
        EXPECT_EQ(verdict(std::string(size - 1, '0') + "1\r\nx\r\n0\r\n\r\n", l), expected) << size;
        EXPECT_EQ(verdict("1\r\nx\r\n0;" + std::string(size - 2, 'a') + "\r\n\r\n", l), expected) << size;
    }
    // Each line has its own.
    EXPECT_EQ(verdict("1;" + std::string(30, 'a') + "\r\nx\r\n1;" + std::string(30, 'a') + "\r\nx\r\n0\r\n\r\n", l),
              errc::ok);
}

TEST(chunked_limits, an_endless_line_is_cut_off) {
    chunked_decoder decoder;
    std::string endless = "1;" + std::string(100'000, 'a');
    const auto result = decoder.decode(endless.data(), endless.size());
    EXPECT_EQ(result.status, status::error);
    EXPECT_EQ(decoder.error(), errc::chunk_line_too_long);
    EXPECT_EQ(result.consumed, limits{}.chunk_line_bytes);
}

TEST(chunked_limits, overhead_is_summed_over_the_body) {
    limits l;
    l.chunk_overhead_bytes = 100;
    for (const std::size_t rest : {19U, 20U, 21U}) {
        std::string body;
        for (int i = 0; i < 4; ++i) body += "1;" + std::string(19, 'a') + "\r\nx\r\n"; // 20 each
        body += "0;" + std::string(rest - 1, 'b') + "\r\n\r\n";
        EXPECT_EQ(verdict(body, l), rest <= 20 ? errc::ok : errc::chunk_overhead_too_large) << rest;
    }
    // White space counts, and so does what is in quotes; digits do not, which some senders write by the eight.
    std::string padded;
    for (int i = 0; i < 1000; ++i) padded += "00000001\r\nx\r\n";
    EXPECT_EQ(verdict(padded + "0\r\n\r\n", l), errc::ok);
    EXPECT_EQ(verdict("1" + std::string(97, ' ') + ";aa\r\nx\r\n0\r\n\r\n", l), errc::ok);
    EXPECT_EQ(verdict("1" + std::string(98, ' ') + ";aa\r\nx\r\n0\r\n\r\n", l), errc::chunk_overhead_too_large);
}

TEST(chunked_limits, body_is_summed_over_the_chunks) {
    const std::string chunk = "40\r\n" + std::string(64, 'x') + "\r\n";
    for (const std::uint64_t max : {127U, 128U, 129U})
        EXPECT_EQ(verdict(chunk + chunk + "0\r\n\r\n", {}, max), max >= 128 ? errc::ok : errc::body_too_large) << max;
    EXPECT_EQ(verdict("0\r\n\r\n", {}, 0), errc::ok);
    EXPECT_EQ(verdict("1\r\nx\r\n0\r\n\r\n", {}, 0), errc::body_too_large);
    EXPECT_EQ(verdict("5\r\nhello\r\n0\r\n\r\n", {}, ~std::uint64_t{0}), errc::ok);
}

TEST(chunked_limits, a_chunk_too_large_fails_before_its_data) {
    for (const std::string_view input : {"65\r", "65;", "65 "}) {
        chunked_decoder decoder({}, 100);
        std::string memory(input);
        const auto result = decoder.decode(memory.data(), memory.size());
        EXPECT_EQ(result.status, status::error) << input;
        EXPECT_EQ(decoder.error(), errc::body_too_large);
        EXPECT_EQ(result.consumed, 2U);
    }
    // Two that only together are too large, and sizes whose sum would wrap.
    EXPECT_EQ(verdict("1\r\nx\r\nFFFFFFFFFFFFFFFF\r\n", {}, ~std::uint64_t{0}), errc::body_too_large);
}

TEST(chunked_limits, trailer_section) {
    limits l;
    l.trailer_bytes = 40;
    for (const std::size_t size : {39U, 40U, 41U}) { // with the final CRLF
        const errc expected = size <= 40 ? errc::ok : errc::trailer_too_large;
        EXPECT_EQ(verdict("0\r\nX:" + std::string(size - 6, 'v') + "\r\n\r\n", l), expected) << size;
        EXPECT_EQ(verdict("0\r\nA: 1\r\n" + std::string(size - 12, 'n') + ":v\r\n\r\n", l), expected) << size;
    }
    l.trailer_bytes = 2;
    EXPECT_EQ(verdict("0\r\n\r\n", l), errc::ok);
    EXPECT_EQ(verdict("0\r\nA:\r\n\r\n", l), errc::trailer_too_large);
}

TEST(chunked_limits, trailer_fields) {
    limits l;
    l.trailer_fields = 3;
    for (const int count : {2, 3, 4}) {
        std::string body = "0\r\n";
        for (int i = 0; i < count; ++i) body += "A: 1\r\n";
        EXPECT_EQ(verdict(body + "\r\n", l), count <= 3 ? errc::ok : errc::too_many_trailer_fields) << count;
    }
    l.trailer_fields = 0;
    EXPECT_EQ(verdict("0\r\n\r\n", l), errc::ok);
    EXPECT_EQ(verdict("0\r\nA: 1\r\n\r\n", l), errc::too_many_trailer_fields);
}

TEST(chunked_limits, a_flood_of_tiny_chunks) {
    constexpr std::size_t count = 100'000;
    std::string flood;
    for (std::size_t i = 0; i < count; ++i) flood += "1\r\nx\r\n";
    flood += "0\r\n\r\nnext";
    for (const std::size_t piece : {flood.size(), std::size_t{4096}, std::size_t{7}}) {
        std::string memory = flood;
        chunked_decoder decoder({}, count);
        std::size_t produced = 0;
        std::size_t consumed = 0;
        status last = status::need_more;
        while (last == status::need_more && consumed < memory.size()) {
            const std::size_t size = std::min(piece, memory.size() - consumed);
            const auto result = decoder.decode(memory.data() + consumed, size);
            ASSERT_TRUE(std::string_view(memory.data() + consumed, result.produced).find_first_not_of('x') ==
                        std::string_view::npos);
            produced += result.produced;
            consumed += result.consumed;
            last = result.status;
        }
        EXPECT_EQ(last, status::done);
        EXPECT_EQ(produced, count);
        EXPECT_EQ(consumed, flood.size() - 4);
    }
}

} // namespace
