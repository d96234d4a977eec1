#include "scan.hpp"

#include "chars.hpp"
#include "scan_blocks.hpp"
#include "scan_neon.hpp"
#include "scan_x86.hpp"

#include <atomic>

namespace fastserve::http {
namespace {

constexpr scan_level levels_by_speed[] = {scan_level::avx512, scan_level::avx2, scan_level::ssse3,
                                          scan_level::neon,   scan_level::sse2, scan_level::scalar};

void scan_scalar(const char* data, std::size_t size, scan_marks& out) noexcept {
    const unsigned count = begin_scan(size, out);
    scan_carry carry;
    std::uint16_t* next = out.at;
    for (unsigned b = 0; b < count; ++b) {
        const char* at = data + std::size_t{64} * b;
        const std::size_t left = size - std::size_t{64} * b;
        block_bits block{};
        std::uint64_t plain = 0;
        for (std::size_t k = 0; k < 64 && k < left; ++k) {
            const std::uint64_t classes = chars::table[static_cast<unsigned char>(at[k])];
            block.token |= std::uint64_t{(classes & chars::token) != 0} << k;
            block.control |= std::uint64_t{(classes & chars::control) != 0} << k;
            block.cr |= std::uint64_t{at[k] == '\r'} << k;
            plain |= std::uint64_t{(classes & chars::plain) != 0} << k;
        }
        out.plain[b] = plain;
        std::uint64_t marks;
        const bool stop = mark_block(b, block, carry, marks, out);
        next = write_marks(b, marks, next);
        if (stop) break;
    }
    end_scan(out, next);
}

void choose_and_scan(const char* data, std::size_t size, scan_marks& out) noexcept;

// Constant-initialised with a function that replaces itself, so that a parse before main finds it ready. Relaxed: the
// value alone is passed on, and every value is right.
constinit std::atomic<scan_kernel> selected{choose_and_scan};

void choose_and_scan(const char* data, std::size_t size, scan_marks& out) noexcept {
    use(current_scan_level());
    selected.load(std::memory_order_relaxed)(data, size, out);
}

} // namespace

scan_kernel kernel_of(scan_level level) noexcept {
    if (level == scan_level::scalar) return scan_scalar;
#if defined(__x86_64__)
    return x86_kernel(level);
#elif defined(__aarch64__)
    return level == scan_level::neon ? scan_neon : nullptr;
#else
    return nullptr;
#endif
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
