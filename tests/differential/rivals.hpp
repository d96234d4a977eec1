// Three parsers of request heads, asked one question: is this a head, and what does it say?
#pragma once

#include <fastserve/http/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace differential {

struct account {
    bool accepted = false;
    bool failed = false;           // no continuation is accepted either
    std::string reason;            // why it failed, in the parser's own words
    fastserve::http::errc error{}; // ours only
    std::size_t size = 0;          // of the head
    std::string method, target;
    int minor = 0;
    std::vector<std::pair<std::string, std::string>> fields; // values without white space around them
    bool chunked = false;
    std::uint64_t length = 0; // what Content-Length says
    bool keep_alive = false;
};

account ask_fastserve(std::string_view text);
account ask_beast(std::string_view text);       // Boost 1.81's basic_parser
account ask_http_parser(std::string_view text); // Debian's http-parser

} // namespace differential
