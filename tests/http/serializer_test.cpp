#include <fastserve/http/serializer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace fastserve::http;

constexpr std::int64_t example_time = 784'111'777;
constexpr std::string_view server_line = "Server: fastserve\r\n";
constexpr std::string_view date_line = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

const response_templates& templates() {
    static const response_templates made = [] {
        response_templates t;
        t.refresh(example_time);
        return t;
    }();
    return made;
}

// Writes into memory of exactly the stated bound, so that a sanitizer sees a byte beyond it; without one, the canary
// does.
template <class Write>
std::string written(std::size_t bound, Write write) {
    constexpr char canary = 0x5a;
    const auto memory = std::make_unique<char[]>(bound + 1);
    std::fill_n(memory.get(), bound + 1, canary);
    char* const end = write(memory.get());
    EXPECT_LE(end, memory.get() + bound);
    EXPECT_EQ(memory[bound], canary);
    return {memory.get(), end};
}

std::string head(const response& r, const answer_context& context, const response_templates& t = templates()) {
    return written(head_bound(r), [&](char* out) { return write_head(out, r, plan_answer(r, context), t); });
}

std::string expected(std::string_view status_line, std::string_view rest) {
    return std::string(status_line) + "\r\n" + std::string(server_line) + std::string(date_line) + std::string(rest);
}

constexpr answer_context get_11{};
constexpr answer_context close_11{.keep_alive = false};
constexpr answer_context head_11{.head_request = true};
constexpr answer_context keep_10{.version_minor = 0, .keep_alive = true};
constexpr answer_context close_10{.version_minor = 0, .keep_alive = false};
constexpr answer_context head_10{.head_request = true, .version_minor = 0, .keep_alive = true};

TEST(serializer, hello_world) {
    response r;
    r.content_type("text/plain");
    r.body("hello world");
    const std::string fields = "Content-Type: text/plain\r\n";
    EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 200 OK", fields + "Content-Length: 11\r\n\r\n"));
    EXPECT_EQ(head(r, head_11), head(r, get_11));
    EXPECT_EQ(head(r, close_11),
              expected("HTTP/1.1 200 OK", fields + "Connection: close\r\nContent-Length: 11\r\n\r\n"));
    EXPECT_EQ(head(r, keep_10),
              expected("HTTP/1.1 200 OK", fields + "Connection: keep-alive\r\nContent-Length: 11\r\n\r\n"));
    EXPECT_EQ(head(r, close_10), head(r, close_11));
    r.close();
    EXPECT_EQ(head(r, get_11), head(r, close_11));
    EXPECT_EQ(head(r, keep_10), head(r, close_10));
}

TEST(serializer, every_status_has_its_line) {
    for (int code = 200; code < 1000; ++code) {
        response r;
        ASSERT_TRUE(r.status(code));
        const std::string line = "HTTP/1.1 " + std::to_string(code) + " " + std::string(reason(code));
        const bool bare = code == 204 || code == 304;
        ASSERT_EQ(head(r, get_11), expected(line, bare ? "\r\n" : "Content-Length: 0\r\n\r\n"));
        ASSERT_LE(reason(code).size(), longest_reason);
    }
    EXPECT_EQ(reason(404), "Not Found");
    EXPECT_EQ(reason(299), "");
    EXPECT_EQ(reason(-404), "");
}

TEST(serializer, lengths_of_every_digit_count) {
    std::vector<std::uint64_t> lengths{std::numeric_limits<std::uint64_t>::max()};
    for (std::uint64_t power = 1; power < 10'000'000'000'000'000'000U; power *= 10)
        lengths.insert(lengths.end(), {power - 1, power, power + 1});
    for (std::uint64_t n = 0; n <= 10'001; ++n) lengths.push_back(n);
    response r;
    for (const auto length : lengths) {
        r.reset();
        r.stream();
        r.content_length(length);
        ASSERT_EQ(head(r, get_11),
                  expected("HTTP/1.1 200 OK", "Content-Length: " + std::to_string(length) + "\r\n\r\n"));
    }
}

TEST(serializer, field_blocks_of_every_size) {
    for (std::size_t size = 0; size < 300; ++size) {
        response r;
        r.set("X", std::string(size, 'x'));
        r.body("b");
        const std::string lines = "X: " + std::string(size, 'x') + "\r\n";
        ASSERT_EQ(head(r, get_11), expected("HTTP/1.1 200 OK", lines + "Content-Length: 1\r\n\r\n"));
    }
}

TEST(serializer, the_longest_head_stays_within_its_bound) {
    response_templates t;
    ASSERT_TRUE(t.server_name(std::string(response_templates::longest_server_name, 's')));
    t.refresh(example_time);
    for (std::size_t size = 0; size < 200; ++size)
        for (const bool declared : {true, false}) {
            response r;
            r.status(511);
            r.set("Upgrade", std::string(size, 'u'));
            r.stream();
            if (declared) r.content_length(std::numeric_limits<std::uint64_t>::max());
            for (const auto& context : {get_11, close_11, head_11, keep_10, close_10, head_10}) {
                const std::string text = head(r, context, t);
                ASSERT_TRUE(text.ends_with("\r\n\r\n"));
                ASSERT_EQ(text.find("\r\n\r\n"), text.size() - 4);
            }
        }
}

TEST(serializer, messages_without_a_body) {
    for (const int code : {101, 204, 304}) {
        response r;
        r.status(code);
        r.body("never sent");
        for (const auto& context : {get_11, head_11, close_11, keep_10}) {
            const std::string text = head(r, context);
            EXPECT_EQ(text.find("Content-Length"), std::string::npos) << code;
            EXPECT_EQ(text.find("Transfer-Encoding"), std::string::npos) << code;
            const answer_plan plan = plan_answer(r, context);
            EXPECT_EQ(plan.framing, body_framing::none);
            EXPECT_FALSE(plan.body_follows);
        }
        r.stream();
        EXPECT_EQ(head(r, get_11).find("Transfer-Encoding"), std::string::npos) << code;
        EXPECT_FALSE(plan_answer(r, get_11).body_follows);
        EXPECT_FALSE(plan_answer(r, keep_10).close) << "no body, so nothing ends with the connection";
    }
}

TEST(serializer, only_a_304_may_say_the_length_that_200_would_have) {
    response r;
    r.content_length(42);
    r.status(304);
    EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 304 Not Modified", "Content-Length: 42\r\n\r\n"));
    EXPECT_FALSE(plan_answer(r, get_11).body_follows);
    r.status(204);
    EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 204 No Content", "\r\n"));
}

TEST(serializer, a_205_is_empty_and_says_so) {
    response r;
    r.status(205);
    for (const auto kind : {body_kind::none, body_kind::bytes, body_kind::stream}) {
        if (kind == body_kind::bytes) r.body("dropped");
        if (kind == body_kind::stream) r.stream();
        EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 205 Reset Content", "Content-Length: 0\r\n\r\n"));
        EXPECT_FALSE(plan_answer(r, get_11).body_follows);
    }
}

TEST(serializer, head_says_what_get_would) {
    response r;
    EXPECT_EQ(head(r, head_11), expected("HTTP/1.1 200 OK", "Content-Length: 0\r\n\r\n"));
    r.content_length(1000); // the handler knows it without making the body
    EXPECT_EQ(head(r, head_11), expected("HTTP/1.1 200 OK", "Content-Length: 1000\r\n\r\n"));
    EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 200 OK", "Content-Length: 0\r\n\r\n")) << "nothing is there to send";
    r.body("four");
    EXPECT_EQ(head(r, head_11), expected("HTTP/1.1 200 OK", "Content-Length: 4\r\n\r\n")) << "the body is the truth";
    EXPECT_FALSE(plan_answer(r, head_11).body_follows);
    r.stream();
    EXPECT_EQ(head(r, head_11), expected("HTTP/1.1 200 OK", "Content-Length: 1000\r\n\r\n"));
    r.reset();
    r.stream();
    EXPECT_EQ(head(r, head_11), expected("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\n\r\n"));
    EXPECT_EQ(head(r, head_10), expected("HTTP/1.1 200 OK", "Connection: keep-alive\r\n\r\n"));
    EXPECT_FALSE(plan_answer(r, head_10).close || plan_answer(r, head_10).body_follows);
}

TEST(serializer, streams) {
    response r;
    r.stream();
    EXPECT_EQ(head(r, get_11), expected("HTTP/1.1 200 OK", "Transfer-Encoding: chunked\r\n\r\n"));
    EXPECT_EQ(plan_answer(r, get_11).framing, body_framing::chunked);
    EXPECT_TRUE(plan_answer(r, get_11).body_follows);
    EXPECT_EQ(head(r, close_11),
              expected("HTTP/1.1 200 OK", "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"));

    // HTTP/1.0 does not know chunks: the end of the connection ends the body, whatever the client asked for.
    EXPECT_EQ(head(r, keep_10), expected("HTTP/1.1 200 OK", "Connection: close\r\n\r\n"));
    EXPECT_EQ(plan_answer(r, keep_10).framing, body_framing::until_close);
    EXPECT_TRUE(plan_answer(r, keep_10).close && plan_answer(r, keep_10).body_follows);

    r.content_length(7);
    EXPECT_EQ(head(r, keep_10), expected("HTTP/1.1 200 OK", "Connection: keep-alive\r\nContent-Length: 7\r\n\r\n"));
    EXPECT_EQ(plan_answer(r, get_11).framing, body_framing::length);
    EXPECT_EQ(plan_answer(r, get_11).length, 7U);
    EXPECT_TRUE(plan_answer(r, get_11).body_follows);
    r.content_length(0);
    EXPECT_FALSE(plan_answer(r, get_11).body_follows);
}

TEST(serializer, upgrades) {
    response r;
    r.status(101);
    r.set("Upgrade", "websocket");
    EXPECT_EQ(head(r, close_11),
              expected("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"));
    EXPECT_FALSE(plan_answer(r, close_11).close) << "what the connection becomes decides when it ends";
    r.status(426);
    EXPECT_EQ(head(r, close_11), expected("HTTP/1.1 426 Upgrade Required", "Upgrade: websocket\r\nConnection: Upgrade, "
                                                                           "close\r\nContent-Length: 0\r\n\r\n"));
}

TEST(serializer, date_and_server_can_be_overridden) {
    response r;
    r.set("Date", "mine");
    EXPECT_EQ(head(r, get_11),
              "HTTP/1.1 200 OK\r\n" + std::string(server_line) + "Date: mine\r\nContent-Length: 0\r\n\r\n");
    r.set("server", "other");
    EXPECT_EQ(head(r, get_11), "HTTP/1.1 200 OK\r\nDate: mine\r\nserver: other\r\nContent-Length: 0\r\n\r\n");
    r.remove("date");
    EXPECT_EQ(head(r, get_11),
              "HTTP/1.1 200 OK\r\n" + std::string(date_line) + "server: other\r\nContent-Length: 0\r\n\r\n");
}

// For every combination: what a client that knows only RFC 9112 6.3 would make of the head agrees with the plan.
TEST(serializer, a_client_finds_the_end_of_every_answer) {
    for (const int code : {101, 200, 201, 204, 205, 206, 304, 404, 500, 999})
        for (const auto kind : {body_kind::none, body_kind::bytes, body_kind::stream})
            for (const bool declared : {false, true})
                for (const bool closes : {false, true})
                    for (int bits = 0; bits < 8; ++bits) {
                        const answer_context context{(bits & 1) != 0, static_cast<std::uint8_t>((bits >> 1) & 1),
                                                     (bits & 4) != 0};
                        response r;
                        r.status(code);
                        if (kind == body_kind::bytes) r.body("twelve bytes");
                        if (kind == body_kind::stream) r.stream();
                        if (declared) r.content_length(77);
                        if (closes) r.close();
                        SCOPED_TRACE(std::to_string(code) + " kind " + std::to_string(static_cast<int>(kind)) +
                                     " declared " + std::to_string(declared) + " bits " + std::to_string(bits));
                        const answer_plan plan = plan_answer(r, context);
                        const std::string text = head(r, context);
                        const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };

                        const bool chunked = has("\r\nTransfer-Encoding: chunked\r\n");
                        const bool length = has("\r\nContent-Length: ");
                        ASSERT_FALSE(chunked && length);
                        ASSERT_FALSE(chunked && context.version_minor == 0);
                        if (code < 200 || code == 204) {
                            ASSERT_FALSE(chunked || length);
                        }

                        const bool close = has("\r\nConnection: close\r\n");
                        ASSERT_EQ(close, plan.close);
                        if (code != 101) {
                            ASSERT_TRUE(close || (context.keep_alive && !closes));
                        }
                        ASSERT_EQ(has("\r\nConnection: keep-alive\r\n"),
                                  context.version_minor == 0 && !close && code != 101);

                        body_framing seen = body_framing::none;
                        if (context.head_request || code < 200 || code == 204 || code == 304)
                            seen = body_framing::none;
                        else if (chunked)
                            seen = body_framing::chunked;
                        else if (length)
                            seen = body_framing::length;
                        else
                            seen = body_framing::until_close;
                        ASSERT_EQ(seen, plan.framing);
                        if (seen == body_framing::until_close) {
                            ASSERT_TRUE(close);
                        }
                        if (seen == body_framing::none) {
                            ASSERT_FALSE(plan.body_follows);
                        }
                        if (seen == body_framing::length) {
                            const auto at = text.find("Content-Length: ") + 16;
                            std::uint64_t value = 0;
                            std::from_chars(text.data() + at, text.data() + text.size(), value);
                            ASSERT_EQ(value, plan.length);
                            ASSERT_EQ(plan.body_follows, value != 0);
                            if (kind == body_kind::bytes && code != 205) {
                                ASSERT_EQ(value, r.body_view().size());
                            }
                        }
                    }
}

TEST(templates, follow_the_clock) {
    response_templates t;
    response r;
    t.refresh(example_time);
    const std::string before = head(r, get_11, t);
    t.refresh(example_time);
    EXPECT_EQ(head(r, get_11, t), before);
    t.refresh(example_time + 1);
    EXPECT_NE(head(r, get_11, t), before);
    EXPECT_NE(head(r, get_11, t).find("08:49:38"), std::string::npos);
    t.refresh(example_time);
    EXPECT_EQ(head(r, get_11, t), before) << "a clock may step back";
}

TEST(templates, name_the_server) {
    response_templates t;
    response r;
    t.refresh(example_time);
    EXPECT_EQ(t.server(), server_line);
    EXPECT_EQ(t.date(), date_line);
    for (const auto bad : {"a\r\nX: y", "a\nb", " a", "a ", "\x7f", "a\x01"}) EXPECT_FALSE(t.server_name(bad)) << bad;
    EXPECT_FALSE(t.server_name(std::string(response_templates::longest_server_name + 1, 's')));
    EXPECT_EQ(t.server(), server_line);

    ASSERT_TRUE(t.server_name(""));
    EXPECT_EQ(t.server(), "");
    EXPECT_EQ(head(r, get_11, t), "HTTP/1.1 200 OK\r\n" + std::string(date_line) + "Content-Length: 0\r\n\r\n");
    r.status(404);
    EXPECT_EQ(head(r, get_11, t), "HTTP/1.1 404 Not Found\r\n" + std::string(date_line) + "Content-Length: 0\r\n\r\n");

    const std::string longest(response_templates::longest_server_name, 's');
    ASSERT_TRUE(t.server_name(longest));
    EXPECT_EQ(t.server(), "Server: " + longest + "\r\n");
    EXPECT_EQ(t.date(), date_line) << "a new name does not lose the date";
    EXPECT_EQ(t.ok_head().size(), response_templates::copied_bytes);
}

TEST(interim, has_a_line_and_fields_and_nothing_else) {
    field_block fields;
    const auto interim = [&](int code) {
        return written(interim_bound(fields), [&](char* out) { return write_interim(out, code, fields); });
    };
    EXPECT_EQ(interim(100), "HTTP/1.1 100 Continue\r\n\r\n");
    fields.add("Link", "</a.css>; rel=preload");
    EXPECT_EQ(interim(103), "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
    for (const int code : {-1, 0, 99, 101, 200, 1000}) EXPECT_EQ(interim(code), "") << code;
    for (int code = 100; code < 200; ++code) {
        if (code != 101) {
            EXPECT_TRUE(interim(code).ends_with("\r\n\r\n"));
        }
    }
}

TEST(chunks, are_written) {
    const auto chunk_head = [](std::uint64_t size) {
        return written(longest_chunk_head, [&](char* out) { return write_chunk_head(out, size); });
    };
    EXPECT_EQ(chunk_head(1), "1\r\n");
    EXPECT_EQ(chunk_head(0xabcdef), "abcdef\r\n");
    EXPECT_EQ(chunk_head(std::numeric_limits<std::uint64_t>::max()), "ffffffffffffffff\r\n");
    EXPECT_EQ(chunk_head(0), "") << "it would end the body";

    field_block trailers;
    const auto last = [&] {
        return written(last_chunk_bytes(trailers), [&](char* out) { return write_last_chunk(out, trailers); });
    };
    EXPECT_EQ(last(), "0\r\n\r\n");
    trailers.add("Digest", "x");
    trailers.add("Digest", "y");
    EXPECT_EQ(last(), "0\r\nDigest: x\r\nDigest: y\r\n\r\n");
    EXPECT_EQ(last().size(), last_chunk_bytes(trailers));
}

std::string error_answer(int code, const answer_context& context, const extra_field& extra = {}) {
    return written(error_bound(extra), [&](char* out) {
        return out + write_error(out, error_bound(extra), code, context, templates(), extra);
    });
}

TEST(error_answer, is_complete) {
    EXPECT_EQ(error_answer(400, close_11),
              expected("HTTP/1.1 400 Bad Request",
                       "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nBad Request\n"));
    EXPECT_EQ(error_answer(404, get_11), expected("HTTP/1.1 404 Not Found", "Content-Type: text/plain\r\n"
                                                                            "Content-Length: 10\r\n\r\nNot Found\n"));
    EXPECT_EQ(error_answer(404, head_11), expected("HTTP/1.1 404 Not Found", "Content-Type: text/plain\r\n"
                                                                             "Content-Length: 10\r\n\r\n"));
    EXPECT_EQ(error_answer(405, keep_10, {"Allow", "GET, HEAD"}),
              expected("HTTP/1.1 405 Method Not Allowed",
                       "Allow: GET, HEAD\r\nConnection: keep-alive\r\nContent-Type: text/plain\r\n"
                       "Content-Length: 19\r\n\r\nMethod Not Allowed\n"));
    EXPECT_EQ(error_answer(304, get_11), expected("HTTP/1.1 304 Not Modified", "\r\n"));
    EXPECT_TRUE(error_answer(599, get_11).ends_with("Content-Length: 1\r\n\r\n\n"));
}

TEST(error_answer, leaves_out_a_field_that_would_break_it) {
    const std::string plain = error_answer(503, get_11);
    for (const extra_field& extra : {extra_field{"X", "a\r\nY: b"},
                                     {"X\r\nY", "a"},
                                     {"", "a"},
                                     {"Content-Length", "1"},
                                     {"transfer-encoding", "chunked"},
                                     {"Connection", "x"}})
        EXPECT_EQ(error_answer(503, get_11, extra), plain);
    EXPECT_NE(error_answer(503, get_11, {"Retry-After", "1"}).find("\r\nRetry-After: 1\r\n"), std::string::npos);
}

TEST(error_answer, writes_nothing_where_it_may_not_fit) {
    char memory[1024] = {};
    const extra_field extra{"Allow", "GET"};
    EXPECT_EQ(write_error(memory, error_bound(extra) - 1, 404, get_11, templates(), extra), 0U);
    EXPECT_EQ(write_error(memory, sizeof memory, 99, get_11, templates()), 0U);
    EXPECT_EQ(memory[0], 0);
    EXPECT_NE(write_error(memory, error_bound(extra), 404, get_11, templates(), extra), 0U);
}

TEST(error_answer, stays_within_its_bound_for_every_status) {
    response_templates t;
    t.server_name(std::string(response_templates::longest_server_name, 's'));
    const std::string value(300, 'v');
    const extra_field extra{"X", value};
    for (int code = 100; code < 1000; ++code)
        for (const auto& context : {get_11, close_11, head_11, keep_10})
            written(error_bound(extra), [&](char* out) {
                const std::size_t size = write_error(out, error_bound(extra), code, context, t, extra);
                EXPECT_GT(size, value.size());
                return out + size;
            });
}

} // namespace
