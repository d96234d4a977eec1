#include <fastserve/http/negotiation.hpp>

#include <fastserve/http/head_parser.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace negotiation_cases {
namespace {

using namespace fastserve::http;
using lines = std::initializer_list<std::string_view>;

// ---- Accept-Encoding

constexpr std::array offered = {content_coding::br, content_coding::zstd, content_coding::gzip};

std::string_view name_of(std::optional<content_coding> c) {
    return c ? to_string(*c) : "none";
}

std::string_view coding_for(lines all) {
    coding_preferences wants;
    for (const std::string_view line : all) wants.add(line);
    return name_of(wants.choose(offered));
}

TEST(AcceptEncoding, ChoosesByWeightThenByTheServersOrder) {
    struct {
        std::string_view field, chosen;
    } const rows[] = {
        {"gzip, deflate, br, zstd", "br"},
        {"gzip", "gzip"},
        {"GZIP", "gzip"},
        {"x-gzip", "gzip"},
        {"gzip;q=1.0, br;q=0.9", "gzip"},
        {"gzip;q=0.5, br;q=0.5", "br"},
        {"gzip;q=0.501, br;q=0.5, zstd;q=.5", "gzip"},
        {"br;q=0, gzip;q=0, zstd", "zstd"},
        {"gzip;q=0.001", "gzip"},
        {"compress, deflate", "identity"},
        {"identity", "identity"},
        {"identity;q=1, gzip;q=0.5", "identity"},
        {"identity;q=0.5, gzip", "gzip"},
        {"*", "br"},
        {"*;q=0.1, gzip;q=0.2", "gzip"},
        {"*;q=0.5, br;q=0", "zstd"},
        {"gzip;q=0.5, *;q=0", "gzip"},
        {"gzip;q=0.3, zstd;q=0, br;q=0, *;q=0.5", "identity"}, // it is one that "*" stands for
        {"*;q=0", "none"},
        {"identity;q=0", "none"},
        {"identity;q=0, *;q=0", "none"},
        {"identity;q=0, deflate", "none"},
        {"identity;q=0, *", "br"},
        {"identity;q=0.2, *;q=0", "identity"},
        {"gzip;q=0, identity;q=0", "none"},
        {"gzip;q=0", "identity"},
        {"", "identity"},
        {" \t", "identity"},
        {",", "identity"},
        {",, gzip ,\t,", "gzip"},
        {"gzip;q=0.2, gzip;q=0.8, br;q=0.5", "gzip"},
        {"gzip;q=0.8, gzip;q=0, br;q=0.5", "gzip"},
        {"gzip ; q=0.5\t, br\t;\tQ=0.4", "gzip"},
        {"gzip;q=1.000", "gzip"},
        {"gzip;q=1.", "gzip"},
        {"gzip;q=.2", "gzip"},
    };
    for (const auto& row : rows) EXPECT_EQ(coding_for({row.field}), row.chosen) << row.field;
}

TEST(AcceptEncoding, SkipsWhatIsMalformed) {
    for (const std::string bad : {"gzip;q=2", "gzip;q=1.001", "gzip;q=0.1234", "gzip;q=-1",   "gzip;q=+1",
                                  "gzip;q=",  "gzip;q",       "gzip;",         "gzip;;q=1",   "gzip;q=a",
                                  "gzip;q=.", "gzip;q=0,5x",  "gzip;q=1e3",    "gzip;q= 1",   "gzip;q =1",
                                  "gzip;x=1", "gzip;q=1;x=1", "gzip;q=\"1\"",  "gzip br",     "\"gzip\"",
                                  "gzip/1",   "=gzip",        ";q=1",          "gzip=1",      "gz\xC3\xAFp",
                                  "gzip\x01", "gzip;q=00.5",  "gzip;q=10",     "gzip;q=0.5.5"}) {
        EXPECT_EQ(coding_for({bad}), "identity") << bad;
        EXPECT_EQ(coding_for({bad + ", zstd;q=0.1"}), "zstd") << bad;
        EXPECT_EQ(coding_for({"zstd;q=0.1," + bad}), "zstd") << bad;
    }
    EXPECT_EQ(coding_for({"identity;q=0;x, gzip;q=0"}), "identity");
}

TEST(AcceptEncoding, TakesLinesForOneList) {
    EXPECT_EQ(coding_for({}), "identity");
    EXPECT_EQ(coding_for({"gzip;q=0.5", "br;q=0.4, identity;q=0"}), "gzip");
    EXPECT_EQ(coding_for({"identity;q=0", "", "br"}), "br");
}

TEST(AcceptEncoding, OffersIdentityAlways) {
    const auto choose = [](std::string_view field, std::initializer_list<content_coding> offers) {
        coding_preferences wants;
        wants.add(field);
        return name_of(wants.choose({offers.begin(), offers.size()}));
    };
    EXPECT_EQ(choose("gzip", {}), "identity");
    EXPECT_EQ(choose("identity;q=0, gzip", {}), "none");
    EXPECT_EQ(choose("*", {content_coding::identity, content_coding::gzip}), "identity");
    EXPECT_EQ(choose("*", {content_coding::gzip, content_coding::identity}), "gzip");
    EXPECT_EQ(choose("gzip", {content_coding::identity, content_coding::gzip}), "gzip");
    EXPECT_EQ(choose("deflate", {content_coding::deflate}), "deflate");
}

TEST(ContentCoding, HasAName) {
    for (std::uint8_t i = 0; i < content_coding_count; ++i) {
        const auto c = static_cast<content_coding>(i);
        EXPECT_EQ(find_content_coding(to_string(c)), c);
    }
    EXPECT_EQ(to_string(static_cast<content_coding>(content_coding_count)), "");
    EXPECT_EQ(find_content_coding("Zstd"), content_coding::zstd);
    for (const char* zipped : {"gzip", "GZip", "x-gzip", "X-GZIP"})
        EXPECT_EQ(find_content_coding(zipped), content_coding::gzip) << zipped;
    for (const char* none : {"", "*", "gzi", "gzipp", "x-br", "x-deflate", "compress", "brotli", " gzip", "gzip "})
        EXPECT_EQ(find_content_coding(none), std::nullopt) << none;
}

// ---- Accept

std::string_view media_for(lines all, std::initializer_list<std::string_view> offers) {
    media_preferences wants({offers.begin(), offers.size()});
    for (const std::string_view line : all) wants.add(line);
    const auto chosen = wants.choose();
    return chosen ? offers.begin()[*chosen] : "none";
}

TEST(Accept, ChoosesByWeightThenByTheServersOrder) {
    struct {
        std::string_view field, chosen;
    } const rows[] = {
        {"text/html", "text/html"},
        {"TEXT/Html", "text/html"},
        {"application/json", "application/json"},
        {"*/*", "application/json"},
        {"text/*", "text/plain"},
        {"text/*;q=0.5, application/*;q=0.4", "text/plain"},
        {"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "text/html"},
        {"text/html;q=0.5, application/json;q=0.5", "application/json"},
        {"application/json;q=0.1, */*", "text/plain"}, // the more precise range counts, not the higher weight
        {"*/*, application/json;q=0.1", "text/plain"},
        {"text/*, text/plain;q=0", "text/html"},
        {"text/plain;q=0, text/*", "text/html"},
        {"*/*, application/*;q=0, text/plain;q=0.9", "text/html"},
        {"image/png", "none"},
        {"*/*;q=0", "none"},
        {"text/html;q=0", "none"},
        {"application/json;q=0, text/*;q=0", "none"},
        {"text/html;q=0.000", "none"},
        {"text/html;q=0.2, text/html;q=0.6, application/json;q=0.5", "text/html"},
        {"", "application/json"},
        {" , ,", "application/json"},
        {"text", "application/json"}, // no valid member: as if nothing was said
        {"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html"}, // Java's
        {"image/gif, image/jpeg, *; q=.2, */*; q=.2", "application/json"},
        {"text/html;q=0.3;ext=1;ext2;x=\"y,z\", text/plain;q=0.2", "text/html"},
        {"text/html ; q=0.3\t,\ttext/plain\t;\tq=0.2", "text/html"},
        {"text/html;;q=0.3, text/plain; ;q=0.4;", "text/plain"},
    };
    for (const auto& row : rows)
        EXPECT_EQ(media_for({row.field}, {"application/json", "text/plain", "text/html"}), row.chosen) << row.field;
}

TEST(Accept, ComparesParameters) {
    struct {
        std::string_view field, chosen;
    } const rows[] = {
        {"text/html;level=1", "text/html;level=1"},
        {"text/html;level=2", "text/html; charset=utf-8; level=\"2\""},
        {"text/html;LEVEL=\"2\"", "text/html; charset=utf-8; level=\"2\""},
        {"text/html;level=\"\\2\"", "text/html; charset=utf-8; level=\"2\""},
        {"text/html;charset=UTF-8", "text/html; charset=utf-8; level=\"2\""},
        {"text/html;charset=UTF-8;level=1", "none"},
        {"text/html;level=3", "none"},
        {"text/html", "text/html"},
        {"text/html;level=1;q=0.5, text/html;q=0.4", "text/html;level=1"},
        {"text/html;level=1;q=0.3, text/html;q=0.4", "text/html"},
        {"text/html;level=2;q=0.3, text/html;level=2;charset=utf-8;q=0.6, text/html;q=0.5",
         "text/html; charset=utf-8; level=\"2\""}, // more parameters are more precise
        {"text/html;level=1;q=0, text/html;q=0.4", "text/html"},
        {"text/*;level=1", "text/html;level=1"},
        {"*/*;level=1", "text/html;level=1"},
        {"text/html;level=\"1,2\", text/html;level=1;q=0.1", "text/html;level=1"},
        {"text/html;level=\"", "text/html"},
        {"text/html;level=\"1", "text/html"},
        {"text/html;level=\"1\\", "text/html"},
        {"text/html;level=", "text/html"},
    };
    for (const auto& row : rows)
        EXPECT_EQ(media_for({row.field}, {"text/html", "text/html;level=1", "text/html; charset=utf-8; level=\"2\""}),
                  row.chosen)
            << row.field;
}

TEST(Accept, SkipsWhatIsMalformed) {
    for (const std::string bad :
         {"a",          "a/",           "/b",        "a b/c",  "*",         "*/b",          "a/b c",
          "a/b;x",      "a/b;x=",       "a/b;q",     "a/b;q=", "a/b;q=2",   "a/b;q=0.1234", "a/b;q=\"1\"",
          "a/b;x=\"",   "a/b;x=\"1\"2", "a/b/c",     "a/b;=1", "a/b;x=1 y", "\"a/b\"",      "a/b\x01",
          "a/b; q = 1", "a/b;q=1;x=\"", "a/b;x=\x01"}) {
        EXPECT_EQ(media_for({bad}, {"x/y", "a/b"}), "x/y") << bad;
        // What is behind a quote that does not end is lost at most to the next comma.
        EXPECT_EQ(media_for({bad + ", a/b;q=0.1"}, {"x/y", "a/b"}), "a/b") << bad;
        EXPECT_EQ(media_for({"a/b;q=0.1, " + bad}, {"x/y", "a/b"}), "a/b") << bad;
    }
}

TEST(Accept, TakesLinesForOneList) {
    EXPECT_EQ(media_for({}, {"a/b", "x/y"}), "a/b");
    EXPECT_EQ(media_for({"a/b;q=0.5", "x/y"}, {"a/b", "x/y"}), "x/y");
    EXPECT_EQ(media_for({"", "x/y"}, {"a/b", "x/y"}), "x/y");
    EXPECT_EQ(media_for({"a/b"}, {}), "none");
}

TEST(Accept, LooksAtSixteenOffers) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < media_preferences::most_offers + 1; ++i) names.push_back("a/" + std::to_string(i));
    const std::vector<std::string_view> offers(names.begin(), names.end());
    media_preferences wants(offers);
    wants.add("a/15;q=0.5, a/16");
    EXPECT_EQ(wants.of(15), 500);
    EXPECT_EQ(wants.of(16), 0);
    EXPECT_EQ(wants.choose(), 15U);
    EXPECT_EQ(media_preferences(offers).of(16), 0);
}

TEST(Negotiation, ReadsTheLinesOfAHead) {
    const std::string text = "GET / HTTP/1.1\r\nHost: a\r\nAccept: a/b;q=0.5\r\naccept-encoding: gzip;q=0.2\r\n"
                             "Accept: x/y\r\nAccept-Encoding: br;q=0.1\r\n\r\n" +
                             std::string(parse_padding, ' ');
    std::vector<field_line> storage(16);
    head h;
    h.use_storage(storage);
    head_parser parser;
    ASSERT_EQ(parser.parse(text.data(), text.size() - parse_padding, h, limits{}), parse_status::complete);
    EXPECT_EQ(name_of(coding_preferences(h).choose(offered)), "gzip");
    const std::string_view offers[] = {"a/b", "x/y"};
    EXPECT_EQ(media_preferences(offers, h).choose(), 1U);
}

// The most that a head can say takes no longer than it should: the test would not end if a walk were quadratic.
TEST(Negotiation, LongListsAreWalkedOnce) {
    std::string many, wide = "a/b";
    for (int i = 0; i < 100'000; ++i) many += "a/b;q=0.1,", wide += ";x=\"1,2\"";
    EXPECT_EQ(media_for({many + "x/y"}, {"a/b", "x/y"}), "x/y");
    EXPECT_EQ(media_for({wide + ",x/y;q=0.1"}, {"a/b;x=\"1,2\"", "x/y"}), "a/b;x=\"1,2\"");
    EXPECT_EQ(coding_for({many + "gzip"}), "gzip");
    const std::string commas(1'000'000, ','), quotes(1'000'000, '"');
    EXPECT_EQ(coding_for({commas + "gzip"}), "gzip");
    EXPECT_EQ(media_for({"a/b;x=" + quotes, commas + "x/y"}, {"a/b", "x/y"}), "x/y");
}

} // namespace
} // namespace negotiation_cases
