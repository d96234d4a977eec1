// What a file is, by the end of its name: the value of Content-Type.
//
// Nothing here looks into a file, allocates or throws; any thread. Which types are worth compressing is said by
// fastserve::coding::worth_coding(), which takes what is returned here.
#pragma once

#include <cstddef>
#include <string_view>

namespace fastserve::files {

// What is behind the last dot of the last name in `path`, as it is spelled. Empty when there is none, and for a name
// whose only dot is the one that hides it (".profile").
constexpr std::string_view extension_of(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.rfind('/') + 1); // npos + 1 is 0
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot + 1);
}

// The type of files with that extension, which has no dot and any case; empty for one that is not known. Text says that
// it is UTF-8; what has a way of its own to say so, or no choice, does not (XML, JSON). Static. A few comparisons,
// O(log n).
std::string_view find_media_type(std::string_view extension) noexcept;

// For what nobody knows: a browser saves it, and does not try to find out what it is.
inline constexpr std::string_view unknown_media_type = "application/octet-stream";

// The type of the file of that name, or unknown_media_type. Only the last extension counts: "a.tar.gz" is gzip.
inline std::string_view media_type_of(std::string_view path) noexcept {
    const std::string_view type = find_media_type(extension_of(path));
    return type.empty() ? unknown_media_type : type;
}

} // namespace fastserve::files
