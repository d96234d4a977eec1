// multipart/form-data as handlers read it, part by part, and save it.
#include "folder.hpp"

#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;
using http::multipart_errc;
using names = std::vector<std::string>;

constexpr route_options in_pieces{.body = body::streamed};
constexpr http::multipart_limits small{.parts = 2, .name_bytes = 4, .field_bytes = 10, .file_bytes = 20};

// A body whose boundary is "b": what stands behind "form-data" in each part, and its content.
std::string with_parts(std::initializer_list<std::pair<std::string_view, std::string_view>> parts) {
    std::string all;
    for (const auto& [disposition, content] : parts)
        all.append("--b\r\nContent-Disposition: form-data")
            .append(disposition)
            .append("\r\n\r\n")
            .append(content)
            .append("\r\n");
    return all + "--b--\r\n";
}

std::string upload(std::string_view path, std::string_view content,
                   std::string_view type = "multipart/form-data; boundary=b") {
    std::string out = "POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
    if (!type.empty()) out.append("Content-Type: ").append(type).append("\r\n");
    return out + "Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + std::string(content);
}

// What nobody compresses, with beginnings of delimiters in it.
std::string blob(std::size_t size) {
    std::string all;
    for (std::uint32_t i = 0; all.size() < size; ++i) all += std::to_string(i * 2'654'435'761U) + "\r\n--\r\n-";
    all.resize(size);
    return all;
}

void refuse_with(response& a, const error_code& why) {
    a.status(status_of(why)).text(why.message());
}

// All that can be known of each part.
awaitable<> list_parts(request& q, response& a) {
    std::string all;
    for (;;) {
        result<part> p = co_await q.next_part();
        if (!p) {
            refuse_with(a, p.error());
            co_return;
        }
        if (p->is_end()) break;
        all.append(p->name()).append("|").append(p->filename().value_or("-")).append("|").append(p->safe_filename());
        all.append("|").append(p->content_type()).append("|").append(p->field("x-extra").value_or("-")).append("|");
        for (;;) {
            const result<chunk> piece = co_await p->read();
            if (!piece) {
                refuse_with(a, piece.error());
                co_return;
            }
            if (piece->empty()) break;
            all += piece->bytes;
        }
        all += "\n";
    }
    a.text(std::move(all));
}

TEST(Parts, ComeInOrderHoweverTheBodyIsCut) {
    server app;
    app.post("/list", list_parts, in_pieces);
    app.get("/", [] { return "next"; });
    const std::string content = blob(30'000);
    const std::string wire =
        upload("/list",
               with_parts({{"; name=\"a\"", "1"},
                           {"; name=\"f\"; filename=\"x/y%22.txt\"\r\nContent-Type: image/png\r\nX-Extra: e", content},
                           {"; name=\"a\"", ""},
                           {"; name=\"none\"; filename=\"\"", ""}}));
    const std::string expected = "a|-||text/plain|-|1\nf|x/y\".txt|y_.txt|image/png|e|" + content +
                                 "\na|-||text/plain|-|\nnone||_|text/plain|-|\n";
    for (std::uint64_t seed = 0; seed != 30; ++seed) {
        client c(app, {.seed = seed, .splits = seed != 0});
        const reply r = c.send(wire);
        EXPECT_EQ(r.status, 200) << seed;
        EXPECT_TRUE(r.body == expected) << seed << ": " << r.body.substr(0, 200);
        EXPECT_EQ(c.get("/").body, "next") << "the connection goes on, " << seed;
    }
}

TEST(Parts, MayBeNone) {
    server app;
    app.post("/list", list_parts, in_pieces);
    app.post(
        "/ends",
        [](request& q, response& a) -> awaitable<> {
            int ends = 0;
            for (int i = 0; i != 3; ++i) {
                result<part> p = co_await q.next_part();
                ends += p && p->is_end() && p->name().empty();
                const result<chunk> nothing = co_await p->read();
                ends += nothing && nothing->empty();
            }
            a.text(std::to_string(ends));
        },
        in_pieces);
    client c(app);
    EXPECT_EQ(c.send(upload("/list", "--b--")).body, "");
    EXPECT_EQ(c.send(upload("/ends", "preamble\r\n--b--\r\nepilogue")).body, "6");
    EXPECT_EQ(c.send("POST /ends HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                     "Transfer-Encoding: chunked\r\n\r\n3\r\n--b\r\n2\r\n--\r\n0\r\n\r\n")
                  .body,
              "6");
}

// What the handler does not read is passed over.
TEST(Parts, NeedNotBeRead) {
    server app;
    app.post(
        "/names",
        [](request& q, response& a) -> awaitable<> {
            std::string all;
            for (;;) {
                result<part> p = co_await q.next_part();
                if (!p || p->is_end()) break;
                all.append(p->name());
                if (p->name() == "begun") {
                    const result<chunk> first = co_await p->read();
                    all += first && !first->empty() ? "+" : "-";
                }
            }
            a.text(std::move(all));
        },
        in_pieces);
    const std::string content = blob(200'000);
    const std::string wire = upload("/names", with_parts({{"; name=\"a\"", content},
                                                          {"; name=\"begun\"; filename=\"f\"", content},
                                                          {"; name=\"begun\"", "short"},
                                                          {"; name=\"z\"", ""}}));
    for (std::uint64_t seed = 0; seed != 5; ++seed) {
        client c(app, {.seed = seed, .splits = true});
        EXPECT_EQ(c.send(wire).body, "abegun+begun+z") << seed;
        EXPECT_EQ(c.send(wire).body, "abegun+begun+z") << seed;
    }
}

TEST(Parts, TellWhatIsWrong) {
    server app;
    // An error is final.
    app.post(
        "/twice",
        [](request& q, response& a) -> awaitable<> {
            for (;;) {
                result<part> p = co_await q.next_part(small);
                if (p && !p->is_end()) continue;
                const result<part> again = co_await q.next_part();
                if (!p && !again && p.error() == again.error())
                    refuse_with(a, p.error());
                else
                    a.text(p ? "fine" : "the second time it was " + again.error().message());
                co_return;
            }
        },
        in_pieces);
    const struct {
        std::string type, body;
        multipart_errc error;
    } cases[] = {
        {"", "--b--", multipart_errc::not_form_data},
        {"text/plain", "--b--", multipart_errc::not_form_data},
        {"multipart/mixed; boundary=b", "--b--", multipart_errc::not_form_data},
        {"multipart/form-data", "--b--", multipart_errc::missing_boundary},
        {"multipart/form-data; boundary=b", "", multipart_errc::incomplete},
        {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx",
         multipart_errc::incomplete},
        {"multipart/form-data; boundary=b", "--b\r\nX: y\r\n\r\n--b--", multipart_errc::missing_disposition},
        {"multipart/form-data; boundary=b", with_parts({{"; name=a", ""}, {"; name=a", ""}, {"; name=a", ""}}),
         multipart_errc::too_many_parts},
        {"multipart/form-data; boundary=b", with_parts({{"; name=abcde", ""}}), multipart_errc::name_too_long},
        {"multipart/form-data; boundary=b", with_parts({{"; name=a", std::string(11, 'x')}}),
         multipart_errc::field_too_large},
        {"multipart/form-data; boundary=b", with_parts({{"; name=a; filename=b", std::string(21, 'x')}}),
         multipart_errc::file_too_large},
    };
    for (const auto& [type, body, error] : cases) {
        client c(app, {.seed = 1, .splits = true});
        const reply r = c.send(upload("/twice", body, type));
        EXPECT_EQ(r.status, http::status_of(error)) << type << ' ' << body;
        EXPECT_EQ(r.body, http::message_of(error)) << type << ' ' << body;
    }
    client c(app);
    EXPECT_EQ(c.send(upload("/twice", with_parts({{"; name=abcd", std::string(10, 'x')},
                                                  {"; name=a; filename=b", std::string(20, 'x')}})))
                  .body,
              "fine")
        << "at the limits";
}

// Unless the handler says otherwise, in all as much as the route takes, or else as a whole body may have.
TEST(Parts, AreBoundedInAll) {
    server app({.limits = {.body_bytes = 1000}});
    app.post("/servers", list_parts, in_pieces);
    app.post("/routes", list_parts, {.body = body::streamed, .max_body = 3000});
    const auto status = [&app](const char* path, std::size_t size) {
        std::string body = with_parts({{"; name=a", ""}});
        body.insert(body.size() - 9, std::string(size - body.size(), 'x')); // before CRLF "--b--" CRLF
        client c(app);
        return c.send(upload(path, body)).status;
    };
    EXPECT_EQ(status("/servers", 1000), 200);
    EXPECT_EQ(status("/servers", 1001), 413);
    EXPECT_EQ(status("/routes", 3000), 200);
    EXPECT_EQ(status("/routes", 3001), 413);
}

TEST(Parts, TextIsForShortFields) {
    server app;
    app.post(
        "/",
        [](request& q, response& a) -> awaitable<> {
            std::string all;
            for (;;) {
                result<part> p = co_await q.next_part();
                if (!p || p->is_end()) break;
                const result<std::string> text = co_await p->text(5);
                all += text ? *text : std::to_string(status_of(text.error()));
                const result<std::string> rest = co_await p->text();
                all += rest ? "/" + *rest + ";" : "?";
            }
            a.text(std::move(all));
        },
        in_pieces);
    client c(app);
    EXPECT_EQ(c.send(upload("/", with_parts({{"; name=a", "12345"}, {"; name=a", "123456"}, {"; name=a", ""}}))).body,
              "12345/;413/;/;");
}

TEST(Parts, MisuseIsAnErrorOfItsOwn) {
    using namespace boost::asio::experimental::awaitable_operators;
    server app;
    app.post("/whole", [](request& q, response& a) -> awaitable<> {
        const result<part> p = co_await q.next_part();
        a.text(p ? "part" : p.error().message());
    });
    app.post(
        "/read-first",
        [](request& q, response& a) -> awaitable<> {
            const result<chunk> piece = co_await q.read();
            const result<part> p = co_await q.next_part();
            a.text(piece && !p ? p.error().message() : "?");
        },
        in_pieces);
    app.post(
        "/part-first",
        [](request& q, response& a) -> awaitable<> {
            const result<part> p = co_await q.next_part();
            const result<chunk> piece = co_await q.read();
            a.text(p && !piece ? piece.error().message() : "?");
        },
        in_pieces);
    app.post(
        "/another-type",
        [](request& q, response& a) -> awaitable<> {
            const result<part> p = co_await q.next_part();
            const result<chunk> piece = co_await q.read();
            a.text(!p && piece ? piece->bytes : "?");
        },
        in_pieces);
    app.post(
        "/past",
        [](request& q, response& a) -> awaitable<> {
            result<part> p = co_await q.next_part();
            const result<part> second = co_await q.next_part();
            const result<chunk> piece = co_await p->read();
            const result<std::string> text = co_await p->text();
            const result<saved_file> saved = co_await p->save("/nowhere");
            int past = second && second->name() == "b";
            for (const auto& e : {piece.error(), text.error(), saved.error()}) past += e == errc::past;
            a.text(std::to_string(past));
        },
        in_pieces);
    app.post(
        "/busy",
        [](request& q, response& a) -> awaitable<> {
            result<part> p = co_await q.next_part();
            std::optional<result<chunk>> piece, second;
            std::optional<result<part>> next;
            const auto first = [&]() -> awaitable<> { piece = co_await p->read(); };
            const auto others = [&]() -> awaitable<> {
                second = co_await p->read();
                next = co_await q.next_part();
            };
            co_await (first() && others());
            a.text(*piece && second->error() == errc::busy && next->error() == errc::busy ? (*piece)->bytes : "?");
        },
        in_pieces);
    client c(app);
    const std::string body = with_parts({{"; name=a", "content"}, {"; name=b", ""}});
    EXPECT_EQ(c.send(upload("/whole", body)).body, message_of(errc::not_streamed));
    EXPECT_EQ(c.send(upload("/read-first", body)).body, message_of(errc::taken));
    EXPECT_EQ(c.send(upload("/part-first", body)).body, message_of(errc::taken));
    client d(app);
    EXPECT_EQ(d.send(upload("/another-type", "whatever", "text/plain")).body, "whatever");
    EXPECT_EQ(d.send(upload("/past", body)).body, "4");
    const std::string wire = upload("/busy", body);
    const std::size_t cut = wire.find("content");
    d.write(wire.substr(0, cut));
    d.write(wire.substr(cut));
    EXPECT_EQ(d.read().body, "content");
}

TEST(Parts, AreNoneOnceTheirRequestHasEnded) {
    std::optional<part> kept;
    server app;
    app.post(
        "/keep",
        [&kept](request& q, response&) -> awaitable<> {
            result<part> p = co_await q.next_part();
            kept = std::move(*p);
        },
        in_pieces);
    app.get("/use", [&kept](request&, response& a) -> awaitable<> {
        const result<chunk> piece = co_await kept->read();
        const result<saved_file> saved = co_await kept->save("/nowhere");
        a.text(piece.error() == errc::disconnected && saved.error() == errc::disconnected ? "gone" : "there");
    });
    client c(app);
    EXPECT_EQ(c.send(upload("/keep", with_parts({{"; name=a", "content"}}))).status, 200);
    EXPECT_EQ(c.get("/use").body, "gone");
}

// ---- files

// A server that saves what it gets: /save as the client says, and /save-as?name= under a name of its own.
struct Saving : testing::Test {
    Saving() {
        app.post(
            "/save", [this](request& q, response& a) { return save(q, a, {}); }, in_pieces);
        app.post(
            "/save-as", [this](request& q, response& a) { return save(q, a, std::string(q.query("name").value())); },
            in_pieces);
    }

    awaitable<> save(request& q, response& a, std::optional<std::string> as) {
        std::string all;
        for (;;) {
            result<part> p = co_await q.next_part(caps);
            if (!p) {
                refuse_with(a, p.error());
                co_return;
            }
            if (p->is_end()) break;
            std::optional<result<saved_file>> f;
            if (as)
                f = co_await p->save_as(directory, *as);
            else
                f = co_await p->save(directory);
            if (*f) {
                all += (*f)->path.substr(in.path().size()) + ":" + std::to_string((*f)->bytes) + ";";
                continue;
            }
            const error_code why = f->error();
            if (why.category() == http::multipart_category()) {
                refuse_with(a, why);
                co_return;
            }
            all += why.message() + ";";
        }
        a.text(std::move(all));
    }

    // What has ended is given up by the pool, which a simulation runs when there is nothing else to do.
    void expect_nothing_left() {
        client other(app);
        EXPECT_EQ(other.get("/none").status, 404);
        other.run();
        EXPECT_EQ(in.names(), names());
        for (const worker_counts& w : app.snapshot().workers) EXPECT_EQ(w.suspended, 0U);
    }

    folder in;
    std::string directory = in.path();
    http::multipart_limits caps{};
    server app;
};

TEST_F(Saving, WritesWhatCame) {
    for (const std::size_t size : {0U, 1U, 5'000U, 16'384U, 16'385U, 300'000U, 3'000'000U}) {
        const std::string content = blob(size);
        const std::string wire = upload("/save", with_parts({{"; name=f; filename=\"file.bin\"", content}}));
        for (std::uint64_t seed = 0; seed != (size > 1'000'000 ? 1 : 5); ++seed) {
            client c(app, {.seed = seed, .splits = seed != 0});
            EXPECT_EQ(c.send(wire).body, "/file.bin:" + std::to_string(size) + ";") << seed;
            EXPECT_TRUE(in.read("file.bin") == content) << size << ' ' << seed;
            EXPECT_EQ(in.names(), names{"file.bin"});
            std::filesystem::remove(in.at("file.bin"));
        }
    }
}

TEST_F(Saving, NamesAreSafeAndNew) {
    client c(app);
    directory += '/';
    const std::string body = with_parts({{"; name=f; filename=\"../../etc/passwd\"", "1"},
                                         {"; name=f; filename=\"C:\\\\dir\\\\a.txt\"", "2"},
                                         {"; name=f; filename=\"..\"", "3"},
                                         {"; name=f; filename=\"\"", ""},
                                         {"; name=f; filename=\"/\"", "5"},
                                         {"; name=\"../field\"", "6"},
                                         {"; name=\"\"", "7"}});
    const std::string saved = c.send(upload("/save", body)).body;
    EXPECT_TRUE(saved.starts_with("/passwd:1;/a.txt:1;/_:1;/_-")) << saved;
    EXPECT_NE(saved.find("/field:1;"), std::string::npos) << saved;
    EXPECT_EQ(in.names().size(), 7U);
    EXPECT_EQ(in.read("passwd") + in.read("a.txt") + in.read("_") + in.read("field"), "1236");
    // Again: nothing is replaced.
    EXPECT_EQ(c.send(upload("/save", body)).status, 200);
    EXPECT_EQ(in.names().size(), 14U);
    EXPECT_EQ(in.read("passwd"), "1");
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(in.at("passwd")).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(Saving, FollowsNoLink) {
    const folder outside;
    outside.write("victim", "old");
    std::filesystem::create_symlink(outside.at("victim"), in.at("link"));
    std::filesystem::create_symlink(outside.at("absent"), in.at("dangling"));
    std::filesystem::create_directory_symlink(outside.path(), in.at("elsewhere"));
    client c(app);
    const reply r = c.send(upload("/save", with_parts({{"; name=f; filename=link", "new"},
                                                       {"; name=f; filename=dangling", "new"},
                                                       {"; name=f; filename=\"elsewhere/new\"", "new"}})));
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(outside.names(), names{"victim"});
    EXPECT_EQ(outside.read("victim"), "old");
    EXPECT_EQ(in.read("new"), "new");
    EXPECT_EQ(in.names().size(), 6U);
}

TEST_F(Saving, ANameOfTheHandlersIsTakenAsItIs) {
    client c(app);
    const std::string body = with_parts({{"; name=f; filename=theirs", "1"}});
    EXPECT_EQ(c.send(upload("/save-as?name=mine", body)).body, "/mine:1;");
    EXPECT_EQ(c.send(upload("/save-as?name=mine", body)).body,
              std::make_error_code(std::errc::file_exists).message() + ";");
    for (const char* const bad : {"", ".", "..", "a%2fb", "%2fetc"})
        EXPECT_EQ(c.send(upload(std::string("/save-as?name=") + bad, body)).body,
                  std::string(message_of(errc::malformed)) + ";")
            << bad;
    EXPECT_EQ(c.send(upload("/save-as?name=" + std::string(256, 'n'), body)).body,
              std::make_error_code(std::errc::filename_too_long).message() + ";");
    EXPECT_EQ(in.names(), names{"mine"});
}

TEST_F(Saving, SaysWhatTheSystemSaysAndGoesOn) {
    directory = in.at("absent");
    client c(app);
    const std::string no = std::make_error_code(std::errc::no_such_file_or_directory).message() + ";";
    const std::string large = blob(100'000);
    EXPECT_EQ(
        c.send(upload("/save",
                      with_parts({{"; name=f; filename=a", "1"}, {"; name=f; filename=b", large}, {"; name=c", ""}})))
            .body,
        no + no + no);
    directory = in.path();
    EXPECT_EQ(c.send(upload("/save", with_parts({{"; name=f; filename=a", "1"}}))).body, "/a:1;");
}

TEST_F(Saving, WhatEndsEarlyLeavesNoFile) {
    const std::string wire = upload("/save", with_parts({{"; name=f; filename=a", blob(60'000)}}));
    const std::size_t begins = wire.size() - 60'000;
    client first(app);
    EXPECT_EQ(first.send(upload("/save", "--b--")).status, 200);
    const auto descriptors = open_descriptors();
    // The connection breaks.
    for (std::size_t at = begins - 20; at < wire.size(); at += 1'777) {
        client c(app, {.seed = at, .splits = true, .reset_at = at});
        EXPECT_EQ(c.send(wire).status, 0) << at;
        expect_nothing_left();
    }
    // The peer ends it, or is too slow.
    for (const std::size_t at : {begins, begins + 50'000, wire.size() - 8}) {
        client c(app);
        c.write(wire.substr(0, at));
        c.finish_sending();
        EXPECT_EQ(c.read().status, 0) << at;
        expect_nothing_left();
        client slow(app);
        slow.write(wire.substr(0, at));
        EXPECT_EQ(slow.read().status, 408) << at;
        expect_nothing_left();
    }
    // It is too large.
    caps.file_bytes = 50'000;
    client c(app);
    const reply r = c.send(wire);
    EXPECT_EQ(r.status, 413);
    EXPECT_EQ(r.body, message_of(multipart_errc::file_too_large));
    expect_nothing_left();
    EXPECT_EQ(open_descriptors(), descriptors);
}

TEST_F(Saving, CanBeGivenUp) {
    using namespace boost::asio::experimental::awaitable_operators;
    app.post(
        "/patient",
        [this](request& q, response& a) -> awaitable<> {
            result<part> p = co_await q.next_part();
            std::optional<result<saved_file>> saved;
            const auto save_it = [&]() -> awaitable<> { saved = co_await p->save(in.path()); };
            co_await (save_it() || awaitable<>(sleep_for(1s)));
            const result<part> next = co_await q.next_part();
            a.text(saved->error().message() + ", " + std::string(next->name()));
        },
        in_pieces);
    const std::string wire = upload("/patient", with_parts({{"; name=f; filename=a", blob(60'000)}, {"; name=g", ""}}));
    client c(app);
    c.write(wire.substr(0, 50'000));
    c.advance(2s);
    EXPECT_EQ(in.names(), names());
    c.write(wire.substr(50'000));
    EXPECT_EQ(c.read().body, std::string(message_of(errc::cancelled)) + ", g");
    expect_nothing_left();
}

TEST(Save, AFullQueueIs503WithRetryAfter) {
    using namespace boost::asio::experimental::awaitable_operators;
    const folder in;
    server app({.blocking_threads = 1, .blocking_queue = 0});
    app.post(
        "/",
        [&in](request& q, response&) -> awaitable<> {
            result<part> p = co_await q.next_part();
            std::exception_ptr refused;
            const auto save_it = [&]() -> awaitable<> {
                try {
                    const result<saved_file> saved = co_await p->save(in.path());
                    EXPECT_FALSE(saved);
                } catch (...) {
                    refused = std::current_exception();
                }
            };
            co_await (offload([] {}) && save_it());
            if (refused) std::rethrow_exception(refused);
        },
        in_pieces);
    client c(app);
    const reply r = c.send(upload("/", with_parts({{"; name=f; filename=a", "1"}})));
    EXPECT_EQ(r.status, 503);
    EXPECT_EQ(r.field("Retry-After"), "1");
    EXPECT_EQ(in.names(), names());
}

} // namespace
} // namespace fastserve::test
