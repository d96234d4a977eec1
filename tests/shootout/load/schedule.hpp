#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace load {

// When the requests of one thread are due, in nanoseconds after the start. Answers have no influence on it.
class schedule {
public:
    // Whenever a connection is free: due() is always 0.
    static schedule closed_loop() { return schedule(0, 0, false, 0); }

    // The share of thread `thread` of `threads` in `rate` requests a second at equal distances: all of them together
    // are as regular as one.
    static schedule constant(double rate, unsigned thread, unsigned threads) {
        return schedule(threads / rate * 1e9, thread / rate * 1e9, false, 0);
    }

    // The same rate as a Poisson process. Threads with different seeds are independent, so that they add up to one.
    static schedule poisson(double rate, unsigned threads, std::uint64_t seed) {
        return schedule(threads / rate * 1e9, 0, true, seed);
    }

    bool paced() const noexcept { return distance_ > 0; }
    std::int64_t due() const noexcept { return static_cast<std::int64_t>(due_); }

    void advance() {
        if (random_gaps_)
            due_ += gap();
        else // not a sum, whose error would grow
            due_ = first_ + distance_ * static_cast<double>(++passed_);
    }

private:
    schedule(double distance, double first, bool random_gaps, std::uint64_t seed)
        : distance_(distance), first_(first), due_(first), random_gaps_(random_gaps), random_(seed) {
        if (random_gaps_) due_ = gap();
    }

    double gap() {
        constexpr double unit = 0x1p-53;
        return -distance_ * std::log1p(-static_cast<double>(random_() >> 11) * unit);
    }

    double distance_, first_, due_;
    std::uint64_t passed_ = 0;
    bool random_gaps_;
    std::mt19937_64 random_;
};

} // namespace load
