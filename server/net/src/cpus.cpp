#include <fastserve/net/cpus.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sched.h>

namespace fastserve::net {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t bits_per_word = 8 * sizeof(unsigned long);
constexpr std::size_t most_cpus = 1u << 16;

// cpu_set_t stops at 1,024 CPUs; the calls take any number of these.
using cpu_words = std::vector<unsigned long>;

} // namespace

std::vector<int> affinity_cpus() {
    std::vector<int> cpus;
    // The kernel refuses a set smaller than the machine and does not say how large that is.
    for (std::size_t size = 1024; size <= most_cpus; size *= 2) {
        cpu_words words(size / bits_per_word);
        if (::sched_getaffinity(0, size / 8, reinterpret_cast<cpu_set_t*>(words.data())) != 0) {
            if (errno == EINVAL) continue;
            break;
        }
        for (std::size_t cpu = 0; cpu < size; ++cpu)
            if (words[cpu / bits_per_word] >> (cpu % bits_per_word) & 1) cpus.push_back(static_cast<int>(cpu));
        break;
    }
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

namespace {

std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
    const auto q = number(quota), p = number(period);
    if (!q || !p || !(*q > 0) || !(*p > 0)) return std::nullopt; // "max" and -1 are no limit
    return *q / *p;
}

std::string word_of(const fs::path& file) {
    std::string word;
    std::ifstream(file) >> word;
    return word;
}

std::optional<double> quota_v2(const fs::path& group) {
    std::ifstream in(group / "cpu.max");
    std::string quota, period;
    if (!(in >> quota >> period)) return std::nullopt;
    return ratio(quota, period);
}

std::optional<double> quota_v1(const fs::path& group) {
    return ratio(word_of(group / "cpu.cfs_quota_us"), word_of(group / "cpu.cfs_period_us"));
}

// The smallest quota of the groups from `mount`/`group` up to `mount`. A group that is not visible here, because the
// process sits in a container whose mount begins further down, is skipped on the way.
template <class Read>
void smallest(std::optional<double>& least, const fs::path& mount, const std::string& group, Read read) {
    fs::path at = fs::path(group).relative_path();
    // Outside of the cgroup namespace ("/../x"): nothing of that can be seen but the mount itself.
    if (group.find("/..") != group.npos) at.clear();
    for (;; at = at.parent_path()) {
        if (const auto quota = read(at.empty() ? mount : mount / at)) least = least ? std::min(*least, *quota) : quota;
        if (at.empty()) return;
    }
}

bool names_cpu(std::string_view controllers) {
    while (!controllers.empty()) {
        const std::size_t comma = std::min(controllers.find(','), controllers.size());
        if (controllers.substr(0, comma) == "cpu") return true;
        controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
    return false;
}

} // namespace

std::optional<double> cpu_quota(const fs::path& root) {
    std::optional<double> least;
    const fs::path mounts = root / "sys/fs/cgroup";
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) { // hierarchy:controllers:path
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (line.starts_with("0::")) {
            smallest(least, mounts, group, quota_v2);
            smallest(least, mounts / "unified", group, quota_v2);
        } else if (names_cpu(controllers)) {
            smallest(least, mounts / "cpu", group, quota_v1);
            if (controllers != "cpu") smallest(least, mounts / controllers, group, quota_v1);
        }
    }
    return least;
}

unsigned auto_workers(std::size_t mask_cpus, std::optional<double> quota) noexcept {
    double most = static_cast<double>(mask_cpus);
    if (quota) most = std::min(most, std::ceil(*quota));
    return static_cast<unsigned>(std::max(most, 1.0));
}

bool should_pin(pin choice, unsigned workers, std::size_t mask_cpus, std::optional<double> quota) noexcept {
    switch (choice) {
    case pin::on:
        return true;
    case pin::off:
        return false;
    case pin::automatic:
        break;
    }
    return workers >= mask_cpus && !quota;
}

std::error_code pin_this_thread(int cpu) noexcept {
    return pin_this_thread(std::span<const int>(&cpu, 1));
}

std::error_code pin_this_thread(std::span<const int> cpus) noexcept {
    unsigned long words[most_cpus / bits_per_word] = {};
    int highest = 0;
    for (const int cpu : cpus) {
        if (cpu < 0 || static_cast<std::size_t>(cpu) >= most_cpus)
            return std::make_error_code(std::errc::invalid_argument);
        const auto bit = static_cast<std::size_t>(cpu);
        words[bit / bits_per_word] |= 1ul << (bit % bits_per_word);
        highest = std::max(highest, cpu);
    }
    const std::size_t used = static_cast<std::size_t>(highest) / bits_per_word + 1;
    const int error =
        ::pthread_setaffinity_np(::pthread_self(), used * sizeof(unsigned long), reinterpret_cast<cpu_set_t*>(words));
    return {error, std::system_category()};
}

} // namespace fastserve::net
