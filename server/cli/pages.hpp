// What the program serves by itself.
#pragma once

#include <fastserve/router.hpp>

namespace fastserve::cli {

// / and /plaintext, /json and /api/v3/json, /echo.
void add_pages(router&);

} // namespace fastserve::cli
