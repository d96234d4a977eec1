// The content codings that a server may know (RFC 9110 8.4.1), and their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fastserve::http {

// gzip: RFC 1952. deflate: the zlib format of RFC 1950, not the raw one of RFC 1951. br: RFC 7932. zstd: RFC 8878 with
// the window of RFC 9659. Which of them a build can do is said by fastserve::coding::available().
enum class content_coding : std::uint8_t { identity, gzip, deflate, br, zstd };

inline constexpr std::uint8_t content_coding_count = static_cast<std::uint8_t>(content_coding::zstd) + 1;

// As it is written in Content-Encoding ("gzip"). Static.
std::string_view to_string(content_coding c) noexcept;

// The coding of that name, also "x-gzip" (RFC 9110 8.4.1.3), without regard to case; white space is the caller's to
// take off.
std::optional<content_coding> find_content_coding(std::string_view name) noexcept;

} // namespace fastserve::http
