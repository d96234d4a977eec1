#include <fastserve/files/path.hpp>

#include <fastserve/http/percent.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace fastserve::files {

local_path::local_path(std::string_view encoded, const path_rules& rules) noexcept {
    text_[0] = '\0';
    if (encoded.empty()) return;
    std::string_view rest = encoded;
    for (bool first = true;; first = false) {
        const std::string_view name = rest.substr(0, rest.find('/'));
        error_ = take(name, first, rules);
        if (error_ != errc::ok) {
            cut(0);
            return;
        }
        rest.remove_prefix(name.size());
        directory_ = !rest.empty();
        if (rest.size() <= 1) return;
        rest.remove_prefix(1);
    }
}

errc local_path::take(std::string_view encoded, bool first, const path_rules& rules) noexcept {
    if (encoded.size() > 3 * longest_name) return errc::no_such_name; // whatever it stands for
    std::size_t begin = size_;
    if (!first) text_[begin++] = '/';
    const auto size = http::percent_decode(encoded, text_ + begin);
    if (!size) return errc::bad_encoding;
    const std::string_view name(text_ + begin, *size);
    if (name.find('\0') != std::string_view::npos) return errc::bad_encoding;
    if (name.empty() || name == "." || name == ".." || name.find_first_of("/\\") != std::string_view::npos)
        return errc::no_such_name;
    if (name.size() > longest_name || begin + name.size() > longest_path) return errc::no_such_name;
    if (name.front() == '.' && !rules.hidden && !(rules.well_known && first && name == ".well-known"))
        return errc::hidden;
    size_ = begin + name.size();
    text_[size_] = '\0';
    return errc::ok;
}

void local_path::add_name(std::string_view name) noexcept {
    assert(size_ <= longest_path && name.size() <= longest_name);
    if (size_ != 0) text_[size_++] = '/';
    std::memcpy(text_ + size_, name.data(), name.size());
    size_ += name.size();
    text_[size_] = '\0';
}

void local_path::add_suffix(std::string_view suffix) noexcept {
    assert(suffix.size() <= longest_suffix && size_ <= longest_path + 1 + longest_name);
    std::memcpy(text_ + size_, suffix.data(), suffix.size());
    size_ += suffix.size();
    text_[size_] = '\0';
}

void local_path::cut(std::size_t size) noexcept {
    size_ = std::min(size, size_);
    text_[size_] = '\0';
}

} // namespace fastserve::files
