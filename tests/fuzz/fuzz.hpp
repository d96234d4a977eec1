// What the fuzz targets share: taking an input apart, and failing.
//
// A target is one LLVMFuzzerTestOneInput. It is built twice: with libFuzzer under sanitizers by the fuzz preset, and
// with replay.cpp as an ordinary test that runs the corpus.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

// Ends the process, which is what libFuzzer takes for a find.
[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "wrong: %s\n", what);
    std::abort();
}

inline void require(bool holds, const char* what) {
    if (!holds) [[unlikely]]
        fail(what);
}

// An input, taken from the front. What is not there is zero, or empty.
class input {
public:
    input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

    bool empty() const { return rest_.empty(); }
    unsigned byte() {
        if (rest_.empty()) return 0;
        const auto b = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return b;
    }
    unsigned word() {
        const unsigned high = byte();
        return high << 8 | byte();
    }
    std::string_view bytes(std::size_t size) {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    // Up to the next `end`, which is skipped.
    std::string_view until(char end) {
        const std::string_view taken = rest_.substr(0, rest_.find(end));
        rest_.remove_prefix(std::min(rest_.size(), taken.size() + 1));
        return taken;
    }
    std::string_view rest() { return bytes(rest_.size()); }

private:
    std::string_view rest_;
};

// At most seven places in a text of `size` bytes, ascending, and its end. The first byte says how many.
inline std::vector<std::size_t> take_cuts(unsigned count, input& in) {
    std::vector<std::size_t> cuts;
    for (unsigned i = 0; i < count % 8; ++i) cuts.push_back(in.word());
    std::sort(cuts.begin(), cuts.end());
    return cuts;
}

// A text in memory of exactly its size and `padding`, so that a sanitizer sees a look beyond.
class exact_copy {
public:
    exact_copy(std::string_view text, std::size_t padding, std::string_view filler)
        : bytes_(std::make_unique_for_overwrite<char[]>(text.size() + padding)) {
        std::copy(text.begin(), text.end(), bytes_.get());
        for (std::size_t i = 0; i < padding; ++i) bytes_[text.size() + i] = filler[i % filler.size()];
    }
    char* data() { return bytes_.get(); }

private:
    std::unique_ptr<char[]> bytes_;
};

} // namespace fuzz
