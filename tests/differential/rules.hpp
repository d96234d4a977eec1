// Why parsers disagree about a head: rules that have a name, a section and a test of their own.
//
// That we refuse something is never explained by our saying so: the rule looks at the bytes itself, in the simplest way
// there is, and must find the fault that we name.
#pragma once

#include "rivals.hpp"

#include <string_view>

namespace differential {

enum class rival : unsigned char { beast, http_parser };

// A rule, or none: an empty name.
struct explanation {
    std::string_view rule;
    std::string_view section;
};

// We refuse what the rival accepts.
explanation why_stricter(std::string_view text, const account& ours);

// The rival refuses what we accept.
explanation why_accepted(std::string_view text, rival who, std::string_view reason);

// Both accept, and do not say the same; `what` is the first thing that differs.
explanation why_different(std::string_view text, rival who, std::string_view what);

} // namespace differential
