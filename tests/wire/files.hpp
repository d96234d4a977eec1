// Files for the fixture, with conditions and single ranges (RFC 9110 13 and 14). Small and slow: the library has no
// file serving of its own yet, and the cases about files need somebody to answer them.
#pragma once

#include <fastserve/request.hpp>
#include <fastserve/response.hpp>

#include <filesystem>

namespace wire {

// Answers with what the route's parameter `name` names below `root`. Nothing hidden, nothing above the root, no link,
// nothing but regular files: all that is 404.
void serve_file(const std::filesystem::path& root, fastserve::request&, fastserve::response&);

} // namespace wire
