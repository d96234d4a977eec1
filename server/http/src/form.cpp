#include <fastserve/http/form.hpp>

#include <fastserve/http/percent.hpp>

#include <algorithm>

namespace fastserve::http {
namespace {

// The pair that begins at `at`, as it stands.
std::string_view raw_pair(std::string_view text, std::size_t at) noexcept {
    const std::string_view rest = text.substr(at);
    return rest.substr(0, rest.find('&'));
}

// Where the next pair that is not empty begins; text.size() if there is none.
std::size_t find_pair(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && text[at] == '&') ++at;
    return at;
}

// Decodes one character at a time, so that a name of any length needs no memory.
bool decodes_to(std::string_view raw, std::string_view plain) noexcept {
    std::size_t size = 0;
    while (!raw.empty()) {
        const std::string_view unit = raw.substr(0, raw.front() == '%' ? 3 : 1);
        char c[3];
        if (form_decode(unit, c) != 1 || size == plain.size() || c[0] != plain[size]) return false;
        ++size;
        raw.remove_prefix(unit.size());
    }
    return size == plain.size();
}

} // namespace

std::optional<std::size_t> form_decode(std::string_view in, char* out) noexcept {
    if (in.find('\0') != std::string_view::npos) return std::nullopt;
    std::transform(in.begin(), in.end(), out, [](char c) { return c == '+' ? ' ' : c; });
    return percent_decode({out, in.size()}, out);
}

std::optional<std::string_view> form_reader::decode(std::size_t at, std::size_t size) const noexcept {
    const std::string_view raw = text_.substr(at, size);
    if (raw.find_first_of("%+") == std::string_view::npos)
        return raw.find('\0') == std::string_view::npos ? std::optional(raw) : std::nullopt;
    // Where it stands in the text, so that in place nothing that is still to be read is overwritten.
    const auto decoded = form_decode(raw, room_ + at);
    if (!decoded) return std::nullopt;
    return std::string_view(room_ + at, *decoded);
}

form_status form_reader::next(form_pair& out) noexcept {
    at_ = find_pair(text_, at_);
    if (at_ == text_.size()) return form_status::end;
    if (pairs_left_ == 0) return form_status::too_many;
    --pairs_left_;
    const std::string_view pair = raw_pair(text_, at_);
    const std::size_t begin = at_, name_size = std::min(pair.find('='), pair.size());
    const std::size_t value_at = std::min(name_size + 1, pair.size());
    at_ += pair.size();
    const auto name = decode(begin, name_size);
    const auto value = decode(begin + value_at, pair.size() - value_at);
    out = {name.value_or(std::string_view{}), name && value ? *value : std::string_view{}};
    return name && value ? form_status::pair : form_status::malformed;
}

std::size_t count_form_pairs(std::string_view text) noexcept {
    std::size_t count = 0;
    for (std::size_t at = find_pair(text, 0); at < text.size(); ++count)
        at = find_pair(text, at + raw_pair(text, at).size());
    return count;
}

std::optional<std::string_view> find_form_value(std::string_view text, std::string_view name) noexcept {
    for (std::size_t at = find_pair(text, 0); at < text.size();) {
        const std::string_view pair = raw_pair(text, at);
        const std::size_t name_size = std::min(pair.find('='), pair.size());
        if (decodes_to(pair.substr(0, name_size), name)) return pair.substr(std::min(name_size + 1, pair.size()));
        at = find_pair(text, at + pair.size());
    }
    return std::nullopt;
}

} // namespace fastserve::http
