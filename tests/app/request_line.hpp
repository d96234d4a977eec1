// A request, spelled out.
#pragma once

#include <string>
#include <string_view>

namespace fastserve::test {

inline std::string request_line(std::string_view method, std::string_view target, std::string_view fields = "",
                                std::string_view body = "") {
    std::string out = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n";
    out += fields;
    if (!body.empty()) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return out + "\r\n" + std::string(body);
}

} // namespace fastserve::test
