// The kernel for aarch64; see scan_kernel. NEON is part of the baseline there.
#pragma once

#if defined(__aarch64__)

#include "scan.hpp"

namespace fastserve::http {

void scan_neon(const char* data, std::size_t size, scan_marks& out) noexcept;

} // namespace fastserve::http

#endif
