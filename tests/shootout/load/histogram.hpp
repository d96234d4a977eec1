#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace load {

// Durations in nanoseconds, counted in buckets that are exact up to 255 and from there on 128 to each power of two: a
// quantile is off by at most 1/256 of itself. The largest value is kept exactly. About 60 KiB whatever it holds.
class histogram {
public:
    histogram() : counts_(bucket_of(UINT64_MAX) + 1) {}

    void add(std::uint64_t value) noexcept {
        ++counts_[bucket_of(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        max_ = std::max(max_, value);
    }

    void merge(const histogram& other) noexcept {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
        count_ += other.count_;
        sum_ += other.sum_;
        max_ = std::max(max_, other.max_);
    }

    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t max() const noexcept { return max_; }
    double mean() const noexcept { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }

    // The least value that at least the share `q` of all do not exceed; the middle of its bucket. 0 without any value.
    std::uint64_t quantile(double q) const noexcept {
        const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
        if (rank >= count_) return max_;
        std::uint64_t seen = 0;
        std::size_t i = 0;
        while ((seen += counts_[i]) < std::max<std::uint64_t>(rank, 1)) ++i;
        return std::min(middle_of(i), max_);
    }

private:
    // The highest eight bits of a value, and how far they were shifted.
    static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
        const auto shift = static_cast<unsigned>(std::bit_width(value | 128)) - 8u;
        return shift * 128u + static_cast<std::size_t>(value >> shift);
    }

    static constexpr std::uint64_t middle_of(std::size_t bucket) noexcept {
        if (bucket < 256) return bucket;
        const std::size_t shift = bucket / 128 - 1;
        return (static_cast<std::uint64_t>(bucket - shift * 128) << shift) + (std::uint64_t{1} << shift) / 2;
    }

    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0, max_ = 0;
    double sum_ = 0;
};

} // namespace load
