// What the text in a part's head means.
#pragma once

#include <fastserve/http/multipart.hpp>

#include <string_view>

namespace fastserve::http {

// Reads the field lines of a part, which are well formed, into `out`. Decoded names go to `memory`, of at least
// name_bytes + 2 * filename_bytes + 1 bytes; neither counts for more than there are in `lines`.
multipart_errc read_part_head(std::string_view lines, const multipart_limits& l, char* memory, part_head& out) noexcept;

} // namespace fastserve::http
