// A folder that is there for one test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::test {

class folder {
public:
    folder() : path_((std::filesystem::temp_directory_path() / "fastserve-XXXXXX").string()) {
        if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder for the test");
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::string& path() const noexcept { return path_; }
    std::string at(std::string_view name) const { return path_ + "/" + std::string(name); }
    // Of all that is in it, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            all.push_back(entry.path().filename().string());
        std::sort(all.begin(), all.end());
        return all;
    }
    void write(std::string_view name, std::string_view content) const {
        std::ofstream(at(name), std::ios::binary) << content;
    }
    std::string read(std::string_view name) const {
        std::ifstream in(at(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    std::string path_;
};

// How many descriptors this process has open.
inline std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

} // namespace fastserve::test
