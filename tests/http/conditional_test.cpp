#include <fastserve/http/conditional.hpp>

#include <fastserve/http/head_parser.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conditional_cases {
namespace {

using namespace fastserve::http;

constexpr std::int64_t changed = 784'111'777; // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t today = 1'780'000'000;

constexpr validators tagged{.exists = true, .etag = "\"x\"", .last_modified = changed, .strong_date = true};
constexpr validators weakly{.exists = true, .etag = "W/\"x\"", .last_modified = changed, .strong_date = false};
constexpr validators nothing{.exists = true};
constexpr validators absent{.exists = false};

// With the dates that <before>, <then> and <after> stand for: a second before that of `changed`, it, and the next.
std::string with_dates(std::string text) {
    constexpr std::pair<std::string_view, std::string_view> dates[] = {{"<before>", "Sun, 06 Nov 1994 08:49:36 GMT"},
                                                                       {"<then>", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                                                       {"<after>", "Sun, 06 Nov 1994 08:49:38 GMT"}};
    for (const auto& [word, date] : dates)
        for (std::size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), date);
    return text;
}

// "proceed", "304" or "412", and whether a range may be served.
std::string judge(std::string_view method, std::string_view fields, const validators& current) {
    std::string text(method);
    text += " / HTTP/1.1\r\nHost: a\r\n";
    text += with_dates(std::string(fields));
    text += "\r\n";
    const std::size_t size = text.size();
    text.append(parse_padding, ' ');
    std::vector<field_line> lines(32);
    head h;
    h.use_storage(lines);
    head_parser parser;
    EXPECT_EQ(parser.parse(text.data(), size, h, limits{}), parse_status::complete) << text;
    const condition_verdict verdict = evaluate_conditions(h, current, today);
    EXPECT_TRUE(!verdict.use_range || verdict.outcome == precondition::proceed);
    if (verdict.outcome == precondition::not_modified) return "304";
    if (verdict.outcome == precondition::failed) return "412";
    return verdict.use_range ? "range" : "proceed";
}

struct row {
    std::string_view method, fields;
    validators current;
    std::string_view verdict;
};

void check(std::initializer_list<row> rows) {
    for (const row& r : rows)
        EXPECT_EQ(judge(r.method, r.fields, r.current), r.verdict) << r.method << '\n' << r.fields;
}

TEST(EntityTag, IsReadWholeOrNotAtAll) {
    for (const std::string_view text :
         {"\"\"", "\"x\"", "\"a,b;c=d\"", "\"\\\"", "\"W/\"", "\"caf\xC3\xA9\"", "\"'!#~\""}) {
        const auto strong = parse_entity_tag(text);
        ASSERT_TRUE(strong) << text;
        EXPECT_EQ(strong->opaque, text);
        EXPECT_FALSE(strong->weak);
        const std::string longer = "W/" + std::string(text);
        const auto weak = parse_entity_tag(longer);
        ASSERT_TRUE(weak) << text;
        EXPECT_EQ(weak->opaque, text);
        EXPECT_TRUE(weak->weak);
    }
    for (const std::string_view text :
         {"",         "x",         "\"",        "\"x",       "x\"",    "'x'",    "w/\"x\"",    "W\"x\"",      "W/",
          "W/x",      "W/\"",      "W/\"x",     "W/W/\"x\"", " \"x\"", "\"x\" ", "\"x\"\"y\"", "\"x\",\"y\"", "\"a b\"",
          "\"a\tb\"", "\"a\x7f\"", "\"a\x01\"", "*",         "/\"x\""})
        EXPECT_FALSE(parse_entity_tag(text)) << text;
}

// The table of RFC 9110 8.8.3.2.
TEST(EntityTag, IsComparedInTwoWays) {
    const entity_tag weak_1{"\"1\"", true}, weak_2{"\"2\"", true}, strong_1{"\"1\"", false}, strong_2{"\"2\"", false};
    EXPECT_FALSE(strong_equal(weak_1, weak_1));
    EXPECT_TRUE(weak_equal(weak_1, weak_1));
    EXPECT_FALSE(strong_equal(weak_1, weak_2));
    EXPECT_FALSE(weak_equal(weak_1, weak_2));
    EXPECT_FALSE(strong_equal(weak_1, strong_1));
    EXPECT_FALSE(strong_equal(strong_1, weak_1));
    EXPECT_TRUE(weak_equal(weak_1, strong_1));
    EXPECT_TRUE(strong_equal(strong_1, strong_1));
    EXPECT_TRUE(weak_equal(strong_1, strong_1));
    EXPECT_FALSE(weak_equal(strong_1, strong_2));
}

TEST(Conditions, NoneOfThem) {
    check({{"GET", "", tagged, "proceed"}, {"PUT", "", absent, "proceed"}, {"GET", "", nothing, "proceed"}});
}

TEST(Conditions, IfMatch) {
    check({
        {"PUT", "If-Match: \"x\"\r\n", tagged, "proceed"},
        {"PUT", "If-Match: \"y\"\r\n", tagged, "412"},
        {"PUT", "If-Match: \"y\", \"x\"\r\n", tagged, "proceed"},
        {"PUT", "If-Match: \"y\"\r\nIf-Match: \"x\"\r\n", tagged, "proceed"},
        {"PUT", "If-Match: ,, \"y\" ,\t\"x\",\r\n", tagged, "proceed"},
        {"PUT", "If-Match: W/\"x\"\r\n", tagged, "412"},
        {"PUT", "If-Match: \"x\"\r\n", weakly, "412"},
        {"PUT", "If-Match: W/\"x\"\r\n", weakly, "412"},
        {"PUT", "If-Match: *\r\n", tagged, "proceed"},
        {"PUT", "If-Match: *\r\n", nothing, "proceed"},
        {"PUT", "If-Match: *\r\n", absent, "412"},
        {"PUT", "If-Match: \"x\"\r\n", absent, "412"},
        {"PUT", "If-Match: \"x\"\r\n", nothing, "412"},
        {"PUT", "If-Match:\r\n", tagged, "412"},
        {"PUT", "If-Match: x\r\n", tagged, "412"},
        {"PUT", "If-Match: \"x\r\n", tagged, "412"},
        {"PUT", "If-Match: \"x\" \"y\"\r\n", tagged, "412"},
        {"PUT", "If-Match: \"x\"y\r\n", tagged, "412"},
        {"PUT", "If-Match: \"y z\", \"x\"\r\n", tagged, "proceed"},
        {"PUT", "If-Match: \"a,\"x\"\r\n", tagged, "412"},
        {"GET", "If-Match: \"y\"\r\n", tagged, "412"},
        {"GET", "If-Match: \"x\"\r\n", tagged, "proceed"},
        {"DELETE", "If-Match: \"y\"\r\n", tagged, "412"},
        {"PUT", "If-Match: \"X\"\r\n", tagged, "412"},
        {"PUT", "If-Match: \"a,b\"\r\n", {.etag = "\"a,b\""}, "proceed"},
        {"PUT", "If-Match: \"b\"\r\n", {.etag = "\"a,b\""}, "412"},
        {"PUT", "If-Match: x\r\n", {.etag = "x"}, "412"}, // what the server has is no tag
    });
}

TEST(Conditions, IfUnmodifiedSince) {
    check({
        {"PUT", "If-Unmodified-Since: <before>\r\n", tagged, "412"},
        {"PUT", "If-Unmodified-Since: <then>\r\n", tagged, "proceed"},
        {"PUT", "If-Unmodified-Since: <after>\r\n", tagged, "proceed"},
        {"GET", "If-Unmodified-Since: <before>\r\n", tagged, "412"},
        {"PUT", "If-Unmodified-Since: Sunday, 06-Nov-94 08:49:36 GMT\r\n", tagged, "412"},
        {"PUT", "If-Unmodified-Since: Sun Nov  6 08:49:36 1994\r\n", tagged, "412"},
        {"PUT", "If-Unmodified-Since: yesterday\r\n", tagged, "proceed"},
        {"PUT", "If-Unmodified-Since:\r\n", tagged, "proceed"},
        {"PUT", "If-Unmodified-Since: <before>\r\nIf-Unmodified-Since: <before>\r\n", tagged, "proceed"},
        {"PUT", "If-Unmodified-Since: <before>\r\n", nothing, "proceed"},
        {"PUT", "If-Unmodified-Since: <before>\r\n", absent, "proceed"},
        {"PUT", "If-Match: \"x\"\r\nIf-Unmodified-Since: <before>\r\n", tagged, "proceed"}, // beside If-Match
        {"PUT", "If-Match: \"y\"\r\nIf-Unmodified-Since: <after>\r\n", tagged, "412"},
    });
}

TEST(Conditions, IfNoneMatch) {
    check({
        {"GET", "If-None-Match: \"x\"\r\n", tagged, "304"},
        {"HEAD", "If-None-Match: \"x\"\r\n", tagged, "304"},
        {"PUT", "If-None-Match: \"x\"\r\n", tagged, "412"},
        {"POST", "If-None-Match: \"x\"\r\n", tagged, "412"},
        {"GET", "If-None-Match: W/\"x\"\r\n", tagged, "304"},
        {"GET", "If-None-Match: \"x\"\r\n", weakly, "304"},
        {"GET", "If-None-Match: W/\"x\"\r\n", weakly, "304"},
        {"GET", "If-None-Match: \"y\"\r\n", tagged, "proceed"},
        {"GET", "If-None-Match: \"y\", W/\"z\", \"x\"\r\n", tagged, "304"},
        {"GET", "If-None-Match: \"y\"\r\nIf-None-Match: \"x\"\r\n", tagged, "304"},
        {"GET", "If-None-Match: *\r\n", tagged, "304"},
        {"GET", "If-None-Match: *\r\n", nothing, "304"},
        {"PUT", "If-None-Match: *\r\n", nothing, "412"},
        {"PUT", "If-None-Match: *\r\n", absent, "proceed"},
        {"GET", "If-None-Match: \"*\"\r\n", tagged, "proceed"},
        {"GET", "If-None-Match: x\r\n", tagged, "proceed"},
        {"GET", "If-None-Match:\r\n", tagged, "proceed"},
        {"GET", "If-None-Match: \"x\"\r\n", nothing, "proceed"},
        {"GET", "If-None-Match: \"x\"\r\n", absent, "proceed"},
        {"GET", "If-None-Match: \"\"\r\n", {.etag = ""}, "proceed"},
        {"GET", "If-None-Match: \"\"\r\n", {.etag = "\"\""}, "304"},
        {"OPTIONS", "If-None-Match: *\r\n", tagged, "proceed"},
        {"TRACE", "If-None-Match: *\r\nIf-Match: \"y\"\r\n", tagged, "proceed"},
    });
}

TEST(Conditions, IfModifiedSince) {
    check({
        {"GET", "If-Modified-Since: <before>\r\n", tagged, "proceed"},
        {"GET", "If-Modified-Since: <then>\r\n", tagged, "304"},
        {"GET", "If-Modified-Since: <after>\r\n", tagged, "304"},
        {"HEAD", "If-Modified-Since: <then>\r\n", tagged, "304"},
        {"POST", "If-Modified-Since: <then>\r\n", tagged, "proceed"},
        {"GET", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n", tagged, "304"},
        {"GET", "If-Modified-Since: Sun Nov  6 08:49:37 1994\r\n", tagged, "304"},
        {"GET", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 UTC\r\n", tagged, "proceed"},
        {"GET", "If-Modified-Since: 784111777\r\n", tagged, "proceed"},
        {"GET", "If-Modified-Since: <then>\r\nIf-Modified-Since: <then>\r\n", tagged, "proceed"},
        {"GET", "If-Modified-Since: <then>\r\n", nothing, "proceed"},
        {"GET", "If-None-Match: \"y\"\r\nIf-Modified-Since: <then>\r\n", tagged, "proceed"}, // beside If-None-Match
        {"GET", "If-None-Match: \"x\"\r\nIf-Modified-Since: <before>\r\n", tagged, "304"},
    });
}

TEST(Conditions, IfRange) {
    check({
        {"GET", "Range: bytes=0-\r\n", tagged, "range"},
        {"GET", "Range: whatever\r\n", nothing, "range"},
        {"HEAD", "Range: bytes=0-\r\n", tagged, "proceed"},
        {"POST", "Range: bytes=0-\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\n", absent, "proceed"},
        {"GET", "Range: bytes=0-\r\nRange: bytes=1-\r\n", tagged, "proceed"},
        {"GET", "If-Range: \"x\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"x\"\r\n", tagged, "range"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"y\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: W/\"x\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"x\"\r\n", weakly, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: W/\"x\"\r\n", weakly, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"x\", \"y\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"x\"\r\nIf-Range: \"x\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: *\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range:\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: \"x\"\r\n", nothing, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: <then>\r\n", tagged, "range"},
        {"GET", "Range: bytes=0-\r\nIf-Range: <after>\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: <before>\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: <then>\r\n", weakly, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-Range: <then>\r\n", nothing, "proceed"},
    });
}

TEST(Conditions, AreJudgedInOrder) {
    check({
        {"GET", "If-Match: \"y\"\r\nIf-None-Match: \"x\"\r\n", tagged, "412"},
        {"GET", "If-Match: \"x\"\r\nIf-None-Match: \"x\"\r\n", tagged, "304"},
        {"GET", "If-Unmodified-Since: <before>\r\nIf-Modified-Since: <then>\r\n", tagged, "412"},
        {"GET", "If-Unmodified-Since: <then>\r\nIf-Modified-Since: <then>\r\n", tagged, "304"},
        {"GET", "Range: bytes=0-\r\nIf-None-Match: \"x\"\r\nIf-Range: \"x\"\r\n", tagged, "304"},
        {"GET", "Range: bytes=0-\r\nIf-Match: \"y\"\r\nIf-Range: \"x\"\r\n", tagged, "412"},
        {"GET", "Range: bytes=0-\r\nIf-Match: \"x\"\r\nIf-Range: \"x\"\r\n", tagged, "range"},
        {"GET", "Range: bytes=0-\r\nIf-Match: \"x\"\r\nIf-Range: \"y\"\r\n", tagged, "proceed"},
        {"GET", "Range: bytes=0-\r\nIf-None-Match: \"y\"\r\nIf-Range: \"x\"\r\n", tagged, "range"},
    });
}

} // namespace
} // namespace conditional_cases
