#include <fastserve/http/field_block.hpp>

#include "field_chars.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace fastserve::http {
namespace {

constexpr std::size_t first_capacity = 512;
constexpr std::string_view line_end = "\r\n";

char* put(char* out, std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

// A name that is asked for may be no name: "a: b" is not that of the line "a: b: c".
bool has_name(std::string_view line, std::string_view name) noexcept {
    return line.size() > name.size() && line[name.size()] == ':' &&
           equal_ignoring_case(line.substr(0, name.size()), name) && name.find(':') == std::string_view::npos;
}

// The line that `text` begins with, with its CRLF: a block has no other LF than those that end lines.
std::string_view first_line(std::string_view text) noexcept {
    return text.substr(0, text.find('\n') + 1);
}

} // namespace

errc field_block::add(std::string_view name, std::string_view value) {
    if (!is_token(name) || frames_a_message(name)) return errc::bad_field_name;
    return append(name, ": ", value);
}

errc field_block::add_known(std::string_view prefix, std::string_view value) {
    return append(prefix, {}, value);
}

errc field_block::set(std::string_view name, std::string_view value) {
    const std::uint32_t old_size = size_;
    const std::size_t name_size = name.size();
    if (const errc error = add(name, value); error != errc::ok) return error;
    // The new line's spelling from here on: the caller's may have been inside the block, which may have moved.
    if (old_size != 0) remove_before(old_size, {data_.get() + old_size, name_size});
    return errc::ok;
}

bool field_block::remove(std::string_view name) noexcept {
    return remove_before(size_, name);
}

std::optional<std::string_view> field_block::get(std::string_view name) const noexcept {
    std::string_view rest = wire();
    while (!rest.empty()) {
        const std::string_view line = first_line(rest);
        if (has_name(line, name)) {
            const std::size_t skipped = name.size() + 2;
            return line.substr(skipped, line.size() - skipped - line_end.size());
        }
        rest.remove_prefix(line.size());
    }
    return std::nullopt;
}

// `name` and `value` may lie inside the block: nothing is overwritten or freed before both are copied.
errc field_block::append(std::string_view name, std::string_view separator, std::string_view value) {
    if (!is_value(value)) return errc::bad_field_value;
    value = trim(value);
    const std::size_t needed = size_ + name.size() + separator.size() + value.size() + line_end.size();
    std::unique_ptr<char[]> old;
    if (needed > capacity_) [[unlikely]]
        old = grow(needed);
    char* out = put(data_.get() + size_, name);
    out = put(out, separator);
    out = put(out, value);
    put(out, line_end);
    size_ = static_cast<std::uint32_t>(needed);
    return errc::ok;
}

// Returns the former storage, for the caller to free.
std::unique_ptr<char[]> field_block::grow(std::size_t needed) {
    if (needed > std::numeric_limits<std::uint32_t>::max() / 2) throw std::bad_alloc();
    const std::size_t capacity = std::max({first_capacity, std::size_t{2} * capacity_, needed});
    auto larger = std::make_unique_for_overwrite<char[]>(capacity + padding);
    put(larger.get(), wire());
    capacity_ = static_cast<std::uint32_t>(capacity);
    larger.swap(data_);
    return larger;
}

void field_block::release() noexcept {
    data_.reset();
    capacity_ = 0;
}

// Removes the lines of that name among those that begin before `end`, and closes the gaps. `name` may lie behind `end`:
// what is there moves last.
bool field_block::remove_before(std::uint32_t end, std::string_view name) noexcept {
    char* const begin = data_.get();
    std::size_t kept = 0;
    std::size_t at = 0;
    while (at < end) {
        const std::size_t length = first_line({begin + at, size_ - at}).size();
        if (!has_name({begin + at, length}, name)) {
            if (kept != at) std::memmove(begin + kept, begin + at, length);
            kept += length;
        }
        at += length;
    }
    if (kept == at) return false;
    std::memmove(begin + kept, begin + at, size_ - at);
    size_ -= static_cast<std::uint32_t>(at - kept);
    return true;
}

} // namespace fastserve::http
