// The kernel for aarch64; see scan_kernel. NEON is part of the baseline there.
#pragma once

#if defined(__aarch64__)

#include "scan.hpp"

namespace fastserve::http {

unsigned scan_neon(const char* data, std::size_t size, scan_block* out) noexcept;

} // namespace fastserve::http

#endif
