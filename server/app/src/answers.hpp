// What fastserve says where no handler answers.
#pragma once

#include <fastserve/http/response.hpp>
#include <fastserve/http/status.hpp>

#include <string>

namespace fastserve::detail {

// The reason as text, as the wire's own errors have it.
inline void put_reason(http::response& r) {
    r.content_type("text/plain; charset=utf-8");
    std::string& body = r.body_buffer();
    body = http::reason(r.status());
    body += '\n';
}

} // namespace fastserve::detail
