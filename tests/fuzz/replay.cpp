// Runs a fuzz target over files: its corpus, or one that a fuzzer left behind.
//
//     replay PATH...    files, or folders whose files are taken
//
// Exits 1 when there is none, so that a corpus that is not found is no success.
#include "fuzz.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace {

std::size_t replayed = 0;

void replay(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    // A copy of exactly that size: a vector may have more.
    const auto exact = std::make_unique_for_overwrite<std::uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    LLVMFuzzerTestOneInput(exact.get(), bytes.size());
    ++replayed;
}

} // namespace

int main(int count, char** arguments) {
    for (int i = 1; i < count; ++i) {
        const std::filesystem::path path = arguments[i];
        if (!std::filesystem::is_directory(path)) {
            replay(path);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(path)) replay(entry.path());
    }
    std::printf("%zu inputs\n", replayed);
    return replayed == 0;
}
