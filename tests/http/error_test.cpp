// What is said of each fault, and the status that answers it.
#include <fastserve/http/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

using namespace fastserve::http;

namespace {

TEST(Error, EachHasALineOfItsOwn) {
    std::set<std::string_view> lines;
    for (int value = 0; value < errc_count; ++value) {
        const std::string_view line = message_of(static_cast<errc>(value));
        EXPECT_TRUE(!line.empty() && line != "unknown error") << value;
        EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; })) << line;
        EXPECT_TRUE(lines.insert(line).second) << line << " is said of two";
    }
    EXPECT_EQ(message_of(static_cast<errc>(errc_count)), "unknown error");
}

TEST(Error, EachIsAnsweredWithAnError) {
    EXPECT_EQ(status_of(errc::ok), 200);
    const std::set<int> known = {400, 408, 413, 414, 417, 431, 501, 505};
    std::set<int> seen;
    for (int value = 1; value < errc_count; ++value) seen.insert(status_of(static_cast<errc>(value)));
    EXPECT_EQ(seen, known);
    EXPECT_EQ(status_of(errc::expectation_failed), 417);
    EXPECT_EQ(status_of(errc::unsupported_version), 505);
    EXPECT_EQ(status_of(errc::unknown_method), 501);
    EXPECT_EQ(status_of(errc::unknown_transfer_coding), 501);
    EXPECT_EQ(status_of(errc::length_and_chunked), 400);
}

TEST(Error, IsAnErrorCode) {
    const std::error_code none = errc::ok, some = errc::bad_host;
    EXPECT_FALSE(none);
    EXPECT_TRUE(some);
    EXPECT_EQ(some.message(), message_of(errc::bad_host));
    EXPECT_EQ(some.category(), http_category());
    EXPECT_STREQ(some.category().name(), "fastserve.http");
    for (const int none_of_them : {-1, int{errc_count}, 256, 256 + static_cast<int>(errc::bad_host)})
        EXPECT_EQ(http_category().message(none_of_them), "unknown error") << none_of_them;
}

} // namespace
