// A text with bytes behind it that may be read and mean nothing, as parsers and routers ask for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>

namespace fastserve::test {

// On the heap and not a byte longer, so that AddressSanitizer sees who reads further.
class padded_text {
public:
    explicit padded_text(std::string_view text, std::size_t padding, std::string_view filler = "/")
        : size_(text.size()), bytes_(std::make_unique<char[]>(size_ + padding)) {
        std::copy(text.begin(), text.end(), bytes_.get());
        for (std::size_t i = 0; i < padding; ++i) bytes_[size_ + i] = filler[i % filler.size()];
    }
    operator std::string_view() const noexcept { return {bytes_.get(), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;
};

} // namespace fastserve::test
