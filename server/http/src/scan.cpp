#include "scan.hpp"

#include "chars.hpp"
#include "scan_neon.hpp"
#include "scan_x86.hpp"

#include <atomic>

namespace fastserve::http {
namespace {

constexpr scan_level levels_by_speed[] = {scan_level::avx512, scan_level::avx2, scan_level::ssse3,
                                          scan_level::neon,   scan_level::sse2, scan_level::scalar};

unsigned choose_and_scan(const char* data, std::size_t size, scan_block* out) noexcept;

// Constant-initialised with a function that replaces itself, so that a parse before main finds it ready. Relaxed: the
// value alone is passed on, and every value is right.
constinit std::atomic<scan_kernel> selected{choose_and_scan};

unsigned choose_and_scan(const char* data, std::size_t size, scan_block* out) noexcept {
    use(current_scan_level());
    return selected.load(std::memory_order_relaxed)(data, size, out);
}

} // namespace

unsigned scan_scalar(const char* data, std::size_t size, scan_block* out) noexcept {
    const unsigned blocks = size > 64 * (scan_window - 1) ? scan_window : static_cast<unsigned>((size + 63) / 64);
    std::uint64_t carried = 0;
    for (unsigned b = 0; b < blocks; ++b) {
        const char* at = data + std::size_t{64} * b;
        const std::size_t left = size - std::size_t{64} * b;
        scan_block block{};
        for (std::size_t k = 0; k < 64 && k < left; ++k) {
            const std::uint64_t classes = chars::table[static_cast<unsigned char>(at[k])];
            block.token |= (classes & chars::token ? std::uint64_t{1} : 0) << k;
            block.control |= (classes & chars::control ? std::uint64_t{1} : 0) << k;
            block.cr |= (at[k] == '\r' ? std::uint64_t{1} : 0) << k;
            block.plain |= (classes & chars::plain ? std::uint64_t{1} : 0) << k;
        }
        out[b] = block;
        if (block.cr & (block.cr << 2 | carried)) return b + 1;
        carried = block.cr >> 62;
    }
    return blocks;
}

scan_kernel kernel_of(scan_level level) noexcept {
    switch (level) {
    case scan_level::scalar:
        return scan_scalar;
#if defined(__x86_64__)
    case scan_level::sse2:
        return scan_sse2;
    case scan_level::ssse3:
        return __builtin_cpu_supports("ssse3") ? scan_ssse3 : nullptr;
    case scan_level::avx2:
        return __builtin_cpu_supports("avx2") ? scan_avx2 : nullptr;
    // With VBMI only (Ice Lake, Zen 4): the first processors with AVX-512 pay for it with their clock, and AVX2 is
    // better.
    case scan_level::avx512:
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") ? scan_avx512 : nullptr;
#elif defined(__aarch64__)
    case scan_level::neon:
        return scan_neon;
#endif
    default:
        return nullptr;
    }
}

bool supported(scan_level level) noexcept {
    return kernel_of(level) != nullptr;
}

scan_kernel current_kernel() noexcept {
    return selected.load(std::memory_order_relaxed);
}

void use_kernel(scan_kernel kernel) noexcept {
    selected.store(kernel, std::memory_order_relaxed);
}

scan_level current_scan_level() noexcept {
    const scan_kernel kernel = current_kernel();
    for (scan_level level : levels_by_speed)
        if (supported(level) && (kernel == choose_and_scan || kernel == kernel_of(level))) return level;
    return scan_level::scalar;
}

bool use(scan_level level) noexcept {
    const scan_kernel kernel = kernel_of(level);
    if (kernel) use_kernel(kernel);
    return kernel != nullptr;
}

} // namespace fastserve::http
