// Random bodies, sound, damaged and hostile.
#include "multipart_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace multipart_test {
namespace {

class random_multiparts : public testing::Test {
protected:
    random_multiparts() { std::printf("seed %u\n", seed); }

    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); }
    std::string_view one_of(std::initializer_list<std::string_view> choices) {
        return choices.begin()[below(choices.size())];
    }

    std::string some(std::initializer_list<std::string_view> choices, std::size_t most) {
        std::string all;
        for (std::size_t n = below(most + 1); n-- > 0;) all += one_of(choices);
        return all;
    }

    // As the HTML standard has names written.
    static std::string quoted(std::string_view name) {
        std::string text = "\"";
        for (const char c : name) {
            if (c == '"')
                text += "%22";
            else if (c == '\r')
                text += "%0D";
            else if (c == '\n')
                text += "%0A";
            else
                text += c;
        }
        return text + '"';
    }

    // Content that has no delimiter in it, and much of one.
    std::string content() {
        const std::string most = delimiter.substr(0, 2 + below(delimiter.size() - 2));
        std::string data;
        do {
            data = some({"\r", "\n", "\r\n", "-", "--", "x", "yz", most, boundary, delimiter.substr(1)}, below(40));
        } while (("\r\n" + data + "\r\n--").find(delimiter) != data.npos);
        return data;
    }

    std::string body(const std::vector<part>& parts) {
        std::string text = below(4) == 0 ? "preamble" + delimiter : delimiter.substr(2);
        for (const part& p : parts) {
            text += std::string(one_of({"", "", " ", "\t \t"})) + "\r\n";
            std::string disposition = "Content-Disposition: form-data; name=" + quoted(p.name);
            if (p.filename) disposition += "; filename=" + quoted(*p.filename);
            const std::string media = p.type == "text/plain" ? "" : "Content-Type:" + p.type + "\r\n";
            text += (below(2) ? media + disposition + "\r\n" : disposition + "\r\n" + media) + some({"X-A: b\r\n"}, 2);
            text += p.data.empty() && below(2) ? delimiter : "\r\n" + p.data + delimiter;
        }
        return text + "--" + std::string(one_of({"", "\r\n", " \r\n", "\r\nepilogue\r\n"}));
    }

    std::vector<part> random_parts() {
        std::vector<part> parts;
        for (std::size_t n = below(5); n-- > 0;) {
            part p{some({"a", "\"", "\r\n", "%", "2", "%22", " ", ";", "="}, 6)};
            // Written so, a literal %22 is the same as a quote.
            for (std::size_t at; (at = p.name.find("%22")) != p.name.npos;) p.name.replace(at, 3, "\"");
            if (below(2)) p.filename = p.safe = some({"a", "b.", "\xC3\xA9"}, 6) + "z";
            p.data = content();
            if (below(2)) p.type = "application/x-test";
            parts.push_back(p);
        }
        return parts;
    }

    std::vector<std::size_t> cuts(std::size_t size) {
        std::vector<std::size_t> at;
        for (std::size_t n = below(12); n-- > 0;) at.push_back(below(size + 1));
        std::sort(at.begin(), at.end());
        return at;
    }

    const unsigned seed = std::random_device{}();
    std::mt19937 random{seed};
    std::string boundary = "--bo'un d";
    std::string delimiter = "\r\n--" + boundary;
    const std::string type = "multipart/form-data; boundary=\"" + boundary + '"';
};

TEST_F(random_multiparts, come_back_as_they_were) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int round = 0; round < 4'000; ++round) {
        const std::vector<part> parts = random_parts();
        const std::string text = body(parts);
        const outcome o = run(text, cuts(text.size()), {}, type);
        ASSERT_EQ(o.error, multipart_errc::ok) << message_of(o.error) << "\n" << text;
        ASSERT_EQ(o.parts, parts) << text;
    }
}

TEST_F(random_multiparts, damage_is_seen_alike_at_every_cut) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    int sound = 0;
    for (int round = 0; round < 4'000; ++round) {
        std::string text = body(random_parts());
        for (std::size_t n = 1 + below(2); n-- > 0;) {
            const std::size_t at = below(text.size());
            if (below(3) == 0)
                text.erase(at, 1);
            else if (below(2) == 0)
                text.insert(at, one_of({"\r", "\n", "-", delimiter, "\r\n", "\"", "\\", ";", " "}));
            else
                text[at] = static_cast<char>(below(256));
        }
        multipart_limits l;
        if (below(4) == 0) l.parts = below(4);
        if (below(4) == 0) l.head_bytes = 60 + below(60);
        if (below(4) == 0) l.field_bytes = below(40);
        if (below(4) == 0) l.file_bytes = below(40);
        if (below(4) == 0) l.total_bytes = below(text.size() + 2);
        if (below(4) == 0) l.preamble_bytes = l.epilogue_bytes = below(12);
        const outcome whole = run(text, {}, l, type);
        for (int n = 0; n < 3; ++n) ASSERT_EQ(run(text, cuts(text.size()), l, type), whole) << text;
        sound += whole.error == multipart_errc::ok;
    }
    EXPECT_GT(sound, 200);
    EXPECT_LT(sound, 3'000) << "damage is seen";
}

// What takes a search back to where it was. Were the time not linear, this would not end in time.
TEST(multipart_hostile, look_alikes_cost_what_other_bytes_cost) {
    const std::string boundary(70, '-');
    const std::string type = "multipart/form-data; boundary=" + boundary;
    const std::string head = "--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    const std::string delimiter = "\r\n--" + boundary;
    multipart_limits l;
    l.field_bytes = l.total_bytes;
    for (const std::string& piece : {std::string("\r"), std::string("\r\n"), std::string("-"), std::string("\r\n--"),
                                     delimiter.substr(0, delimiter.size() - 1)}) {
        std::string data;
        while (data.size() < 1024 * 1024) data += piece;
        const std::string text = head + "x" + data + "\r" + delimiter + "--";
        std::vector<std::size_t> often;
        for (std::size_t at = 0; at < text.size(); at += 1 + at % 97) often.push_back(at);
        for (const auto& cuts : {std::vector<std::size_t>{}, often}) {
            const outcome o = run(text, cuts, l, type);
            ASSERT_EQ(o.error, multipart_errc::ok);
            ASSERT_EQ(o.parts.size(), 1U);
            ASSERT_TRUE(o.parts[0].data == "x" + data + "\r");
        }
    }
}

} // namespace
} // namespace multipart_test
