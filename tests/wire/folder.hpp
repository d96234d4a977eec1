// The folder of files that the fixture serves under /static/, with what must not be served in it and beside it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wire {

// Made in the folder for temporary files, and removed with the object.
//
//     secret.txt           outside of what is served
//     root/file.txt        a to z, last changed at the first second of 2024
//     root/sub/inner.txt
//     root/.hidden
//     root/link-out        a symbolic link to secret.txt
//     root/fifo            a pipe that nobody writes to
class folder {
public:
    folder() {
        std::string made = (std::filesystem::temp_directory_path() / "fastserve-wire-XXXXXX").string();
        if (!::mkdtemp(made.data())) throw std::system_error(errno, std::generic_category(), made);
        top_ = made;
        root_ = top_ / "root";
        std::filesystem::create_directories(root_ / "sub");
        write(top_ / "secret.txt", "SECRET\n");
        write(root_ / "file.txt", "abcdefghijklmnopqrstuvwxyz");
        write(root_ / "sub" / "inner.txt", "inner\n");
        write(root_ / ".hidden", "SECRET\n");
        std::filesystem::create_symlink("../secret.txt", root_ / "link-out");
        if (::mkfifo((root_ / "fifo").c_str(), 0600) != 0)
            throw std::system_error(errno, std::generic_category(), "mkfifo");
        const timespec then[2] = {{1'704'067'200, 0}, {1'704'067'200, 0}};
        if (::utimensat(AT_FDCWD, (root_ / "file.txt").c_str(), then, 0) != 0)
            throw std::system_error(errno, std::generic_category(), "utimensat");
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(top_, ignored);
    }

    const std::filesystem::path& root() const noexcept { return root_; }

private:
    static void write(const std::filesystem::path& to, std::string_view text) { std::ofstream(to) << text; }

    std::filesystem::path top_;
    std::filesystem::path root_;
};

} // namespace wire
