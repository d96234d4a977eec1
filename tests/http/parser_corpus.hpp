// Heads and what has to become of them. The tests run each whole, in pieces, at every scan level and against guard
// pages.
#pragma once

#include <fastserve/http/error.hpp>

#include <string>
#include <vector>

namespace parser_test {

struct sample {
    std::string text;
    fastserve::http::errc error; // errc::ok: a complete head, followed by nothing
};

const std::vector<sample>& corpus();

} // namespace parser_test
