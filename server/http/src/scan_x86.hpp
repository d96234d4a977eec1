// The kernels for x86-64; see scan_kernel. Call one only where the processor has its instructions.
#pragma once

#if defined(__x86_64__)

#include "scan.hpp"

namespace fastserve::http {

unsigned scan_sse2(const char* data, std::size_t size, scan_block* out) noexcept;
unsigned scan_ssse3(const char* data, std::size_t size, scan_block* out) noexcept;
unsigned scan_avx2(const char* data, std::size_t size, scan_block* out) noexcept;
unsigned scan_avx512(const char* data, std::size_t size, scan_block* out) noexcept;

} // namespace fastserve::http

#endif
