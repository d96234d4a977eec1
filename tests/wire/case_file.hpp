// The cases of cases/*.json for tests in process: what is sent, and what the first answer may be. The form is described
// in cases.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wire {

struct wire_case {
    std::string id{};
    std::string file{};
    std::string send{};
    std::string then{}; // when the first bytes have come back
    bool half_close = false;
    bool waits = false;         // nothing is answered
    bool may_be_silent = false; // the connection may end without an answer
    bool unannounced = false;   // it may end without having been announced
    std::vector<int> status{};  // of the first answer; empty: any
};

// All cases of a folder, in the order of their files. Throws what the file system and Boost.JSON throw.
std::vector<wire_case> load_cases(const std::string& folder);

} // namespace wire
