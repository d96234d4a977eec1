// A folder that is there for one test, and what uploads leave in it.
#pragma once

#include "../files/temporary_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {

class folder : public files_test::temporary_folder {
public:
    std::string path() const { return temporary_folder::path().string(); }
    // Of all that is in it, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(path()))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }
    void write(std::string_view name, std::string_view content) const { file(name, content); }
    std::string read(std::string_view name) const {
        std::ifstream in(at(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

// How many descriptors this process has open.
inline std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

} // namespace fastserve::test
