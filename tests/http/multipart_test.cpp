#include "multipart_run.hpp"

#include <fastserve/http/multipart.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace multipart_test {
namespace {

using namespace std::string_literals;
using fastserve::http::find_boundary;

struct message {
    const char* sender;
    std::string type;
    std::string body;
    std::vector<part> parts;
};

// What well-known clients send, each in its own spelling.
const std::vector<message> messages{
    {"Chromium: a field and a file",
     "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW9",
     "------WebKitFormBoundary7MA4YWxkTrZu0gW9\r\n"
     "Content-Disposition: form-data; name=\"title\"\r\n\r\n"
     "summer\r\n"
     "------WebKitFormBoundary7MA4YWxkTrZu0gW9\r\n"
     "Content-Disposition: form-data; name=\"photo\"; filename=\"beach \xF0\x9F\x8F\x96.png\"\r\n"
     "Content-Type: image/png\r\n\r\n"
     "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\r\n--\r\n"s
     "------WebKitFormBoundary7MA4YWxkTrZu0gW9--\r\n",
     {{"title", {}, "summer"},
      {"photo", "beach \xF0\x9F\x8F\x96.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\r\n--"s, "image/png",
       "beach \xF0\x9F\x8F\x96.png"}}},
    {"Firefox: names with quotes and line ends, no file chosen",
     "multipart/form-data; boundary=----geckoformboundary5ab8af17d1a1d1cd3d0a4bb8b3b5d9d0",
     "------geckoformboundary5ab8af17d1a1d1cd3d0a4bb8b3b5d9d0\r\n"
     "Content-Disposition: form-data; name=\"say %22hi%22%0D%0Atwice 100%\"\r\n\r\n"
     "line one\r\nline two\r\n\r\n"
     "------geckoformboundary5ab8af17d1a1d1cd3d0a4bb8b3b5d9d0\r\n"
     "Content-Disposition: form-data; name=\"attachment\"; filename=\"\"\r\n"
     "Content-Type: application/octet-stream\r\n\r\n\r\n"
     "------geckoformboundary5ab8af17d1a1d1cd3d0a4bb8b3b5d9d0--\r\n",
     {{"say \"hi\"\r\ntwice 100%", {}, "line one\r\nline two\r\n"},
      {"attachment", "", "", "application/octet-stream", "_"}}},
    {"Safari: several files of one name",
     "multipart/form-data; boundary=----WebKitFormBoundaryAAAABBBBCCCCDDDD",
     "------WebKitFormBoundaryAAAABBBBCCCCDDDD\r\n"
     "Content-Disposition: form-data; name=\"f[]\"; filename=\"a.txt\"\r\n"
     "Content-Type: text/plain\r\n\r\none\r\n"
     "------WebKitFormBoundaryAAAABBBBCCCCDDDD\r\n"
     "Content-Disposition: form-data; name=\"f[]\"; filename=\"b;=,.txt\"\r\n"
     "Content-Type: text/plain\r\n\r\ntwo\r\n"
     "------WebKitFormBoundaryAAAABBBBCCCCDDDD--\r\n",
     {{"f[]", "a.txt", "one", "text/plain", "a.txt"}, {"f[]", "b;=,.txt", "two", "text/plain", "b;=,.txt"}}},
    {"Internet Explorer: the whole path",
     "multipart/form-data; boundary=---------------------------7d41b838504d8",
     "-----------------------------7d41b838504d8\r\n"
     "Content-Disposition: form-data; name=\"file\"; filename=\"C:\\Users\\me\\new\\r\xC3\xA9sum\xC3\xA9.doc\"\r\n"
     "Content-Type: application/msword\r\n\r\n.\r\n"
     "-----------------------------7d41b838504d8--\r\n",
     {{"file", "C:\\Users\\me\\new\\r\xC3\xA9sum\xC3\xA9.doc", ".", "application/msword", "r\xC3\xA9sum\xC3\xA9.doc"}}},
    {"an empty FormData",
     "multipart/form-data; boundary=----WebKitFormBoundaryEmpty",
     "------WebKitFormBoundaryEmpty--\r\n",
     {}},
    {"curl before 7.81: escapes",
     "multipart/form-data; boundary=------------------------d74496d66958873e",
     "--------------------------d74496d66958873e\r\n"
     "Content-Disposition: form-data; name=\"a\"; filename=\"6\\\" \\\\ nails.txt\"\r\n"
     "Content-Type: text/plain\r\n\r\nx\r\n"
     "--------------------------d74496d66958873e--\r\n",
     {{"a", "6\" \\ nails.txt", "x", "text/plain", "nails.txt"}}},
    {".NET: a quoted boundary, unquoted names, both file names",
     "multipart/form-data; boundary=\"2b0d7a0c-1d4c-4a0a-9d9a-5e2f9c0f6a11\"",
     "--2b0d7a0c-1d4c-4a0a-9d9a-5e2f9c0f6a11\r\n"
     "Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=comment\r\n\r\nfine\r\n"
     "--2b0d7a0c-1d4c-4a0a-9d9a-5e2f9c0f6a11\r\n"
     "Content-Disposition: form-data; name=upload; filename=report.pdf; "
     "filename*=utf-8''r%C3%A9port.pdf\r\n\r\n%PDF\r\n"
     "--2b0d7a0c-1d4c-4a0a-9d9a-5e2f9c0f6a11--\r\n",
     {{"comment", {}, "fine", "text/plain; charset=utf-8"},
      {"upload", "report.pdf", "%PDF", "text/plain", "report.pdf"}}},
    {"Java: a boundary that ought to be quoted, more fields",
     "Multipart/Form-Data;charset=UTF-8;Boundary=----=_Part_12_34.56:78",
     "------=_Part_12_34.56:78\r\n"
     "content-disposition:FORM-DATA;NAME=\"json\"\r\n"
     "Content-Transfer-Encoding: binary\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}\r\n"
     "------=_Part_12_34.56:78--",
     {{"json", {}, "{}", "application/json"}}},
    {"RFC 2046: preamble, padding, epilogue",
     "multipart/form-data; boundary=\"simple boundary\"",
     "Nothing to see.\r\n--simple boundar\r\n--simple boundary \t \r\n"
     "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
     "--simple boundary\t\r\n"
     "Content-Disposition: form-data; name=\"b\" ; ;\r\n\r\n2\r\n"
     "--simple boundary-- \t\r\nNor here.\r\n--simple boundary\r\n",
     {{"a", {}, "1"}, {"b", {}, "2"}}},
};

TEST(multipart, messages_at_every_cut) {
    for (const message& m : messages) {
        SCOPED_TRACE(m.sender);
        const outcome o = run_everywhere(m.body, {}, m.type);
        EXPECT_EQ(o.error, multipart_errc::ok) << message_of(o.error);
        EXPECT_EQ(o.parts, m.parts);
    }
}

// Every beginning of a message is incomplete, until its last delimiter is there.
TEST(multipart, an_unfinished_message_is_incomplete) {
    for (const message& m : messages) {
        SCOPED_TRACE(m.sender);
        std::string_view boundary;
        ASSERT_EQ(find_boundary(m.type, boundary), multipart_errc::ok);
        const std::string last = "--" + std::string(boundary) + "--";
        const std::size_t whole = m.body.find(last) + last.size();
        ASSERT_LE(whole, m.body.size());
        for (std::size_t size = 0; size <= whole; ++size) {
            const outcome o = run(m.body.substr(0, size), {}, {}, m.type);
            ASSERT_EQ(o.error, size < whole ? multipart_errc::incomplete : multipart_errc::ok) << size;
        }
    }
}

TEST(multipart, a_short_message_in_three_pieces) {
    const std::string body = "\r\n--b \r\nContent-Disposition: form-data; name=a\r\n\r\n\r\r\n--\r\n--b--\r\n";
    const outcome whole = run(body, {});
    ASSERT_EQ(whole.parts, (std::vector<part>{{"a", {}, "\r\r\n--"}}));
    for (std::size_t i = 0; i <= body.size(); ++i)
        for (std::size_t j = i; j <= body.size(); ++j)
            ASSERT_EQ(run(body, {i, j}), whole) << "cut at " << i << " and " << j;
}

// What looks like a delimiter and is none, is data.
TEST(multipart, data_that_resembles_a_delimiter) {
    const std::string type = "multipart/form-data; boundary=bound";
    const std::string head = "--bound\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    std::string many;
    for (int i = 0; i < 20; ++i) many += "\r\n--boun";
    for (const std::string& data :
         {"\r"s, "\n"s, "\r\n"s, "\r\n\r\n"s, "\r\n-"s, "\r\n--"s, "\r\n--boun"s, "\r\r\n--boun"s, "\r\n--boun\r"s,
          many, "--boun"s, "-"s, "x--bound"s, "x\n--bound"s, "x\r--bound--"s, "x\r\n --bound"s, "x\r\n-bound"s,
          "\r\n--BOUND\r\n"s, "x\r\n\r\n--\r\n--boundx"s.substr(0, 13), "\0\xff\r\n\0"s,
          // A multipart within the part.
          "--inner\r\nContent-Disposition: file; filename=x\r\n\r\n1\r\n--inner--\r\n"s}) {
        const outcome o = run_everywhere(head + data + "\r\n--bound--", {}, type);
        EXPECT_EQ(o.error, multipart_errc::ok) << data << ": " << message_of(o.error);
        ASSERT_EQ(o.parts.size(), 1U);
        EXPECT_EQ(o.parts[0].data, data);
    }
}

TEST(multipart, parts_may_be_empty) {
    const part empty{"a"};
    EXPECT_EQ(run_everywhere(field("a", "") + field("a", "") + "--b--").parts, (std::vector{empty, empty}));
    // By the grammar the CRLF behind the head may be the delimiter's.
    const std::string head = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n";
    EXPECT_EQ(run_everywhere(head + head + "--b--").parts, (std::vector{empty, empty}));
}

TEST(multipart, bad_bodies_at_every_cut) {
    const std::string head = "--b\r\nContent-Disposition: form-data; name=a\r\n";
    const auto with = [&](std::string_view line) { return head + std::string(line) + "\r\n\r\n1\r\n--b--\r\n"; };
    const auto named = [](std::string_view value) {
        return "--b\r\nContent-Disposition: " + std::string(value) + "\r\n\r\n1\r\n--b--\r\n";
    };
    struct {
        std::string body;
        multipart_errc error;
        std::size_t parts = 0;
    } const rows[] = {
        // Delimiters.
        {"", multipart_errc::incomplete},
        {"a=1&b=2", multipart_errc::incomplete},
        {"--b", multipart_errc::incomplete},
        {"--b-", multipart_errc::incomplete},
        {"--b\r\n", multipart_errc::incomplete},
        {head, multipart_errc::incomplete},
        {head + "\r\n", multipart_errc::incomplete, 1},
        {head + "\r\n1", multipart_errc::incomplete, 1},
        {head + "\r\n1\r\n--b", multipart_errc::incomplete, 1},
        {head + "\r\n1\r\n--b-", multipart_errc::incomplete, 1},
        {head + "\r\n1\r\n--b--\r", multipart_errc::incomplete, 1},
        {head + "\r\n1--b--\r\n", multipart_errc::incomplete, 1},
        {head + "\r\n1\n--b--\r\n", multipart_errc::incomplete, 1},
        {"\n--b--\r\n", multipart_errc::incomplete},
        {"x--b--\r\n", multipart_errc::incomplete},
        {"--b--\n", multipart_errc::bad_line_end},
        {"--b--\rx", multipart_errc::bad_line_end},
        {"--b--x", multipart_errc::bad_delimiter},
        {"--b-- x", multipart_errc::bad_delimiter},
        {"--b---", multipart_errc::bad_delimiter},
        {"--b-x", multipart_errc::bad_delimiter},
        {"--bb--", multipart_errc::bad_delimiter},
        {"--b--b\r\n", multipart_errc::bad_delimiter},
        {"--b x\r\n", multipart_errc::bad_delimiter},
        {"--b -\r\n", multipart_errc::bad_delimiter},
        {"--b\0"s, multipart_errc::bad_delimiter},
        {head + "\r\n1\r\n--bc", multipart_errc::bad_delimiter, 1},
        // LF alone, all over or in one place.
        {"--b\nContent-Disposition: form-data; name=a\n\n1\n--b--\n", multipart_errc::bad_line_end},
        {"--b \nx", multipart_errc::bad_line_end},
        {"--b\rx", multipart_errc::bad_line_end},
        {"--b\r\nContent-Disposition: form-data; name=a\n\r\n", multipart_errc::bad_line_end},
        {"--b\r\nContent-Disposition: form-data; name=a\r\n\n", multipart_errc::bad_line_end},
        {"--b\r\nContent-Disposition: form-data; name=a\r\n\rx", multipart_errc::bad_line_end},
        {"--b\r\nContent-Disposition: form-data; name=a\rX: y", multipart_errc::bad_line_end},
        {"--b\r\n\n", multipart_errc::bad_line_end},
        {"--b\r\nX\n", multipart_errc::bad_line_end},
        // Field lines.
        {with("X"), multipart_errc::bad_field},
        {with("X : y"), multipart_errc::bad_field},
        {with(": y"), multipart_errc::bad_field},
        {with(" folded"), multipart_errc::bad_field},
        {with("\tfolded"), multipart_errc::bad_field},
        {with("X: a\0b"s), multipart_errc::bad_field},
        {with("X: \x7f"), multipart_errc::bad_field},
        {with("X\x80: y"), multipart_errc::bad_field},
        {with("--b"), multipart_errc::bad_field},
        {with("Content-Disposition: form-data; name=a"), multipart_errc::duplicate_field},
        {with("Content-Type: a/b\r\ncontent-type: c/d"), multipart_errc::duplicate_field},
        // Names.
        {"--b\r\n\r\n1\r\n--b--\r\n", multipart_errc::missing_disposition},
        {"--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--\r\n", multipart_errc::missing_disposition},
        {named(""), multipart_errc::bad_disposition},
        {named("attachment; name=a"), multipart_errc::bad_disposition},
        {named("form-data-x; name=a"), multipart_errc::bad_disposition},
        {named("name=a"), multipart_errc::bad_disposition},
        {named("form-data"), multipart_errc::missing_name},
        {named("form-data;"), multipart_errc::missing_name},
        {named("form-data; filename=\"x\""), multipart_errc::missing_name},
        {named("form-data; name*=utf-8''a"), multipart_errc::missing_name},
        {named("form-data; name"), multipart_errc::bad_disposition},
        {named("form-data; name="), multipart_errc::bad_disposition},
        {named("form-data; name =a"), multipart_errc::bad_disposition},
        {named("form-data; name= a"), multipart_errc::bad_disposition},
        {named("form-data; name=a b"), multipart_errc::bad_disposition},
        {named("form-data; name=a/b"), multipart_errc::bad_disposition},
        {named("form-data; name=a\"b\""), multipart_errc::bad_disposition},
        {named("form-data; name=\"a\"b"), multipart_errc::bad_disposition},
        {named("form-data; name=\"a"), multipart_errc::bad_disposition},
        {named("form-data; name=\"a\\\""), multipart_errc::bad_disposition},
        {named("form-data name=a"), multipart_errc::bad_disposition},
        {named("form-data, name=a"), multipart_errc::bad_disposition},
        {named("form-data; name=a; name=a"), multipart_errc::bad_disposition},
        {named("form-data; name=a; filename=x; FileName=y"), multipart_errc::bad_disposition},
        {named("form-data; =a; name=a"), multipart_errc::bad_disposition},
        // The fault comes behind a good part.
        {field("a", "1") + "--b\r\nX\r\n", multipart_errc::bad_field, 1},
    };
    for (const auto& row : rows) {
        const outcome o = run_everywhere(row.body);
        EXPECT_EQ(o.error, row.error) << row.body << ": " << message_of(o.error);
        EXPECT_EQ(o.parts.size(), row.parts) << row.body;
    }
}

TEST(multipart, names_are_read_as_they_were_meant) {
    const struct {
        const char* value;
        const char* name;
    } rows[] = {
        {R"("")", ""},
        {R"(a)", "a"},
        {R"(a%22b)", "a%22b"}, // nobody encodes what is not quoted
        {R"("%22%0D%0A%0d%0a")", "\"\r\n\r\n"},
        {R"("%2")", "%2"},
        {R"("%")", "%"},
        {R"("%0")", "%0"},
        {R"("%00%25%41%0B")", "%00%25%41%0B"},
        {R"("%%22")", "%\""},
        {R"("a\"b\\c\d")", "a\"b\\c\\d"},
        {R"("\\%22")", "\\\""},
        {R"("a;b=c")", "a;b=c"},
        {"\"\xE6\x97\xA5\xFF\"", "\xE6\x97\xA5\xFF"},
    };
    for (const auto& row : rows) {
        const outcome o =
            run("--b\r\nContent-Disposition: form-data; x=y; name=" + std::string(row.value) + "\r\n\r\n\r\n--b--", {});
        EXPECT_EQ(o.error, multipart_errc::ok) << row.value;
        EXPECT_EQ(o.parts, std::vector<part>{{row.name}}) << row.value;
    }
}

TEST(multipart, a_head_has_its_fields) {
    const std::string lines = "X-A:  1 \r\nContent-Disposition: form-data; name=a\r\nx-a: 2\r\nX-B:\r\n";
    const std::string body = "--b\r\n" + lines + "\r\ndata";
    multipart_decoder decoder;
    ASSERT_EQ(decoder.start("multipart/form-data; boundary=b"), multipart_errc::ok);
    ASSERT_EQ(decoder.next(body).event, multipart_event::part);
    multipart_decoder moved = std::move(decoder);
    EXPECT_EQ(moved.head().lines, lines);
    EXPECT_EQ(moved.head().field("x-A"), "1");
    EXPECT_EQ(moved.head().field("X-b"), "");
    EXPECT_EQ(moved.head().field("X-C"), std::nullopt);
    EXPECT_EQ(moved.next("data").data, "data");
}

TEST(multipart, data_lies_in_the_input) {
    const std::string body = field("a", "0123456789\r\n--") + "--b--";
    multipart_decoder decoder;
    ASSERT_EQ(decoder.start("multipart/form-data; boundary=b"), multipart_errc::ok);
    const auto head = decoder.next(body);
    const auto data = decoder.next(std::string_view(body).substr(head.consumed));
    EXPECT_EQ(data.data, "0123456789\r\n--");
    EXPECT_EQ(data.data.data(), body.data() + head.consumed);
}

TEST(multipart, a_decoder_takes_another_body) {
    multipart_decoder decoder;
    EXPECT_EQ(decoder.next("--b--").event, multipart_event::error) << "none was begun";
    EXPECT_EQ(decoder.start("text/plain"), multipart_errc::not_form_data);
    EXPECT_EQ(decoder.next("--b--").event, multipart_event::error);
    EXPECT_EQ(decoder.finish().event, multipart_event::error);
    for (const std::string body : {"--b\r\nX", "--b\r\nX: y\r\n\r\n", "--b--", "x\r\n--b"}) {
        ASSERT_EQ(decoder.start("multipart/form-data; boundary=b"), multipart_errc::ok);
        while (decoder.next(body).event == multipart_event::part_end) continue;
        ASSERT_EQ(decoder.start("multipart/form-data; boundary=c"), multipart_errc::ok);
        EXPECT_EQ(decoder.error(), multipart_errc::ok);
        listener events(decoder);
        EXPECT_TRUE(events.feed("--c\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--c--"));
        EXPECT_EQ(events.finish().parts, (std::vector<part>{{"a", {}, "1"}}));
    }
}

TEST(multipart, boundaries) {
    const std::string longest(70, 'x');
    struct {
        std::string type;
        multipart_errc error;
        std::string boundary{};
    } const rows[] = {
        {"multipart/form-data; boundary=a", multipart_errc::ok, "a"},
        {"multipart/form-data;boundary=a", multipart_errc::ok, "a"},
        {" MULTIPART/Form-Data ; charset=utf-8 ;; BOUNDARY=\"a\" ; ", multipart_errc::ok, "a"},
        {"multipart/form-data; x=\"; boundary=no\"; boundary=yes", multipart_errc::ok, "yes"},
        {"multipart/form-data; boundary=\"a b\"", multipart_errc::ok, "a b"},
        {"multipart/form-data; boundary=\"0aZ'()+_,-./:=?\"", multipart_errc::ok, "0aZ'()+_,-./:=?"},
        {"multipart/form-data; boundary=0aZ'()+_,-./:=?", multipart_errc::ok, "0aZ'()+_,-./:=?"},
        {"multipart/form-data; boundary=" + longest, multipart_errc::ok, longest},
        {"multipart/form-data; boundary=" + longest + "x", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\"\"", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\"a \"", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=*", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=a\\", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\"a\\\"\"", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\"a\\b\"", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\"a\r\n\"", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=\xC3\xA9", multipart_errc::bad_boundary},
        {"multipart/form-data; boundary=a; boundary=a", multipart_errc::bad_boundary},
        {"multipart/form-data", multipart_errc::missing_boundary},
        {"multipart/form-data; boundary*=utf-8''a", multipart_errc::missing_boundary},
        {"multipart/form-data; xboundary=a", multipart_errc::missing_boundary},
        {"multipart/form-data; boundary=", multipart_errc::bad_content_type},
        {"multipart/form-data; boundary", multipart_errc::bad_content_type},
        {"multipart/form-data; boundary=\"a", multipart_errc::bad_content_type},
        {"multipart/form-data; boundary=a b", multipart_errc::bad_content_type},
        {"multipart/form-data; boundary = a", multipart_errc::bad_content_type},
        {"multipart/form-data; boundary=a; charset=(", multipart_errc::bad_content_type},
        {"multipart/form-data, boundary=a", multipart_errc::not_form_data},
        {"multipart/mixed; boundary=a", multipart_errc::not_form_data},
        {"application/x-www-form-urlencoded", multipart_errc::not_form_data},
        {"", multipart_errc::not_form_data},
    };
    for (const auto& row : rows) {
        std::string_view boundary;
        EXPECT_EQ(find_boundary(row.type, boundary), row.error) << row.type;
        EXPECT_EQ(boundary, row.boundary) << row.type;
    }
}

TEST(multipart, errors_have_a_status_and_a_text_of_their_own) {
    std::vector<std::string> texts;
    for (int i = 0; i < fastserve::http::multipart_errc_count; ++i) {
        const auto e = static_cast<multipart_errc>(i);
        const std::error_code code = e;
        EXPECT_EQ(code.message(), message_of(e));
        EXPECT_STREQ(code.category().name(), "fastserve.multipart");
        for (const std::string& other : texts) EXPECT_NE(other, code.message());
        texts.push_back(code.message());
    }
    EXPECT_EQ(message_of(static_cast<multipart_errc>(fastserve::http::multipart_errc_count)), "unknown error");
    EXPECT_EQ(status_of(multipart_errc::ok), 200);
    EXPECT_EQ(status_of(multipart_errc::not_form_data), 415);
    EXPECT_EQ(status_of(multipart_errc::incomplete), 400);
    EXPECT_EQ(status_of(multipart_errc::too_many_parts), 413);
}

} // namespace
} // namespace multipart_test
