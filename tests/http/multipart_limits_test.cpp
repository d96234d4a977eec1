// Each limit: at it all is well, beyond it there is an error of its own.
#include "multipart_run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace multipart_test {
namespace {

// `make(n)` is a body that needs n of what `limit` bounds.
void expect_limit(std::uint64_t multipart_limits::*limit, multipart_errc error,
                  const std::function<std::string(std::size_t)>& make, std::size_t bound = 40, std::size_t parts = 0) {
    multipart_limits l;
    l.*limit = bound;
    for (const std::size_t n : {bound - 1, bound}) {
        const outcome o = run_everywhere(make(n), l);
        EXPECT_EQ(o.error, multipart_errc::ok) << n << ": " << message_of(o.error);
    }
    const outcome o = run_everywhere(make(bound + 1), l);
    EXPECT_EQ(o.error, error) << message_of(o.error);
    EXPECT_EQ(o.parts.size(), parts);
}

std::string text(std::size_t size) {
    return std::string(size, 'x');
}

std::string head_of(std::size_t size, std::string_view padding = "") {
    const std::string start = std::string(padding) + "\r\nContent-Disposition: form-data; name=a\r\nX:";
    // Neither the delimiter nor the CRLF of its line is part of the head.
    return "--b" + start + text(size - (start.size() - 2) - 4) + "\r\n\r\n1\r\n--b--";
}

TEST(multipart_limits, parts) {
    const auto make = [](std::size_t n) {
        std::string body;
        while (n-- > 0) body += field("a", "1");
        return body + "--b--";
    };
    expect_limit(&multipart_limits::parts, multipart_errc::too_many_parts, make, 3, 3);
}

TEST(multipart_limits, no_parts) {
    multipart_limits l;
    l.parts = 0;
    EXPECT_EQ(run_everywhere("--b--", l).error, multipart_errc::ok);
    EXPECT_EQ(run_everywhere(field("a", ""), l).error, multipart_errc::too_many_parts);
}

TEST(multipart_limits, head_bytes) {
    const auto head = &multipart_limits::head_bytes;
    expect_limit(
        head, multipart_errc::head_too_large, [](std::size_t n) { return head_of(n); }, 100);
    expect_limit(
        head, multipart_errc::head_too_large, [](std::size_t n) { return head_of(n, " \t "); }, 100);
    expect_limit(
        head, multipart_errc::head_too_large,
        [](std::size_t n) {
            return "--b" + std::string(n - 40, ' ') + "\r\nContent-Disposition:form-data;name=a\r\n\r\n\r\n--b--";
        },
        80);
}

// A head that never ends, in its padding, a name, a value or lines, is ended by the limit and costs no more.
TEST(multipart_limits, endless_heads) {
    for (const std::string_view piece : {" ", "\r\nX", "\r\nX:y", "\r\nX:y\r\n"}) {
        std::string body = "--b" + std::string(piece);
        while (body.size() < 100'000) body += piece.back() == '\n' ? piece.substr(2) : piece.substr(piece.size() - 1);
        multipart_limits l;
        l.head_fields = 1'000'000;
        EXPECT_EQ(run(body, {}, l).error, multipart_errc::head_too_large) << piece;
    }
}

TEST(multipart_limits, head_bytes_have_a_most) {
    multipart_limits l;
    l.head_bytes = l.name_bytes = l.filename_bytes = l.total_bytes = ~std::uint64_t{0};
    EXPECT_EQ(run(head_of(1024 * 1024), {}, l).error, multipart_errc::ok);
    EXPECT_EQ(run(head_of(1024 * 1024 + 1), {}, l).error, multipart_errc::head_too_large);
}

TEST(multipart_limits, head_fields) {
    const auto make = [](std::size_t n) {
        std::string body = "--b\r\n";
        while (n-- > 1) body += "X:\r\n";
        return body + "Content-Disposition: form-data; name=a\r\n\r\n1\r\n--b--";
    };
    expect_limit(&multipart_limits::head_fields, multipart_errc::too_many_fields, make, 3);
}

// Of what is meant, not of how it is written.
TEST(multipart_limits, names) {
    const auto name = [](std::size_t n) { return field("%22" + text(n - 1), "1") + "--b--"; };
    expect_limit(&multipart_limits::name_bytes, multipart_errc::name_too_long, name);
    const auto filename = [](std::size_t n) {
        return "--b\r\nContent-Disposition: form-data; name=a; filename=\"" + text(n - 1) + "\\\"\"\r\n\r\n\r\n--b--";
    };
    expect_limit(&multipart_limits::filename_bytes, multipart_errc::filename_too_long, filename);

    multipart_limits l;
    l.name_bytes = l.filename_bytes = 0;
    EXPECT_EQ(run("--b\r\nContent-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\n\r\n--b--", {}, l).parts,
              std::vector<part>{(part{"", "", "", "text/plain", "_"})});
}

TEST(multipart_limits, fields_and_files_apart) {
    const auto a_field = [](std::size_t n) { return field("a", text(n)) + "--b--"; };
    const auto a_file = [](std::size_t n) { return field("a\"; filename=\"b", text(n)) + "--b--"; };
    expect_limit(&multipart_limits::field_bytes, multipart_errc::field_too_large, a_field, 40, 1);
    expect_limit(&multipart_limits::file_bytes, multipart_errc::file_too_large, a_file, 40, 1);
    multipart_limits l;
    l.field_bytes = 0;
    EXPECT_EQ(run(a_file(1), {}, l).error, multipart_errc::ok);
    EXPECT_EQ(run(a_field(0), {}, l).error, multipart_errc::ok);
    l = {};
    l.file_bytes = 0;
    EXPECT_EQ(run(a_field(1), {}, l).error, multipart_errc::ok);
    EXPECT_EQ(run(a_file(0), {}, l).error, multipart_errc::ok);
}

// What was held back for a delimiter counts, and all that may come is handed out before the error.
TEST(multipart_limits, what_resembles_a_delimiter_counts) {
    multipart_limits l;
    for (std::size_t bound = 0; bound < 12; ++bound) {
        l.field_bytes = bound;
        const std::string data = "x\r\n--\r\r\n--y";
        const outcome o = run_everywhere(field("a", data) + "--b--", l);
        EXPECT_EQ(o.error, bound < data.size() ? multipart_errc::field_too_large : multipart_errc::ok);
        ASSERT_EQ(o.parts.size(), 1U);
        EXPECT_EQ(o.parts[0].data, data.substr(0, bound));
    }
}

TEST(multipart_limits, total_bytes) {
    const auto end = [](std::size_t n) { return field("a", text(n - 58)) + "--b--\r\n"; };
    ASSERT_EQ(end(100).size(), 100U) << "of the body, all included";
    expect_limit(&multipart_limits::total_bytes, multipart_errc::total_too_large, end, 100, 1);
    const auto epilogue = [](std::size_t n) { return "--b--\r\n" + text(n - 7); };
    expect_limit(&multipart_limits::total_bytes, multipart_errc::total_too_large, epilogue);
    const auto preamble = [](std::size_t n) { return text(n - 9) + "\r\n--b--\r\n"; };
    expect_limit(&multipart_limits::total_bytes, multipart_errc::total_too_large, preamble);
}

TEST(multipart_limits, preamble_and_epilogue) {
    const auto before = [](std::size_t n) { return text(n) + "\r\n--b--"; };
    const auto after = [](std::size_t n) { return "--b--\r\n" + text(n); };
    const auto padding = [](std::size_t n) { return "--b--" + std::string(n, ' '); };
    const auto padded = [](std::size_t n) { return "--b--" + std::string(n - 9, '\t') + "\r\n" + text(9); };
    expect_limit(&multipart_limits::preamble_bytes, multipart_errc::preamble_too_large, before);
    for (const std::function<std::string(std::size_t)>& make :
         {std::function(after), std::function(padding), std::function(padded)})
        expect_limit(&multipart_limits::epilogue_bytes, multipart_errc::epilogue_too_large, make);

    multipart_limits none;
    none.preamble_bytes = none.epilogue_bytes = 0;
    EXPECT_EQ(run_everywhere("\r\n--b--\r\n", none).error, multipart_errc::ok);
    EXPECT_EQ(run_everywhere("x", none).error, multipart_errc::preamble_too_large);
}

} // namespace
} // namespace multipart_test
