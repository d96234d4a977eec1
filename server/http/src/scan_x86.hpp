// The kernels for x86-64.
#pragma once

#if defined(__x86_64__)

#include "scan.hpp"

namespace fastserve::http {

// The kernel of a level, or nullptr if the processor does not have its instructions.
scan_kernel x86_kernel(scan_level level) noexcept;

} // namespace fastserve::http

#endif
