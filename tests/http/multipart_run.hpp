// Feeds one multipart body to the decoder, cut anywhere.
#pragma once

#include <fastserve/http/multipart.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace multipart_test {

using fastserve::http::multipart_decoder;
using fastserve::http::multipart_errc;
using fastserve::http::multipart_event;
using fastserve::http::multipart_limits;

struct part {
    std::string name;
    std::optional<std::string> filename{};
    std::string data{};
    std::string type = "text/plain";
    std::string safe{};
    bool ended = true;

    bool operator==(const part&) const = default;
};

struct outcome {
    std::vector<part> parts;
    multipart_errc error = multipart_errc::ok;
    std::string lines{}; // of all parts

    bool operator==(const outcome&) const = default;
};

inline void PrintTo(const part& p, std::ostream* out) {
    *out << "{'" << p.name << "', " << (p.filename ? "'" + *p.filename + "'" : "no file") << ", '"
         << p.data.substr(0, 100) << "', '" << p.type << "', '" << p.safe << "'" << (p.ended ? "}" : ", not ended}");
}

inline void PrintTo(const outcome& o, std::ostream* out) {
    *out << "{" << message_of(o.error) << "; ";
    for (const part& p : o.parts) PrintTo(p, out);
    *out << " '" << o.lines << "'}";
}

// What must be true of each step, whatever the input.
class listener {
public:
    explicit listener(multipart_decoder& d) : decoder_(d) {}

    // A piece in memory of exactly its size, so that a sanitizer sees a look beyond it. False after an error.
    bool feed(std::string_view piece) {
        const auto copy = std::make_unique_for_overwrite<char[]>(piece.size());
        if (!piece.empty()) std::memcpy(copy.get(), piece.data(), piece.size());
        std::string_view rest(copy.get(), piece.size());
        for (;;) {
            const auto step = decoder_.next(rest);
            EXPECT_LE(step.consumed, rest.size());
            EXPECT_EQ(step.event == multipart_event::data, !step.data.empty());
            rest.remove_prefix(step.consumed);
            if (step.event == multipart_event::need_more) {
                EXPECT_TRUE(rest.empty());
                return true;
            }
            if (step.event == multipart_event::error) return false;
            take(step);
        }
    }

    outcome finish() {
        const auto step = decoder_.finish();
        seen_.error = decoder_.error();
        EXPECT_EQ(step.event, seen_.error == multipart_errc::ok ? multipart_event::end : multipart_event::error);
        EXPECT_EQ(decoder_.finish().event, step.event);
        if (seen_.error != multipart_errc::ok) { // and nothing comes any more
            EXPECT_EQ(decoder_.next("--b--").event, multipart_event::error);
            EXPECT_EQ(decoder_.error(), seen_.error);
        } else {
            EXPECT_FALSE(in_part_);
        }
        return seen_;
    }

private:
    void take(const multipart_decoder::step& step) {
        switch (step.event) {
        case multipart_event::part: {
            EXPECT_FALSE(in_part_);
            in_part_ = true;
            const auto& h = decoder_.head();
            seen_.parts.push_back({std::string(h.name),
                                   h.filename ? std::optional<std::string>(*h.filename) : std::nullopt, "",
                                   std::string(h.content_type), std::string(h.safe_filename), false});
            seen_.lines += h.lines;
            break;
        }
        case multipart_event::data:
            ASSERT_TRUE(in_part_);
            seen_.parts.back().data += step.data;
            EXPECT_EQ(decoder_.head().name, seen_.parts.back().name) << "a head is good until the next";
            break;
        case multipart_event::part_end:
            ASSERT_TRUE(in_part_);
            in_part_ = false;
            seen_.parts.back().ended = true;
            break;
        default: ADD_FAILURE() << "an event that next() does not have";
        }
    }

    multipart_decoder& decoder_;
    outcome seen_;
    bool in_part_ = false;
};

inline outcome run(std::string_view body, const std::vector<std::size_t>& cuts, const multipart_limits& l = {},
                   std::string_view content_type = "multipart/form-data; boundary=b") {
    multipart_decoder decoder(l);
    EXPECT_EQ(decoder.start(content_type), multipart_errc::ok) << content_type;
    listener events(decoder);
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
        const std::size_t end = i < cuts.size() ? cuts[i] : body.size();
        if (!events.feed(body.substr(begin, end - begin))) break;
        begin = end;
    }
    return events.finish();
}

// The outcome, which must be the same for the whole body, every byte alone, and every cut in two.
inline outcome run_everywhere(std::string_view body, const multipart_limits& l = {},
                              std::string_view content_type = "multipart/form-data; boundary=b") {
    const outcome whole = run(body, {}, l, content_type);
    std::vector<std::size_t> each;
    for (std::size_t i = 0; i < body.size(); ++i) each.push_back(i);
    EXPECT_EQ(run(body, each, l, content_type), whole) << body;
    for (std::size_t i = 0; i <= body.size(); ++i) {
        EXPECT_EQ(run(body, {i}, l, content_type), whole) << body << " cut at " << i;
        if (testing::Test::HasFailure()) break;
    }
    return whole;
}

// A part as a browser writes it.
inline std::string field(std::string_view name, std::string_view data) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + "\"\r\n\r\n" + std::string(data) +
           "\r\n";
}

} // namespace multipart_test
