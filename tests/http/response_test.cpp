#include <fastserve/http/response.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace {

using namespace fastserve::http;
using namespace std::string_view_literals;

bool is_tchar(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != 0 && "!#$%&'*+-.^_`|~"sv.find(static_cast<char>(c)) != std::string_view::npos);
}

TEST(response, starts_as_an_empty_200) {
    response r;
    EXPECT_EQ(r.status(), 200);
    EXPECT_EQ(r.kind(), body_kind::none);
    EXPECT_TRUE(r.fields().empty());
    EXPECT_TRUE(r.body_view().empty());
    EXPECT_FALSE(r.closes());
    EXPECT_FALSE(r.content_length());
}

TEST(response, takes_final_status_codes_only) {
    response r;
    r.status(404);
    for (const int code : {-1, 0, 99, 100, 102, 103, 199, 1000, 65'736, 2'000'000'000}) {
        EXPECT_FALSE(r.status(code)) << code;
        EXPECT_EQ(r.status(), 404) << code;
    }
    for (const int code : {101, 200, 204, 304, 500, 599, 600, 999}) {
        EXPECT_TRUE(r.status(code)) << code;
        EXPECT_EQ(r.status(), code);
    }
}

TEST(response, adds_beside_and_sets_in_place_of) {
    response r;
    EXPECT_EQ(r.add("Set-Cookie", "a=1"), errc::ok);
    EXPECT_EQ(r.add("X", "y"), errc::ok);
    EXPECT_EQ(r.add("set-cookie", "b=2"), errc::ok);
    EXPECT_EQ(r.fields().wire(), "Set-Cookie: a=1\r\nX: y\r\nset-cookie: b=2\r\n");
    EXPECT_EQ(r.get("SET-COOKIE"), "a=1");
    EXPECT_EQ(r.set("SeT-CooKie", "c=3"), errc::ok);
    EXPECT_EQ(r.fields().wire(), "X: y\r\nSeT-CooKie: c=3\r\n");
    EXPECT_TRUE(r.remove("x"));
    EXPECT_FALSE(r.remove("x"));
    EXPECT_EQ(r.fields().wire(), "SeT-CooKie: c=3\r\n");
    EXPECT_FALSE(r.has("X"));
    EXPECT_TRUE(r.has("set-cookie"));
    EXPECT_TRUE(r.remove("set-cookie"));
    EXPECT_TRUE(r.fields().empty());
    EXPECT_FALSE(r.remove("set-cookie"));
}

TEST(response, a_name_is_not_found_in_its_prefix_or_in_a_value) {
    response r;
    r.add("Accept-Ranges", "none");
    r.add("Link", "Accept: x");
    EXPECT_FALSE(r.has("Accept"));
    EXPECT_FALSE(r.has("Accept-Ranges:"));
    EXPECT_FALSE(r.has(""));
    EXPECT_FALSE(r.remove("Accept-Range"));
}

TEST(response, blanks_around_a_value_are_not_part_of_it) {
    response r;
    r.set("A", " \t a b\t ");
    r.set("B", "");
    r.set("C", " \t");
    EXPECT_EQ(r.fields().wire(), "A: a b\r\nB: \r\nC: \r\n");
    EXPECT_EQ(r.get("A"), "a b");
    EXPECT_EQ(r.get("B"), "");
}

// No byte but those of a token passes in a name, wherever it stands.
TEST(response, names_are_tokens) {
    for (unsigned c = 0; c < 256; ++c)
        for (std::size_t at = 0; at < 20; ++at) {
            response r;
            r.add("Kept", "1");
            std::string name(20, 'n');
            name[at] = static_cast<char>(c);
            const errc expected = is_tchar(static_cast<unsigned char>(c)) ? errc::ok : errc::bad_field_name;
            ASSERT_EQ(r.add(name, "v"), expected) << c << " at " << at;
            if (expected == errc::ok) continue;
            ASSERT_EQ(r.set(name, "v"), expected);
            ASSERT_EQ(r.fields().wire(), "Kept: 1\r\n");
        }
    response r;
    EXPECT_EQ(r.add("", "v"), errc::bad_field_name);
    EXPECT_EQ(r.set("", "v"), errc::bad_field_name);
    EXPECT_TRUE(r.fields().empty());
}

// No control passes in a value, wherever it stands and however long the value is; HTAB and bytes above 0x7f do.
TEST(response, values_carry_no_controls) {
    for (unsigned c = 0; c < 256; ++c)
        for (std::size_t size = 1; size < 26; ++size)
            for (std::size_t at = 0; at < size; ++at) {
                response r;
                r.add("X", "old");
                std::string value(size, 'v');
                value[at] = static_cast<char>(c);
                const bool valid = c == '\t' || (c >= 0x20 && c != 0x7f);
                const errc expected = valid ? errc::ok : errc::bad_field_value;
                ASSERT_EQ(r.add("Y", value), expected) << c << " at " << at << " of " << size;
                if (valid) continue;
                ASSERT_EQ(r.set("X", value), expected);
                ASSERT_EQ(r.content_type(value), expected);
                ASSERT_EQ(r.fields().wire(), "X: old\r\n");
            }
}

TEST(response, a_second_response_cannot_be_smuggled_in) {
    response r;
    EXPECT_EQ(r.set("X", "a\r\nSet-Cookie: b"), errc::bad_field_value);
    EXPECT_EQ(r.set("X", "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), errc::bad_field_value);
    EXPECT_EQ(r.set("X: y\r\nZ", "a"), errc::bad_field_name);
    EXPECT_EQ(r.set("X ", "a"), errc::bad_field_name);
    EXPECT_EQ(r.content_type("text/plain\nX: y"), errc::bad_field_value);
    EXPECT_TRUE(r.fields().empty());
    EXPECT_EQ(r.set("X", "tab\there and \t\x80\xff"), errc::ok);
    EXPECT_EQ(r.set("X", "eight\tb\x7f"), errc::bad_field_value); // a tab does not hide what follows it
}

TEST(response, framing_fields_are_not_set_by_hand) {
    response r;
    for (const auto name : {"Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING"}) {
        EXPECT_EQ(r.set(name, "0"), errc::bad_field_name) << name;
        EXPECT_EQ(r.add(name, "0"), errc::bad_field_name) << name;
    }
    EXPECT_EQ(r.set("Connection", "keep-alive"), errc::bad_field_value);
    EXPECT_EQ(r.set("Connection", "close, X-Secret"), errc::bad_field_value);
    EXPECT_FALSE(r.closes());
    EXPECT_TRUE(r.fields().empty());

    field_block trailers;
    EXPECT_EQ(trailers.add("Content-Length", "1"), errc::bad_field_name);
    EXPECT_EQ(trailers.set("transfer-encoding", "chunked"), errc::bad_field_name);
    EXPECT_EQ(trailers.set("Connection", "close"), errc::bad_field_name);
}

TEST(response, connection_close_is_a_flag) {
    response r;
    EXPECT_FALSE(r.has("Connection"));
    EXPECT_EQ(r.set("connection", "Close"), errc::ok);
    EXPECT_TRUE(r.closes());
    EXPECT_EQ(r.get("Connection"), "close");
    EXPECT_TRUE(r.fields().empty());
    EXPECT_TRUE(r.remove("CONNECTION"));
    EXPECT_FALSE(r.closes());
    EXPECT_FALSE(r.remove("Connection"));
}

TEST(response, knows_its_special_fields_whichever_way_they_come) {
    response r;
    r.add("DATE", "x");
    r.set("server", "y");
    r.add("upgrade", "websocket");
    EXPECT_TRUE(r.has_date() && r.has_server() && r.has_upgrade() && r.overrides_common_fields());
    r.remove("Date");
    EXPECT_FALSE(r.has_date());
    EXPECT_TRUE(r.overrides_common_fields());
    r.remove("Server");
    r.remove("Upgrade");
    EXPECT_FALSE(r.has_upgrade() || r.overrides_common_fields());
    EXPECT_EQ(r.set("Date", "\n"), errc::bad_field_value);
    EXPECT_FALSE(r.has_date());
}

TEST(response, has_one_content_type) {
    response r;
    EXPECT_EQ(r.content_type("text/plain"), errc::ok);
    EXPECT_EQ(r.content_type("text/html"), errc::ok);
    EXPECT_EQ(r.fields().wire(), "Content-Type: text/html\r\n");
    r.set("content-type", "a/b");
    r.content_type("c/d");
    EXPECT_EQ(r.fields().wire(), "Content-Type: c/d\r\n");
    r.remove("Content-Type");
    r.content_type("e/f");
    EXPECT_EQ(r.fields().wire(), "Content-Type: e/f\r\n");
    r.reset();
    r.add("CONTENT-TYPE", "g/h");
    r.content_type("i/j");
    EXPECT_EQ(r.fields().wire(), "Content-Type: i/j\r\n");
}

// A value may have colons in it, and who asks may ask for anything.
TEST(response, what_is_no_name_is_not_found) {
    response r;
    r.set("A", "b: c: d");
    for (const std::string_view name : {"A: b", "A: b: c", "a: B", "A:", "A ", "", ":", "A: b: c: d\r\n"}) {
        EXPECT_FALSE(r.has(name)) << name;
        EXPECT_FALSE(r.remove(name)) << name;
    }
    EXPECT_EQ(r.get("a"), "b: c: d");
}

TEST(response, a_ready_line_is_a_line_like_any_other) {
    constexpr ready_line json("Content-Type", "application/json");
    response r;
    r.content_type(json);
    EXPECT_EQ(r.fields().wire(), "Content-Type: application/json\r\n");
    r.content_type(json);
    EXPECT_EQ(r.fields().wire(), "Content-Type: application/json\r\n") << "there is one";
    EXPECT_EQ(r.content_type("a/b"), errc::ok);
    EXPECT_EQ(r.fields().wire(), "Content-Type: a/b\r\n");
    r.content_type(json);
    EXPECT_EQ(r.get("content-type"), "application/json");
    // Behind others, and where the block has to grow for it.
    std::string lines = std::string(r.fields().wire());
    while (lines.size() < 5000) {
        ASSERT_EQ(r.add("X", "y"), errc::ok);
        lines += "X: y\r\n";
        field_block block;
        ASSERT_EQ(block.add("X", std::string(lines.size(), 'z')), errc::ok);
        const std::string before(block.wire());
        block.add(json);
        ASSERT_EQ(block.wire(), before + "Content-Type: application/json\r\n");
    }
    EXPECT_EQ(r.fields().wire(), lines);
    EXPECT_TRUE(r.remove("Content-Type"));
    EXPECT_FALSE(r.has("Content-Type"));
}

TEST(response, fields_that_have_one_line_are_not_doubled) {
    response r;
    for (const auto name : {"Date", "Server", "Content-Type"}) {
        EXPECT_EQ(r.add(name, "first"), errc::ok);
        EXPECT_EQ(r.add(name, "\n"), errc::bad_field_value);
        EXPECT_EQ(r.get(name), "first");
        EXPECT_EQ(r.add(name, "second"), errc::ok);
    }
    EXPECT_EQ(r.fields().wire(), "Date: second\r\nServer: second\r\nContent-Type: second\r\n");
}

// Views that get() gave may be handed back, also when the block has to move.
TEST(response, takes_its_own_values_back) {
    for (std::size_t filler = 400; filler < 530; ++filler) {
        response r;
        r.set("Name", "X-Other");
        r.set("A", "value of a");
        r.set("Filler", std::string(filler, 'f'));
        ASSERT_EQ(r.set("A", *r.get("A")), errc::ok);
        ASSERT_EQ(r.get("A"), "value of a") << filler;
        ASSERT_EQ(r.add(*r.get("Name"), *r.get("A")), errc::ok);
        ASSERT_EQ(r.get("X-Other"), "value of a") << filler;
        ASSERT_EQ(r.set(*r.get("Name"), "new"), errc::ok);
        ASSERT_EQ(r.get("X-Other"), "new") << filler;
    }
}

TEST(response, grows_over_many_fields) {
    response r;
    std::string expected;
    for (int i = 0; i < 2000; ++i) {
        std::string name("N");
        name += std::to_string(i);
        ASSERT_EQ(r.add(name, "value"), errc::ok);
        expected += name + ": value\r\n";
    }
    EXPECT_EQ(r.fields().wire(), expected);
    EXPECT_EQ(r.get("n1999"), "value");
}

TEST(response, keeps_storage_up_to_a_cap) {
    response r;
    r.set("X", std::string(field_block::retained_bytes - 100, 'x'));
    const std::size_t kept = r.fields().capacity();
    r.body(std::string_view(std::string(response::retained_body_bytes - 100, 'b')));
    const std::size_t body_kept = r.body_buffer().capacity();
    r.reset();
    EXPECT_EQ(r.fields().capacity(), kept);
    EXPECT_EQ(r.body_buffer().capacity(), body_kept);
    r.set("X", std::string(field_block::retained_bytes + 1, 'x'));
    r.body(std::string_view(std::string(response::retained_body_bytes + 1, 'b')));
    r.reset();
    EXPECT_EQ(r.fields().capacity(), 0U);
    EXPECT_LT(r.body_buffer().capacity(), 100U);
    EXPECT_EQ(r.set("X", "again"), errc::ok);
    EXPECT_EQ(r.fields().wire(), "X: again\r\n");
}

TEST(response, reset_leaves_nothing_behind) {
    const auto shared = std::make_shared<const std::string>("shared");
    response r;
    r.status(500);
    r.add("Date", "x");
    r.add("Upgrade", "x");
    r.content_type("a/b");
    r.close();
    r.content_length(5);
    r.body(shared);
    r.reset();
    EXPECT_EQ(shared.use_count(), 1);
    EXPECT_EQ(r.status(), 200);
    EXPECT_TRUE(r.fields().empty());
    EXPECT_EQ(r.kind(), body_kind::none);
    EXPECT_TRUE(r.body_view().empty());
    EXPECT_FALSE(r.closes() || r.has_date() || r.has_upgrade() || r.content_length());
}

TEST(response, holds_a_body_in_each_way) {
    response r;
    r.body("text");
    EXPECT_EQ(r.body_view(), "text");
    EXPECT_EQ(r.kind(), body_kind::bytes);

    std::string moved(100, 'm');
    const char* const where = moved.data();
    r.body(std::move(moved));
    EXPECT_EQ(r.body_view().data(), where);

    const auto shared = std::make_shared<const std::string>(100, 's');
    r.body(shared);
    EXPECT_EQ(r.body_view().data(), shared->data());
    EXPECT_EQ(shared.use_count(), 2);

    r.body(r.body_view().substr(98)); // a part of the present one
    EXPECT_EQ(r.body_view(), "ss");
    EXPECT_EQ(shared.use_count(), 1);
    r.body(r.body_view().substr(1));
    EXPECT_EQ(r.body_view(), "s");

    r.body_buffer() += "built";
    EXPECT_EQ(r.body_view(), "built");
    EXPECT_EQ(r.kind(), body_kind::bytes);

    r.body(std::shared_ptr<const std::string>());
    EXPECT_EQ(r.body_view(), "");
    EXPECT_EQ(r.kind(), body_kind::bytes);

    r.body("a\0b"sv);
    EXPECT_EQ(r.body_view().size(), 3U);
    r.stream();
    EXPECT_EQ(r.kind(), body_kind::stream);
    EXPECT_EQ(r.body_view(), "");
    r.body(shared);
    r.no_body();
    EXPECT_EQ(r.kind(), body_kind::none);
    EXPECT_EQ(r.body_view(), "");
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(response, a_lent_body_is_copied_when_it_is_kept) {
    response r;
    std::string outside = "as it was lent";
    r.lend_body(outside);
    EXPECT_EQ(r.kind(), body_kind::bytes);
    EXPECT_TRUE(r.ordinary());
    EXPECT_EQ(r.body_view().data(), outside.data());
    EXPECT_TRUE(r.keep_body());
    outside = "as it is now!!";
    EXPECT_EQ(r.body_view(), "as it was lent");
    EXPECT_TRUE(r.keep_body());
    EXPECT_EQ(r.body_view(), "as it was lent");

    // In place of one of another kind, and another kind in place of it.
    const auto shared = std::make_shared<const std::string>("shared");
    r.body(shared);
    EXPECT_TRUE(r.keep_body());
    EXPECT_EQ(r.body_view().data(), shared->data());
    r.lend_body(outside);
    EXPECT_EQ(shared.use_count(), 1);
    EXPECT_EQ(r.body_view(), outside);
    r.body(r.body_view().substr(3, 5));
    EXPECT_EQ(r.body_view(), "it is");
    r.lend_body(outside);
    r.body_buffer() = "written in place";
    EXPECT_EQ(r.body_view(), "written in place");
    r.lend_body(outside);
    r.no_body();
    EXPECT_TRUE(r.body_view().empty());
    r.lend_body(outside);
    r.reset();
    EXPECT_TRUE(r.body_view().empty());
    EXPECT_FALSE(r.ordinary());
    r.body(std::shared_ptr<const std::string>());
    EXPECT_TRUE(r.body_view().empty());
    EXPECT_TRUE(r.keep_body());
}

} // namespace
