// Serving the files of a folder: router::files().
#pragma once

#include <fastserve/types.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace fastserve {

class request;
class response;

struct files_options {
    // What is served for a directory: the first of these files that is in it. They are not for links to name.
    std::vector<std::string> index{"index.html"};
    bool listing{}; // a page of the names in a directory without such a file; else it is 403
    bool hidden{};  // names that begin with a dot; without it they are 404, all but .well-known (RFC 8615)
    // A file below the folder that answers 200 for what is not there, as an application in one page wants it; empty:
    // 404.
    std::string fallback{};
    // Whether name.br, name.zst and name.gz, where they are not older than name, are sent to who accepts them.
    bool precompressed{true};

    struct rule {
        std::string pattern{}; // of the name below the folder, '*' for any bytes: "*.html", "assets/*"
        std::string value{};
    };
    std::vector<rule> cache_control{}; // the value of the first whose pattern fits; none: the field is not sent
    std::vector<rule> types{};         // Content-Type by extension ("md"), before the built-in table

    // Small files (64 KiB) are kept in memory by each worker, and looked at again after a second. In bytes; 0: none.
    std::size_t cache{16 * 1024 * 1024};
};

namespace detail {

// The handler of "prefix/{path...}".
class file_handler {
public:
    // Throws std::system_error if the folder cannot be opened, std::invalid_argument for an option that cannot be.
    file_handler(const std::string& folder, const files_options&);
    ~file_handler();
    file_handler(file_handler&&) noexcept;
    file_handler(const file_handler&);

    awaitable<> operator()(request&, response&) const;

private:
    struct site;
    std::shared_ptr<site> site_;
};

// "/prefix" is "/prefix/", or the links of its page lead beside it.
void redirect_to_directory(request&, response&);

} // namespace detail

} // namespace fastserve
