// A folder of files for a test, which goes with it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace files_test {

class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "fastserve-files-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
        // For who is not its owner, too.
        std::filesystem::permissions(path_, std::filesystem::perms(0755));
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const { return path_; }
    std::string at(std::string_view name) const { return (path_ / name).string(); }

    void folder(std::string_view name) const { std::filesystem::create_directories(path_ / name); }
    // Makes the folders that it is in.
    void file(std::string_view name, std::string_view content) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << content;
    }
    void link(std::string_view name, std::string_view to) const { std::filesystem::create_symlink(to, path_ / name); }
    void fifo(std::string_view name) const { EXPECT_EQ(::mkfifo(at(name).c_str(), 0666), 0); }
    // When it was changed, in Unix time.
    void changed(std::string_view name, std::int64_t seconds, long nanoseconds = 0) const {
        const timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
        EXPECT_EQ(::utimensat(AT_FDCWD, at(name).c_str(), times, 0), 0);
    }

private:
    std::filesystem::path path_;
};

// Permissions bind everybody but root: while this lives, root is nobody.
class no_root {
public:
    no_root() : was_root_(::geteuid() == 0) { EXPECT_EQ(was_root_ ? ::seteuid(65534) : 0, 0); }
    no_root(const no_root&) = delete;
    no_root& operator=(const no_root&) = delete;
    ~no_root() { EXPECT_EQ(was_root_ ? ::seteuid(0) : 0, 0); }

private:
    bool was_root_;
};

} // namespace files_test
