// Each limit one below, at, and one above; and the status it is answered with.
#include "parser_support.hpp"

#include <gtest/gtest.h>

using namespace parser_test;
using http::errc;
using http::parse_status;

namespace {

http::limits with(std::uint64_t http::limits::*member, std::uint64_t value) {
    http::limits l;
    l.*member = value;
    return l;
}

// Whole and byte by byte.
void expect(const std::string& text, const http::limits& bounds, errc error) {
    const outcome whole = parse(text, bounds);
    EXPECT_EQ(whole.error, error) << http::message_of(whole.error) << " in " << text.substr(0, 100);
    EXPECT_EQ(whole.status, error == errc::ok ? parse_status::complete : parse_status::error);
    EXPECT_EQ(parse_bytewise(text, bounds), whole);
}

TEST(ParserLimits, HeadBytes) {
    const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + repeat("v", 1500) + "\r\n\r\n";
    for (std::size_t spare : {0U, 1U, 60U, 1000U})
        expect(text, with(&http::limits::head_bytes, text.size() + spare), errc::ok);
    for (std::size_t less = 1; less < 400; ++less)
        expect(text, with(&http::limits::head_bytes, text.size() - less), errc::head_too_large);
    EXPECT_EQ(http::status_of(errc::head_too_large), 431);
}

TEST(ParserLimits, HeadBytesAreCountedWithEmptyLinesBefore) {
    const std::string text = "\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    expect(text, with(&http::limits::head_bytes, text.size()), errc::ok);
    expect(text, with(&http::limits::head_bytes, text.size() - 1), errc::head_too_large);
}

TEST(ParserLimits, AHeadThatFillsItsLimitWaits) {
    const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + repeat("v", 500);
    const auto bounds = with(&http::limits::head_bytes, text.size());
    EXPECT_EQ(parse(text, bounds).status, parse_status::need_more);
    EXPECT_EQ(parse(text + "v", bounds).error, errc::head_too_large);
}

TEST(ParserLimits, Fields) {
    for (std::size_t most : {1U, 2U, 7U, 100U, 300U}) {
        const auto bounds = with(&http::limits::head_fields, most);
        const auto text = [](std::size_t n) { return "GET / HTTP/1.0\r\n" + repeat("Name: v\r\n", n) + "\r\n"; };
        expect(text(most - 1), bounds, errc::ok);
        expect(text(most), bounds, errc::ok);
        expect(text(most + 1), bounds, errc::too_many_fields);
    }
    EXPECT_EQ(http::status_of(errc::too_many_fields), 431);
}

TEST(ParserLimits, FieldsAreBoundByTheStorageToo) {
    subject s;
    s.lines.resize(2);
    s.head.use_storage(s.lines);
    const std::string two = "GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\n\r\n",
                      three = "GET / HTTP/1.0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n";
    EXPECT_EQ(parse_in(s, two, {two.size()}).status, parse_status::complete);
    EXPECT_EQ(parse_in(s, three, {three.size()}).error, errc::too_many_fields);
}

TEST(ParserLimits, TargetBytes) {
    for (std::size_t most : {1U, 40U, 64U, 1000U, 2000U}) {
        const auto bounds = with(&http::limits::target_bytes, most);
        const auto line = [](std::size_t n) { return "GET /" + repeat("a", n - 1); };
        const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
        if (most > 1) expect(line(most - 1) + rest, bounds, errc::ok);
        expect(line(most) + rest, bounds, errc::ok);
        expect(line(most + 1) + rest, bounds, errc::target_too_long);
        // Told before the line is complete.
        EXPECT_EQ(parse(line(most), bounds).status, parse_status::need_more);
        expect(line(most + 1), bounds, errc::target_too_long);
    }
    EXPECT_EQ(http::status_of(errc::target_too_long), 414);
}

TEST(ParserLimits, AHeadThatIsAllTargetIsATargetTooLong) {
    http::limits bounds;
    bounds.head_bytes = 200;
    expect("GET /" + repeat("a", 500), bounds, errc::target_too_long);
}

} // namespace
