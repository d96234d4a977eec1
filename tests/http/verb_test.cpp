#include <fastserve/http/verb.hpp>

#include <boost/beast/http/verb.hpp>
#include <gtest/gtest.h>

namespace http = fastserve::http;
namespace beast = boost::beast::http;

namespace {

constexpr bool same(http::verb ours, beast::verb theirs) {
    return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same(http::verb::unknown, beast::verb::unknown));
static_assert(same(http::verb::delete_, beast::verb::delete_));
static_assert(same(http::verb::get, beast::verb::get));
static_assert(same(http::verb::options, beast::verb::options));
static_assert(same(http::verb::msearch, beast::verb::msearch));
static_assert(same(http::verb::patch, beast::verb::patch));
static_assert(same(http::verb::unlink, beast::verb::unlink));

TEST(Verb, NamesAndValuesAreThoseOfBeast) {
    for (std::uint8_t i = 1; i < http::verb_count; ++i) {
        const auto theirs = beast::to_string(static_cast<beast::verb>(i));
        const std::string_view name{theirs.data(), theirs.size()};
        EXPECT_EQ(http::to_string(static_cast<http::verb>(i)), name);
        EXPECT_EQ(http::find_verb(name), static_cast<http::verb>(i));
    }
}

TEST(Verb, AnythingElseIsUnknown) {
    for (const char* name : {"", "get", "Get", "GE", "GETS", "GOT", "UNLINKS", "BREW", "X", "M_SEARCH", "PRI"})
        EXPECT_EQ(http::find_verb(name), http::verb::unknown) << name;
    EXPECT_EQ(http::to_string(http::verb::unknown), "");
    for (unsigned i = http::verb_count; i < 256; ++i) EXPECT_EQ(http::to_string(static_cast<http::verb>(i)), "") << i;
}

} // namespace
