// A name for a file, out of one that a stranger chose.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fastserve::http {

inline constexpr std::size_t safe_filename_bytes = 255; // NAME_MAX

// Makes of `given` one component of a path that can be created in any folder, on any system, and shown to anybody:
// valid UTF-8, 1 to safe_filename_bytes bytes. It still is the stranger's choice: two uploads may have the same one,
// and its extension says nothing about the content.
//
//  - Folders are dropped: what stands behind the last '/' or '\' is taken.
//  - Controls (C0, DEL, C1), what turns the direction of text or ends lines (U+2028, U+2029, U+202A to U+202E, U+2066
//  to
//    U+2069), bytes that are not UTF-8, and < > : " | ? * become '_' each.
//  - Dots and spaces at both ends are dropped, so that nothing is hidden, "." or ".."; a '-' in front becomes '_', so
//    that no program takes it for an option.
//  - Names of devices (CON, NUL.txt, com1, ...) get a '_' in front.
//  - A longer name loses the end of its stem, and keeps its extension if that has at most 16 bytes.
//  - Where nothing is left it is "_".
//
// Applied again it changes nothing.
std::string safe_filename(std::string_view given);

// The same, into given.size() + 1 bytes at `out`, which must not overlap `given`. Returns how many it took.
std::size_t write_safe_filename(std::string_view given, char* out) noexcept;

} // namespace fastserve::http
