#include "rivals.hpp"

#include <fastserve/http/head_parser.hpp>

#include <boost/beast/http/basic_parser.hpp>
#include <http_parser.h>

namespace differential {
namespace {

std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

} // namespace

account ask_fastserve(std::string_view text) {
    namespace http = fastserve::http;
    static const http::limits bounds;
    static std::vector<http::field_line> lines(bounds.head_fields);
    const std::string padded = std::string(text) + std::string(http::parse_padding, '\n');
    http::head head;
    head.use_storage(lines);
    http::head_parser parser;
    const auto status = parser.parse(padded.data(), text.size(), head, bounds);
    account a;
    a.accepted = status == http::parse_status::complete;
    a.failed = status == http::parse_status::error;
    a.error = parser.error();
    a.reason = http::message_of(a.error);
    if (!a.accepted) return a;
    a.size = head.size;
    a.method = head.method_text();
    a.target = head.target();
    a.minor = head.version_minor;
    for (const http::field_line& line : head.fields) a.fields.emplace_back(head.name(line), head.value(line));
    a.chunked = head.body == http::framing::chunked;
    a.length = head.content_length;
    a.keep_alive = head.keep_alive;
    return a;
}

namespace {

namespace beast = boost::beast;

class recorder : public beast::http::basic_parser<true> {
public:
    account seen;

private:
    using error = beast::error_code;
    using text = beast::string_view;
    static std::string_view plain(text t) { return {t.data(), t.size()}; }

    void on_request_impl(beast::http::verb, text method, text target, int version, error&) override {
        seen.method = plain(method);
        seen.target = plain(target);
        seen.minor = version % 10;
    }
    void on_response_impl(int, text, int, error&) override {}
    void on_field_impl(beast::http::field, text name, text value, error&) override {
        seen.fields.emplace_back(plain(name), trimmed(plain(value)));
    }
    void on_header_impl(error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error&) override {}
    std::size_t on_body_impl(text body, error&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, text, error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, text body, error&) override { return body.size(); }
    void on_finish_impl(error&) override {}
};

} // namespace

account ask_beast(std::string_view text) {
    recorder parser;
    parser.header_limit(1 << 20);
    parser.body_limit(boost::none);
    beast::error_code error;
    const std::size_t size = parser.put(boost::asio::buffer(text.data(), text.size()), error);
    account a = std::move(parser.seen);
    a.accepted = parser.is_header_done();
    a.failed = !a.accepted && error && error != beast::http::error::need_more;
    a.reason = error ? error.message() : "";
    a.size = size;
    if (!a.accepted) return a;
    a.chunked = parser.chunked();
    a.length = parser.content_length() ? *parser.content_length() : 0;
    a.keep_alive = parser.keep_alive();
    return a;
}

namespace {

struct collected {
    account seen;
    bool in_value = true;
};

collected& of(http_parser* parser) {
    return *static_cast<collected*>(parser->data);
}

http_parser_settings make_settings() {
    http_parser_settings s;
    http_parser_settings_init(&s);
    s.on_url = [](http_parser* p, const char* at, std::size_t n) {
        of(p).seen.target.append(at, n);
        return 0;
    };
    s.on_header_field = [](http_parser* p, const char* at, std::size_t n) {
        collected& c = of(p);
        if (std::exchange(c.in_value, false)) c.seen.fields.emplace_back();
        c.seen.fields.back().first.append(at, n);
        return 0;
    };
    s.on_header_value = [](http_parser* p, const char* at, std::size_t n) {
        of(p).in_value = true;
        of(p).seen.fields.back().second.append(at, n);
        return 0;
    };
    s.on_headers_complete = [](http_parser* p) {
        of(p).seen.accepted = true;
        http_parser_pause(p, 1);
        return 0;
    };
    return s;
}

} // namespace

account ask_http_parser(std::string_view text) {
    static const http_parser_settings settings = make_settings();
    collected c;
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &c;
    std::size_t size = http_parser_execute(&parser, &settings, text.data(), text.size());
    account a = std::move(c.seen);
    if (a.accepted) {
        // It stopped at the last LF, and judges the codings only behind it.
        http_parser_pause(&parser, 0);
        size += http_parser_execute(&parser, &settings, text.data() + size, 1);
        a.accepted = HTTP_PARSER_ERRNO(&parser) == HPE_OK;
    }
    a.failed = HTTP_PARSER_ERRNO(&parser) != HPE_OK;
    if (a.failed) a.reason = http_errno_name(HTTP_PARSER_ERRNO(&parser));
    a.size = size;
    if (!a.accepted) return a;
    a.method = http_method_str(static_cast<http_method>(parser.method));
    a.minor = parser.http_minor;
    for (auto& [name, value] : a.fields) value = trimmed(value);
    a.chunked = (parser.flags & F_CHUNKED) != 0;
    a.length = (parser.flags & F_CONTENTLENGTH) != 0 ? parser.content_length : 0;
    a.keep_alive = http_should_keep_alive(&parser) != 0;
    return a;
}

} // namespace differential
