#include <fastserve/http/event_stream.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace event_stream_cases {
namespace {

using namespace fastserve::http;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

std::string write(const sse& e) {
    std::string out = "before|";
    if (append_event(out, e)) return out.substr(7);
    EXPECT_EQ(out, "before|");
    return "refused";
}

TEST(EventStream, IsWrittenLineByLine) {
    struct {
        sse event;
        std::string_view lines;
    } const rows[] = {
        {{.data = "hello"}, "data: hello\n\n"},
        {{.data = " x: y "}, "data:  x: y \n\n"},
        {{.data = "a\nb\r\nc\rd"}, "data: a\ndata: b\ndata: c\ndata: d\n\n"},
        {{.data = "a\n"}, "data: a\ndata: \n\n"},
        {{.data = "\n\r"}, "data: \ndata: \ndata: \n\n"},
        {{.data = "a\0b"sv}, "data: a\0b\n\n"sv},
        {{.data = "x", .event = "tick", .id = "7", .retry = 1500ms, .comment = "note"},
         ": note\nevent: tick\nid: 7\nretry: 1500\ndata: x\n\n"},
        {{.event = "ping"}, "event: ping\ndata: \n\n"},
        {{.id = "7"}, "id: 7\n\n"},
        {{.retry = 3s}, "retry: 3000\n\n"},
        {{.comment = "a\nb"}, ": a\n: b\n\n"},
        {{}, ": \n\n"},
    };
    for (const auto& [event, lines] : rows) EXPECT_EQ(write(event), lines);
}

TEST(EventStream, RefusesWhatWouldBeSomethingElse) {
    for (const std::string_view bad : {"\n"sv, "\r"sv, "\0"sv, "a\nb"sv, "a\r\ndata: x"sv, "a\0"sv, "a\n"sv}) {
        EXPECT_EQ(write({.data = "x", .event = bad}), "refused");
        EXPECT_EQ(write({.data = "x", .id = bad}), "refused");
    }
    EXPECT_EQ(write({.data = "x", .retry = -1ms}), "refused");
}

struct heard {
    std::string type, data, id;
    bool operator==(const heard&) const = default;
};

// The events of a stream, as the standard has a browser interpret it.
std::vector<heard> interpret(std::string_view stream) {
    std::vector<heard> events;
    std::string type, data, id, last_id;
    while (!stream.empty()) {
        const std::size_t end = stream.find_first_of("\r\n");
        if (end == std::string_view::npos) break; // not ended: discarded
        const std::string_view line = stream.substr(0, end);
        stream.remove_prefix(stream.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
        if (line.empty()) {
            last_id = id;
            if (!data.empty()) {
                data.pop_back();
                events.push_back({type.empty() ? "message" : type, data, last_id});
            }
            data.clear();
            type.clear();
            continue;
        }
        const std::size_t colon = line.find(':');
        const std::string_view field = line.substr(0, colon);
        std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
        if (value.starts_with(' ')) value.remove_prefix(1);
        if (field == "event") type = value;
        if (field == "data") data.append(value).append("\n");
        if (field == "id" && value.find('\0') == std::string_view::npos) id = value;
    }
    return events;
}

std::string with_line_feeds(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n' && i != 0 && text[i - 1] == '\r') continue;
        out += text[i] == '\r' ? '\n' : text[i];
    }
    return out;
}

TEST(EventStream, IsReadAsItWasMeant) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    constexpr std::string_view alphabet = "a: \r\n\n\r\0\xc3\xa4"sv;
    const auto some = [&](std::size_t most) {
        std::string text(random() % (most + 1), '\0');
        for (char& c : text) c = alphabet[random() % alphabet.size()];
        return text;
    };
    std::size_t all = 0;
    for (int round = 0; round < 2'000; ++round) {
        std::string stream, last_id;
        std::vector<heard> expected;
        for (int i = 0; i < 8; ++i) {
            const std::string data = some(12), type = some(2), id = some(2), comment = some(6);
            const sse e{.data = data, .event = type, .id = id, .retry = {}, .comment = comment};
            if (!append_event(stream, e)) continue;
            if (!id.empty()) last_id = id;
            if (!data.empty() || !type.empty())
                expected.push_back({type.empty() ? "message" : type, with_line_feeds(data), last_id});
        }
        EXPECT_TRUE(interpret(stream) == expected) << stream;
        all += expected.size();
    }
    EXPECT_GT(all, 1'000U);
}

} // namespace
} // namespace event_stream_cases
