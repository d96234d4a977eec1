#include <fastserve/http/host.hpp>

#include <gtest/gtest.h>

using namespace fastserve::http;

namespace {

TEST(Host, KnowsIpv6Addresses) {
    for (const char* good :
         {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "2001:db8::ff00:42:8329",
          "::ffff:192.0.2.1", "1:2:3:4:5:6:192.0.2.1", "64:ff9b::0.0.0.0", "abcd:EF01::", "1:2:3:4:5::192.0.2.1"})
        EXPECT_TRUE(valid_ipv6(good)) << good;
    for (const char* bad : {"",
                            ":",
                            ":::",
                            "1",
                            "1:2:3:4:5:6:7",
                            "1:2:3:4:5:6:7:8:9",
                            "1::2::3",
                            "12345::",
                            "g::",
                            ":1",
                            "1:",
                            "1:2:3:4:5:6:7:8::",
                            "::1:2:3:4:5:6:7:8",
                            "::256.0.0.1",
                            "::1.2.3",
                            "::1.2.3.4.5",
                            "::01.2.3.4",
                            "1:2:3:4:5:6:7:1.2.3.4",
                            "1.2.3.4",
                            "::1%eth0",
                            "::1 ",
                            "1:::2"})
        EXPECT_FALSE(valid_ipv6(bad)) << bad;
}

TEST(Host, SplitsWhatItAccepts) {
    struct expectation {
        const char *text, *host, *port;
    };
    for (const expectation& e :
         {expectation{"a.example", "a.example", ""}, expectation{"a:80", "a", "80"}, expectation{"a:", "a", ""},
          expectation{"[::1]", "[::1]", ""}, expectation{"[::1]:8080", "[::1]", "8080"},
          expectation{"[vF.x:y]:1", "[vF.x:y]", "1"}}) {
        EXPECT_TRUE(valid_authority(e.text)) << e.text;
        EXPECT_EQ(split_authority(e.text).host, e.host);
        EXPECT_EQ(split_authority(e.text).port, e.port);
    }
    for (const char* bad : {"", ":80", "a:b", "a:1:2", "u@a", "[::1", "::1]", "[v1.]", "[v.a]", "[vg.a]", "a%2", "a b"})
        EXPECT_FALSE(valid_authority(bad)) << bad;
}

} // namespace
