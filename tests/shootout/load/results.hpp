#pragma once

#include "histogram.hpp"
#include "settings.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace load {

enum class error_kind : std::uint8_t { connect, timeout, wrong_answer, early_close };
inline constexpr std::array<std::string_view, 4> error_names{"connect", "timeout", "wrong_answer", "early_close"};

// What one thread saw, or all of them together. Times are nanoseconds.
struct results {
    histogram latency{}, lateness{};
    std::uint64_t requests = 0, warm_up_requests = 0;
    std::uint64_t answers_in_time = 0; // right ones that came while it was measured, to whatever request
    std::uint64_t unsent = 0, unfinished = 0, connects = 0, bytes_in = 0, bytes_out = 0;
    std::array<std::uint64_t, error_names.size()> errors{};
    std::string first_wrong_answer{};
    std::int64_t measured = 0; // how long
    std::int64_t user = 0, system = 0;
    std::vector<double> cpu_shares{};
    bool interrupted = false;

    std::uint64_t& errors_of(error_kind k) noexcept { return errors[static_cast<std::size_t>(k)]; }
    void merge(const results& other);
    std::uint64_t errors_total() const noexcept;
};

// Whether figures say more of the generator than of the server.
bool generator_was_limit(double cpu_share, std::uint64_t lateness_p99, std::uint64_t latency_p99) noexcept;

// One JSON object, with the keys that --help explains.
std::string to_json(const settings&, const results&);

} // namespace load
