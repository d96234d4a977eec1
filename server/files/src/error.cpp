#include <fastserve/files/error.hpp>

#include <fastserve/http/error_category.hpp>

namespace fastserve::files {

std::string_view message_of(errc e) noexcept {
    switch (e) {
    case errc::ok: return "success";
    case errc::bad_encoding: return "malformed percent-encoding in the path of a file";
    case errc::no_such_name: return "path that no file here can have";
    case errc::hidden: return "hidden file";
    case errc::not_found: return "no such file";
    case errc::outside: return "link that leaves the folder, or is not followed";
    case errc::not_a_file: return "not a regular file";
    case errc::denied: return "no permission to read the file";
    case errc::not_listed: return "directory without an index, and listing is off";
    case errc::busy: return "no descriptors or no memory for a file";
    case errc::failed: return "file could not be read";
    case errc::bad_options: return "options of a folder with a bad index, type or Cache-Control";
    }
    return "unknown error";
}

const std::error_category& files_category() noexcept {
    static const http::error_category<errc> instance("fastserve.files");
    return instance;
}

} // namespace fastserve::files
