// Which precompressed forms of a file a client would rather have than the file.
#pragma once

#include <fastserve/http/content_coding.hpp>
#include <fastserve/http/negotiation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fastserve::files {

// The codings that have a file beside the original, in the order in which they are looked for when a client likes them
// equally: the smaller file first. A value; any thread.
class coding_order {
public:
    static constexpr std::array<http::content_coding, 3> offered = {
        http::content_coding::br, http::content_coding::zstd, http::content_coding::gzip};

    // None: the original is sent.
    constexpr coding_order() noexcept = default;
    // Those that the client takes, and prefers to the original. When it takes neither those nor the original, the
    // original is sent all the same (RFC 9110 12.5.3 allows that), as most servers do.
    explicit coding_order(const http::coding_preferences& of) noexcept;

    std::span<const http::content_coding> codings() const noexcept { return {codings_.data(), count_}; }

    // Different for each of the 16 orders there are.
    std::uint8_t number() const noexcept;

    friend bool operator==(const coding_order&, const coding_order&) = default;

private:
    std::array<http::content_coding, offered.size()> codings_{}; // behind the first count_: identity
    std::uint8_t count_ = 0;
};

// What is put behind a name: ".br", ".zst", ".gz"; empty for other codings. Static.
std::string_view suffix_of(http::content_coding c) noexcept;

} // namespace fastserve::files
