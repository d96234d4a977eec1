#include "new_file.hpp"

#include <fastserve/http/safe_filename.hpp>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fastserve::detail {

namespace {

constexpr mode_t owners_alone = S_IRUSR | S_IWUSR;
constexpr int tries = 16;                     // each with another number
constexpr std::size_t longest_extension = 16; // as safe_filename() has it
constexpr std::size_t longest_number = 1 + 8; // '-' and 32 bits

error_code last_error() noexcept {
    return {errno, std::system_category()};
}

// "-" and 32 random bits: nobody can take all names in advance.
std::optional<std::string> random_number() {
    std::uint32_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return std::nullopt;
    char text[longest_number] = {'-'};
    const char* const end = std::to_chars(text + 1, text + sizeof text, bits, 16).ptr;
    return std::string(text, static_cast<std::size_t>(end - text));
}

// "a.txt" and "-1f" are "a-1f.txt". A long stem is cut, at the beginning of a character.
std::string put_in(std::string_view name, std::string_view number) {
    const std::size_t dot = name.rfind('.');
    const bool extends = dot != std::string_view::npos && dot != 0 && name.size() - dot <= longest_extension;
    const std::string_view extension = extends ? name.substr(dot) : std::string_view{};
    std::string_view stem = name.substr(0, name.size() - extension.size());
    if (const std::size_t most = http::safe_filename_bytes - number.size() - extension.size(); stem.size() > most) {
        std::size_t cut = most;
        while (cut != 0 && (static_cast<unsigned char>(stem[cut]) & 0xc0) == 0x80) --cut;
        stem = stem.substr(0, cut);
    }
    return std::string(stem).append(number).append(extension);
}

} // namespace

new_file::~new_file() {
    close();
}

void new_file::close() noexcept {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
    temporary_.clear();
    if (directory_ >= 0) ::close(std::exchange(directory_, -1));
}

error_code new_file::open(const std::string& directory) {
    directory_ = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory_ < 0) return last_error();
    if (unnamed_) {
        file_ = ::openat(directory_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, owners_alone);
        if (file_ >= 0) return {};
        // Unknown to the file system, or to the kernel.
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return last_error();
        unnamed_ = false;
    }
    for (int i = 0; i != tries; ++i) {
        const auto number = random_number();
        if (!number) return last_error();
        std::string name = ".fastserve" + *number;
        file_ = ::openat(directory_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, owners_alone);
        if (file_ >= 0) {
            temporary_ = std::move(name);
            return {};
        }
        if (errno != EEXIST) break;
    }
    return last_error();
}

error_code new_file::write(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file_, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return last_error();
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

error_code new_file::link(const char* name) noexcept {
    if (unnamed_) {
        char own[32];
        std::snprintf(own, sizeof own, "/proc/self/fd/%d", file_);
        if (::linkat(AT_FDCWD, own, directory_, name, AT_SYMLINK_FOLLOW) == 0) return {};
        // Without /proc. This needs a capability, or a new kernel.
        if (errno == ENOENT && ::linkat(file_, "", directory_, name, AT_EMPTY_PATH) == 0) return {};
        return last_error();
    }
    if (::renameat2(directory_, temporary_.c_str(), directory_, name, RENAME_NOREPLACE) == 0) {
        temporary_.clear();
        return {};
    }
    // Where the file system cannot promise that, a second name can.
    if ((errno != EINVAL && errno != ENOSYS) || ::linkat(directory_, temporary_.c_str(), directory_, name, 0) != 0)
        return last_error();
    return {};
}

error_code new_file::publish(const std::string& name) noexcept {
    const error_code failed = link(name.c_str());
    if (!failed) close();
    return failed;
}

error_code new_file::publish_beside(std::string& name) {
    error_code failed = publish(name);
    for (int i = 0; i != tries && failed == std::errc::file_exists; ++i) {
        const auto number = random_number();
        if (!number) return last_error();
        std::string other = put_in(name, *number);
        failed = publish(other);
        if (!failed) name = std::move(other);
    }
    return failed;
}

} // namespace fastserve::detail
