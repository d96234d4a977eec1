// One form of a file's content, as much as is to be known to answer for it.
#pragma once

#include <fastserve/http/content_coding.hpp>

#include <cstdint>
#include <string_view>

namespace fastserve::files {

// What tells one state of a file from another.
struct file_state {
    std::uint64_t size = 0;        // bytes
    std::int64_t modified = 0;     // seconds of Unix time
    std::uint32_t modified_ns = 0; // of the second
    std::uint64_t inode = 0;
    std::uint64_t device = 0;

    friend bool operator==(const file_state&, const file_state&) = default;
};

// Views belong to whoever made it: the options of a folder, or static text.
struct representation {
    file_state state{}; // of the file whose bytes are sent: the coded one
    http::content_coding coding = http::content_coding::identity;
    std::string_view type{};          // Content-Type
    std::string_view cache_control{}; // empty: the field is not sent
    bool varies = false;              // another Accept-Encoding could have led to another file
};

} // namespace fastserve::files
