// How many workers this process can use and where they run: affinity, cgroup quota, pinning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace fastserve::net {

// The CPUs the calling thread may run on, ascending; their numbers need not begin at 0 nor be dense. Never empty: {0}
// if the kernel does not say.
std::vector<int> affinity_cpus();

// The CPU time the cgroup of this process may use, in CPUs (1.5: 150 ms of every 100 ms), the smallest of all levels
// from its own up to the root; nothing if unlimited. Reads cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us) below `root`,
// which tests replace. What cannot be read limits nothing.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// The smaller of the CPUs of the mask and the quota rounded up, at least 1: what `--workers auto` means.
unsigned auto_workers(std::size_t mask_cpus, std::optional<double> quota) noexcept;

enum class pin : std::uint8_t {
    automatic, // if the whole mask is ours to use: as many workers as CPUs, and no quota
    on,
    off,
};

bool should_pin(pin choice, unsigned workers, std::size_t mask_cpus, std::optional<double> quota) noexcept;

// The CPU of worker `i`, also when there are more workers than CPUs. `mask` is not empty.
inline int cpu_of_worker(std::span<const int> mask, std::size_t i) noexcept {
    return mask[i % mask.size()];
}

// Binds the calling thread to one CPU, or to several.
std::error_code pin_this_thread(int cpu) noexcept;
std::error_code pin_this_thread(std::span<const int> cpus) noexcept;

} // namespace fastserve::net
