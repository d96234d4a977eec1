// The gate behind the head: one place that decides where the body ends, whom the request is for, and what becomes of
// the connection (RFC 9112 3.2, 6.3, 9.3; RFC 9110 7.6.1, 7.8, 10.1.1).
#pragma once

#include <fastserve/http/head.hpp>

namespace fastserve::http {

// Fills body, content_length, keep_alive, expect_continue, has_upgrade and the host of a head whose lines are complete.
errc judge_head(head& out) noexcept;

} // namespace fastserve::http
