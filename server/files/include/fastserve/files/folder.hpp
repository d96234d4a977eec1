// A folder of files as a server sees it: from the path of a request to an open file.
//
// What this promises to whoever sends the path, and to whoever can write into the folder:
//  - nothing outside the folder is opened, whatever names, links or encodings lead there (path.hpp, beneath.hpp);
//  - what is opened is a regular file. Anything else is looked at but not opened: a FIFO stops nobody and wakes nobody,
//    a device notices nothing;
//  - opening blocks for as long as the file system takes to find a name, and no longer.
#pragma once

#include <fastserve/files/beneath.hpp>
#include <fastserve/files/cache_rules.hpp>
#include <fastserve/files/coding_order.hpp>
#include <fastserve/files/descriptor.hpp>
#include <fastserve/files/error.hpp>
#include <fastserve/files/path.hpp>
#include <fastserve/files/representation.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace fastserve::files {

struct type_rule {
    std::string extension{}; // without a dot, any case
    std::string type{};      // Content-Type
};

struct folder_options {
    // What is served for a directory: the first of these that is a regular file in it.
    std::vector<std::string> index = {"index.html"};
    // Whether a directory without an index is found::directory, for a listing, and not errc::not_listed.
    bool listing = false;
    path_rules names{};
    resolution links = resolution::within;
    // For which media types a precompressed file beside the original is looked for (coding_order); null: for none.
    // fastserve::coding::worth_coding is made for this: what cannot shrink costs no search.
    bool (*precompressed)(std::string_view type) noexcept = nullptr;
    // Before the table of media_types.hpp.
    std::vector<type_rule> types{};
    std::vector<cache_rule> caching{};
};

enum class found : std::uint8_t {
    nothing,
    file,
    directory, // without an index: to be listed
    redirect,  // a directory, asked for without the slash: its URL is the same with one (301 or 308)
};

struct finding {
    found what = found::nothing;
    errc error = errc::ok; // with found::nothing: why
    descriptor fd{};       // of a file, to read it (O_NONBLOCK is set, which files ignore); of a directory, to list it
    representation content{}; // of a file
};

// Thread safety: find() may be called by any number of threads at once; open() by one, before.
class folder {
public:
    folder() noexcept = default;

    // Takes hold of the directory at `path`, for as long as the object lives: what is later put in its place under the
    // same name is another one. Links in `path` are followed.
    // Returns what open() says, or errc::bad_options; the object is then unchanged. May throw std::bad_alloc.
    std::error_code open(const char* path, folder_options options = {});

    // What `path` leads to; see local_path for what it is. Views of the result live as long as the folder.
    //
    // A precompressed file counts if it is regular and not older than the original, to the second: compressors that
    // copy the time of the original do not all copy its fraction. The first of `accepts` that is there is taken.
    //
    // A file is five system calls, and five more for each coded one that counts; one that is missing is one more.
    finding find(std::string_view path, const coding_order& accepts = {}) const noexcept;

    const folder_options& options() const noexcept { return options_; }
    // How links are resolved: folder_options::links, or resolution::walk where the system cannot do that.
    resolution links() const noexcept { return links_; }
    explicit operator bool() const noexcept { return static_cast<bool>(root_); }

private:
    finding find_in_directory(local_path& path, const coding_order& accepts) const noexcept;
    finding open_file(const char* name) const noexcept;
    void complete(finding& file, local_path& path, const coding_order& accepts) const noexcept;
    std::string_view type_of(std::string_view path) const noexcept;

    descriptor root_;
    resolution links_ = resolution::walk;
    folder_options options_;
};

} // namespace fastserve::files
