// The admin listener: is it alive, is it ready, what does it count.
#pragma once

#include <fastserve/server.hpp>

#include <string>

namespace fastserve::cli {

// /livez, /readyz and /stats of `main`, to be served by `admin`. `main` must outlive `admin`'s workers.
void add_admin_pages(server& admin, const server& main);

// The counters as text, one "name value" a line.
std::string to_text(const stats&);

} // namespace fastserve::cli
