#include <fastserve/files/coding_order.hpp>

#include <algorithm>
#include <optional>

namespace fastserve::files {

coding_order::coding_order(const http::coding_preferences& of) noexcept {
    auto left = offered;
    for (std::size_t count = left.size(); count != 0; --count) {
        const std::optional<http::content_coding> best = of.choose(std::span(left).first(count));
        if (!best || *best == http::content_coding::identity) return;
        codings_[count_++] = *best;
        std::copy(std::find(left.begin(), left.end(), *best) + 1, left.end(),
                  std::find(left.begin(), left.end(), *best));
    }
}

std::uint8_t coding_order::number() const noexcept {
    std::size_t number = 0;
    for (const http::content_coding c : codings())
        number = number * (offered.size() + 1) + 1 +
                 static_cast<std::size_t>(std::find(offered.begin(), offered.end(), c) - offered.begin());
    return static_cast<std::uint8_t>(number);
}

std::string_view suffix_of(http::content_coding c) noexcept {
    switch (c) {
    case http::content_coding::br: return ".br";
    case http::content_coding::zstd: return ".zst";
    case http::content_coding::gzip: return ".gz";
    default: return {};
    }
}

} // namespace fastserve::files
