// From the path of a request to a name below a folder.
//
// Pure: no file is touched. Any thread.
#pragma once

#include <fastserve/files/error.hpp>

#include <cstddef>
#include <string_view>

namespace fastserve::files {

inline constexpr std::size_t longest_name = 255;  // NAME_MAX
inline constexpr std::size_t longest_path = 2048; // decoded

struct path_rules {
    // Whether names that begin with a dot are served.
    bool hidden = false;
    // Whether ".well-known" (RFC 8615) is served all the same, as the first name of a path. What is hidden in it stays
    // so.
    bool well_known = true;
};

// A path that can lead nowhere but down: names joined by single slashes, none of which is "", "." or "..".
//
// One URL for one file: nothing is resolved, merged or repaired. Clients resolve dot segments before they ask (RFC 3986
// 5.2.4); who sends one, as it is or encoded, wants something else. A '\' is a separator to some, and is in no name. An
// encoded slash does not separate, and so is in no name either.
class local_path {
public:
    // Reads what is behind the prefix of a folder, without the slash that ends the prefix, still percent-encoded:
    // "css/site.css" of "/assets/css/site.css". Empty: the folder itself.
    explicit local_path(std::string_view encoded, const path_rules& rules = {}) noexcept;
    local_path(const local_path&) = delete;
    local_path& operator=(const local_path&) = delete;

    // bad_encoding, no_such_name, hidden, or ok. The path is empty after an error.
    errc error() const noexcept { return error_; }

    // True for the folder itself and for what ended in a slash: a directory is meant, and nothing else.
    bool names_directory() const noexcept { return directory_; }

    // Decoded, without a slash at either end. Empty for the folder itself.
    std::string_view text() const noexcept { return {text_, size_}; }
    // The same with a NUL behind it, which is not in it; "." for the folder itself.
    const char* c_str() const noexcept { return size_ != 0 ? text_ : "."; }

    // For names beside or below it. There is room for one name of at most longest_name bytes and one suffix of at most
    // longest_suffix; cut() takes them off again.
    static constexpr std::size_t longest_suffix = 8;
    void add_name(std::string_view name) noexcept;
    void add_suffix(std::string_view suffix) noexcept;
    void cut(std::size_t size) noexcept;

private:
    errc take(std::string_view encoded, bool first, const path_rules& rules) noexcept;

    // The longest path, and behind it a slash, a name before it is decoded, a suffix, and a NUL.
    char text_[longest_path + 1 + 3 * longest_name + longest_suffix + 1];
    std::size_t size_ = 0;
    errc error_ = errc::ok;
    bool directory_ = true;
};

} // namespace fastserve::files
