#include <fastserve/files/folder.hpp>

#include <fastserve/files/media_types.hpp>

#include "system.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace fastserve::files {
namespace {

finding refusal(errc e) noexcept {
    finding f;
    f.error = e;
    return f;
}

bool is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest_name && text != "." && text != ".." &&
           text.find('/') == std::string_view::npos && text.find('\0') == std::string_view::npos;
}

bool is_field_value(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `small` is in lower case.
bool equals_ignoring_case(std::string_view text, std::string_view small) noexcept {
    return std::equal(text.begin(), text.end(), small.begin(), small.end(),
                      [](char a, char b) { return lower(a) == b; });
}

bool are_sound(const folder_options& o) noexcept {
    return std::all_of(o.index.begin(), o.index.end(), is_name) &&
           std::all_of(o.types.begin(), o.types.end(),
                       [](const type_rule& r) { return !r.extension.empty() && is_field_value(r.type); }) &&
           std::all_of(o.caching.begin(), o.caching.end(), [](const cache_rule& r) { return is_field_value(r.value); });
}

} // namespace

std::error_code folder::open(const char* path, folder_options options) {
    if (!are_sound(options)) return errc::bad_options;
    for (type_rule& rule : options.types)
        std::transform(rule.extension.begin(), rule.extension.end(), rule.extension.begin(), lower);
    int fd;
    do fd = ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return {errno, std::system_category()};
    root_ = descriptor(fd);
    links_ = available_resolution(fd, options.links);
    options_ = std::move(options);
    return {};
}

finding folder::find(std::string_view path, const coding_order& accepts) const noexcept {
    if (!root_) return refusal(errc::not_found);
    local_path local(path, options_.names);
    if (local.error() != errc::ok) return refusal(local.error());
    if (local.names_directory()) return find_in_directory(local, accepts);
    finding f = open_file(local.c_str());
    if (f.what == found::file) complete(f, local, accepts);
    return f;
}

finding folder::find_in_directory(local_path& path, const coding_order& accepts) const noexcept {
    const std::size_t size = path.text().size();
    for (const std::string& index : options_.index) {
        path.add_name(index);
        finding f = open_file(path.c_str());
        if (f.what == found::file) {
            complete(f, path, accepts);
            return f;
        }
        path.cut(size);
        // One that is there and may not be read is the answer, and so is a fault that is ours.
        if (f.what == found::nothing && status_of(f.error) != 404) return f;
    }
    opened directory = open_beneath(root_.get(), path.c_str(),
                                    (options_.listing ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC, links_);
    if (!directory.fd) return refusal(errc_of(directory.error));
    if (!options_.listing) return refusal(errc::not_listed);
    finding f;
    f.what = found::directory;
    f.fd = std::move(directory.fd);
    return f;
}

// Looks at it before it is opened, which a FIFO's writer and a device would notice. It is then opened by its name once
// more, and may have become something else meanwhile: O_NONBLOCK and a second look see to that. Reopening what was
// looked at, by /proc, would spare the look, but not everybody has /proc.
finding folder::open_file(const char* name) const noexcept {
    const opened seen = open_beneath(root_.get(), name, O_PATH | O_CLOEXEC, links_);
    if (!seen.fd) return refusal(errc_of(seen.error));
    struct ::stat status;
    if (::fstat(seen.fd.get(), &status) != 0) return refusal(errc_of(errno));
    if (S_ISLNK(status.st_mode)) return refusal(errc::outside);
    finding f;
    if (S_ISDIR(status.st_mode)) {
        f.what = found::redirect;
        return f;
    }
    if (!S_ISREG(status.st_mode)) return refusal(errc::not_a_file);
    opened file = open_beneath(root_.get(), name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, links_);
    if (!file.fd) return refusal(errc_of(file.error));
    if (::fstat(file.fd.get(), &status) != 0) return refusal(errc_of(errno));
    if (!S_ISREG(status.st_mode)) return refusal(errc::not_a_file);
    f.what = found::file;
    f.fd = std::move(file.fd);
    f.content.state = state_of(status);
    return f;
}

// What is known by its name, and a coded form in its place.
void folder::complete(finding& file, local_path& path, const coding_order& accepts) const noexcept {
    file.content.type = type_of(path.text());
    file.content.cache_control = cache_control_of(options_.caching, path.text());
    if (options_.precompressed == nullptr || !options_.precompressed(file.content.type)) return;
    file.content.varies = true;
    const std::size_t size = path.text().size();
    for (const http::content_coding c : accepts.codings()) {
        path.add_suffix(suffix_of(c));
        finding coded = open_file(path.c_str());
        path.cut(size);
        if (coded.what != found::file || coded.content.state.modified < file.content.state.modified) continue;
        file.fd = std::move(coded.fd);
        file.content.state = coded.content.state;
        file.content.coding = c;
        return;
    }
}

std::string_view folder::type_of(std::string_view path) const noexcept {
    const std::string_view extension = extension_of(path);
    for (const type_rule& rule : options_.types)
        if (equals_ignoring_case(extension, rule.extension)) return rule.type;
    return media_type_of(path);
}

} // namespace fastserve::files
