// Answers that are made without a handler.
#pragma once

#include <fastserve/http/response.hpp>
#include <fastserve/http/status.hpp>

#include <string>

namespace fastserve::detail {

// An answer without a handler: the reason as text, as the wire's own errors have it.
inline void refuse(http::response& r, int status) {
    r.reset();
    r.status(status);
    r.content_type("text/plain; charset=utf-8");
    std::string& body = r.body_buffer();
    body = http::reason(status);
    body += '\n';
}

// 503, and when to come again.
inline void refuse_for_now(http::response& r) {
    refuse(r, 503);
    r.set("Retry-After", "1");
}

} // namespace fastserve::detail
