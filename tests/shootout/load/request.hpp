#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace load {

inline constexpr std::size_t browser_head_bytes = 414;

// What a request is made of.
struct request_parts {
    std::string method = "GET";
    std::string host{}, path = "/";
    std::vector<std::string> fields{}; // "Name: value"; Host and Connection take the place of ours
    bool browser = false;              // as much head as a browser sends: browser_head_bytes in all
    bool has_body = false;
    std::size_t body_bytes = 0;
};

// The bytes of the request; the body is of letters. `last` says that the connection shall close after it. Empty where
// the browser's head would be longer than it is.
std::string write_request(const request_parts&, bool last);

// Whether `field` is "Name: value" with nothing in it that would end it.
bool is_field(std::string_view field) noexcept;

} // namespace load
