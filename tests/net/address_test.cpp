#include <fastserve/net/address.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>

#include <netinet/in.h>
#include <sys/un.h>

namespace {

using fastserve::net::address;
using fastserve::net::errc;
using kind = address::kind;

address parsed(std::string_view text) {
    const auto got = address::parse(text);
    EXPECT_TRUE(got) << text;
    return got ? *got : address{};
}

TEST(address, what_parses_and_how_it_is_written) {
    struct row {
        const char* text;
        kind type;
        unsigned port;
        const char* written;
        const char* url;
    };
    const row rows[] = {
        {"127.0.0.1:8080", kind::v4, 8080, "127.0.0.1:8080", "http://127.0.0.1:8080"},
        {"0.0.0.0:80", kind::v4, 80, "0.0.0.0:80", "http://127.0.0.1:80"},
        {"10.1.2.3:65535", kind::v4, 65535, "10.1.2.3:65535", "http://10.1.2.3:65535"},
        {"localhost:8080", kind::v4, 8080, "127.0.0.1:8080", "http://127.0.0.1:8080"},
        {"127.0.0.1:0", kind::v4, 0, "127.0.0.1:0", "http://127.0.0.1:0"},
        {"127.0.0.1:00080", kind::v4, 80, "127.0.0.1:80", "http://127.0.0.1:80"},
        {":8080", kind::v6, 8080, "[::]:8080", "http://localhost:8080"},
        {"[::]:80", kind::v6, 80, "[::]:80", "http://localhost:80"},
        {"[::1]:0", kind::v6, 0, "[::1]:0", "http://[::1]:0"},
        {"[2001:DB8:0:0:0:0:0:1]:443", kind::v6, 443, "[2001:db8::1]:443", "http://[2001:db8::1]:443"},
        {"[::ffff:1.2.3.4]:80", kind::v4, 80, "1.2.3.4:80", "http://1.2.3.4:80"},
        {"[fe80::1%7]:80", kind::v6, 80, "[fe80::1%7]:80", "http://[fe80::1%257]:80"},
        {"unix:/run/x.sock", kind::unix_path, 0, "unix:/run/x.sock", "unix:/run/x.sock"},
        {"unix:x", kind::unix_path, 0, "unix:x", "unix:x"},
        {"unix:@abstract", kind::unix_path, 0, "unix:@abstract", "unix:@abstract"},
        {"fd:3", kind::descriptor, 0, "fd:3", "fd:3"},
    };
    for (const row& r : rows) {
        const address a = parsed(r.text);
        EXPECT_EQ(a.type(), r.type) << r.text;
        EXPECT_EQ(a.port(), r.port) << r.text;
        EXPECT_EQ(a.to_string(), r.written);
        EXPECT_EQ(a.url(), r.url);
        EXPECT_EQ(parsed(a.to_string()), a) << r.text;
    }
    EXPECT_EQ(parsed("[fe80::1%lo]:80").type(), kind::v6);
    EXPECT_EQ(parsed("fd:3").fd(), 3);
    EXPECT_EQ(parsed("127.0.0.1:3").fd(), -1);
    EXPECT_TRUE(parsed(":1").is_any());
    EXPECT_TRUE(parsed("0.0.0.0:1").is_any());
    EXPECT_FALSE(parsed("[::1]:1").is_any());
    EXPECT_FALSE(parsed("unix:x").is_any());
    EXPECT_EQ(parsed("127.0.0.1:0").at_port(81), parsed("127.0.0.1:81"));
}

TEST(address, what_is_refused_and_why) {
    using namespace std::string_view_literals;
    const std::string longest(107, 'a'), too_long(108, 'a');
    const std::pair<std::string, errc> rows[] = {
        {"", errc::bad_address},
        {"8080", errc::missing_port},
        {"127.0.0.1", errc::missing_port},
        {"127.0.0.1:", errc::missing_port},
        {"[::1]", errc::missing_port},
        {"[::1]:", errc::missing_port},
        {"localhost", errc::missing_port},
        {"127.0.0.1:http", errc::bad_port},
        {"127.0.0.1:-1", errc::bad_port},
        {"127.0.0.1:+1", errc::bad_port},
        {"127.0.0.1:0x50", errc::bad_port},
        {"127.0.0.1:65536", errc::port_out_of_range},
        {"127.0.0.1:99999999999999999999", errc::port_out_of_range},
        {"::1:8080", errc::unbracketed_v6},
        {"::", errc::unbracketed_v6},
        {"example.com:80", errc::host_not_literal},
        {"Localhost.:80", errc::host_not_literal},
        {"*:80", errc::host_not_literal},
        {"256.0.0.1:80", errc::bad_address},
        {"1.2.3:80", errc::bad_address},
        {"[::1:80", errc::bad_address},
        {"[::1]x:80", errc::bad_address},
        {"[127.0.0.1]:80", errc::bad_address},
        {"[:::1]:80", errc::bad_address},
        {"[]:80", errc::bad_address},
        {"http://127.0.0.1:80", errc::bad_address},
        {" 127.0.0.1:80", errc::bad_address},
        {std::string("[::1\0]:80"sv), errc::bad_address},
        {std::string("127.0.0.1\0:80"sv), errc::bad_address},
        {"[fe80::1%no-such-interface]:80", errc::unknown_interface},
        {"[fe80::1%]:80", errc::unknown_interface},
        {"[fe80::1%0]:80", errc::unknown_interface},
        {"unix:", errc::bad_path},
        {"unix:@", errc::bad_path},
        {std::string("unix:a\0b"sv), errc::bad_path},
        {"unix:" + too_long, errc::path_too_long},
        {"fd:", errc::bad_descriptor},
        {"fd:-1", errc::bad_descriptor},
        {"fd:3x", errc::bad_descriptor},
        {"fd:99999999999", errc::bad_descriptor},
    };
    for (const auto& [text, error] : rows) {
        const auto got = address::parse(text);
        ASSERT_FALSE(got) << text;
        EXPECT_EQ(got.error(), error) << text << ": " << got.error().message();
    }
    EXPECT_TRUE(address::parse("unix:" + longest));
}

TEST(address, sockaddr_round_trip) {
    for (const char* text :
         {"127.0.0.1:8080", "[::1]:8080", "[fe80::1%7]:1", "unix:/run/x.sock", "unix:@name", "unix:@a"}) {
        const address a = parsed(text);
        sockaddr_storage storage;
        const socklen_t size = a.to_sockaddr(storage);
        ASSERT_GT(size, 0u);
        EXPECT_EQ(storage.ss_family, a.family());
        EXPECT_EQ(address::from_sockaddr(reinterpret_cast<sockaddr*>(&storage), size), a);
    }
    const std::string longest = "unix:" + std::string(107, 'a');
    sockaddr_storage storage;
    const socklen_t size = parsed(longest).to_sockaddr(storage);
    EXPECT_EQ(size, sizeof(sockaddr_un));
    EXPECT_EQ(address::from_sockaddr(reinterpret_cast<sockaddr*>(&storage), size).to_string(), longest);

    EXPECT_EQ(parsed("fd:3").to_sockaddr(storage), 0u);
    EXPECT_EQ(address{}.to_sockaddr(storage), 0u);
    EXPECT_EQ(address::unix_path(std::string(200, 'a')).to_sockaddr(storage), 0u);
    EXPECT_EQ(address{}.to_string(), "-");
}

TEST(address, an_unnamed_peer_and_a_short_sockaddr) {
    sockaddr_storage storage{};
    storage.ss_family = AF_UNIX;
    const auto* from = reinterpret_cast<const sockaddr*>(&storage);
    EXPECT_EQ(address::from_sockaddr(from, sizeof(sa_family_t)).to_string(), "unix:");
    storage.ss_family = AF_INET6;
    EXPECT_EQ(address::from_sockaddr(from, sizeof(sockaddr_in)).type(), kind::none);
    EXPECT_EQ(address::from_sockaddr(from, 0).type(), kind::none);
    storage.ss_family = AF_PACKET;
    EXPECT_EQ(address::from_sockaddr(from, sizeof storage).type(), kind::none);
}

TEST(address, a_mapped_peer_is_an_ipv4_peer) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(1234);
    const unsigned char mapped[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7};
    std::memcpy(&in.sin6_addr, mapped, sizeof mapped);
    const address a = address::from_sockaddr(reinterpret_cast<const sockaddr*>(&in), sizeof in);
    EXPECT_EQ(a, parsed("192.0.2.7:1234"));
    EXPECT_EQ(a.peer_key(), parsed("192.0.2.7:9").peer_key());
}

TEST(address, one_peer_is_an_ipv4_address_or_an_ipv6_network) {
    EXPECT_EQ(parsed("1.2.3.4:1").peer_key(), parsed("1.2.3.4:2").peer_key());
    EXPECT_NE(parsed("1.2.3.4:1").peer_key(), parsed("1.2.3.5:1").peer_key());
    EXPECT_EQ(parsed("[2001:db8:1:2::1]:1").peer_key(), parsed("[2001:db8:1:2:ffff::]:2").peer_key());
    EXPECT_NE(parsed("[2001:db8:1:2::1]:1").peer_key(), parsed("[2001:db8:1:3::1]:1").peer_key());
    EXPECT_NE(parsed("[::1]:1").peer_key(), parsed("0.0.0.0:1").peer_key());
    EXPECT_EQ(address::unix_path({}).peer_key(), parsed("unix:/x").peer_key());
    EXPECT_NE(address::unix_path({}).peer_key(), parsed("[::1]:1").peer_key());
}

// Whatever the text is, parse() ends, and what it accepts it writes in a form that it reads again as the same.
TEST(address, random_text) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::string_view pieces[] = {"127.0.0.1", "[", "]", ":", "::", "80",  "ffff", "%",        "lo",
                                       "unix:",     "@", "/", ".", "0",  "fd:", "-",    "localhost"};
    int accepted = 0;
    for (int i = 0; i < 200'000; ++i) {
        std::string text;
        for (auto n = random() % 7; n > 0; --n) text += pieces[random() % std::size(pieces)];
        const auto got = address::parse(text);
        if (!got) continue;
        ++accepted;
        const auto again = address::parse(got->to_string());
        ASSERT_TRUE(again) << text;
        ASSERT_EQ(*again, *got) << text;
    }
    EXPECT_GT(accepted, 1000);
}

} // namespace
