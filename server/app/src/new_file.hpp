// A file that is being made: it has its name only when it is complete.
//
// Thread safety: none; it may be used on one thread after another. All of it may wait for a disk.
//
// Invariants: unless publish() has succeeded, destroying it leaves nothing behind; nothing that exists is replaced,
// written to or followed, and nothing outside the directory is touched.
#pragma once

#include <fastserve/types.hpp>

#include <string>
#include <string_view>

namespace fastserve::detail {

class new_file {
public:
    // Without `unnamed` it has a name of its own until it is published, as it has where the file system knows no other.
    explicit new_file(bool unnamed = true) noexcept : unnamed_(unnamed) {}
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;
    ~new_file();

    // Once, before all else.
    error_code open(const std::string& directory);
    bool is_open() const noexcept { return file_ >= 0; }
    error_code write(std::string_view) noexcept;

    // Gives it its name, one component of a path, and closes it; file_exists if that is taken.
    error_code publish(const std::string& name) noexcept;
    // The same, but with something before the extension where the name is taken; `name` is then what it was given.
    error_code publish_beside(std::string& name);

private:
    error_code link(const char* name) noexcept;
    void close() noexcept;

    int directory_ = -1;
    int file_ = -1;
    bool unnamed_;
    std::string temporary_; // its name until then; empty: none
};

} // namespace fastserve::detail
