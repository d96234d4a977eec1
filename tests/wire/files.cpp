#include "files.hpp"

#include <fastserve/http/date.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace wire {
namespace {

using fastserve::request;
using fastserve::response;

class descriptor {
public:
    explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_;
};

// Segment by segment, so that no link is followed on the way either. Does not wait for the writer of a pipe.
descriptor open_below(const std::filesystem::path& root, std::string_view name) {
    descriptor at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (at) {
        const std::size_t slash = name.find('/');
        const std::string segment(name.substr(0, slash));
        // Besides what is hidden, this refuses "." and "..".
        if (segment.empty() || segment.front() == '.') return descriptor();
        const bool last = slash == std::string_view::npos;
        const int kind = last ? O_NONBLOCK : O_DIRECTORY;
        at = descriptor(::openat(at.get(), segment.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
        if (last) break;
        name.remove_prefix(slash + 1);
    }
    return at;
}

std::optional<std::string> read_all(int fd, std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t have = 0; have < size;) {
        const ssize_t n = ::read(fd, text.data() + have, size - have);
        if (n <= 0) return std::nullopt;
        have += static_cast<std::size_t>(n);
    }
    return text;
}

std::string date_of(std::time_t t) {
    char text[fastserve::http::date_bytes];
    fastserve::http::format_date(t, text);
    return {text, sizeof text};
}

// The three forms of RFC 9110 5.6.7. The library of C makes a two-digit year one of 1969 to 2068.
std::optional<std::time_t> parse_date(std::string_view value) {
    const std::string text(value);
    for (const char* form : {"%a, %d %b %Y %T GMT", "%A, %d-%b-%y %T GMT", "%a %b %e %T %Y"}) {
        std::tm parts{};
        const char* const end = ::strptime(text.c_str(), form, &parts);
        if (end && *end == '\0') return ::timegm(&parts);
    }
    return std::nullopt;
}

struct validators {
    std::string tag;
    std::time_t changed;
};

// Whether a list of entity tags, or "*", has this one (RFC 9110 8.8.3.2).
bool lists(std::string_view list, std::string_view tag, bool weakly) {
    if (list == "*") return true;
    while (!list.empty()) {
        if (list.front() == ' ' || list.front() == '\t' || list.front() == ',') {
            list.remove_prefix(1);
            continue;
        }
        const bool weak = list.starts_with("W/");
        if (weak) list.remove_prefix(2);
        const std::size_t end = list.starts_with('"') ? list.find('"', 1) : std::string_view::npos;
        if (end == std::string_view::npos) return false;
        if ((weakly || !weak) && list.substr(0, end + 1) == tag) return true;
        list.remove_prefix(end + 1);
    }
    return false;
}

// 304 or 412 where a condition says so, else 0: the order of RFC 9110 13.2.2. A date that is none is no condition.
int judge(const request& q, const validators& v) {
    if (const auto tags = q.field("If-Match")) {
        if (!lists(*tags, v.tag, false)) return 412;
    } else if (const auto since = q.field("If-Unmodified-Since")) {
        const auto date = parse_date(*since);
        if (date && v.changed > *date) return 412;
    }
    if (const auto tags = q.field("If-None-Match")) {
        if (lists(*tags, v.tag, true)) return 304;
    } else if (const auto since = q.field("If-Modified-Since")) {
        const auto date = parse_date(*since);
        if (date && v.changed <= *date) return 304;
    }
    return 0;
}

bool range_applies(const request& q, const validators& v) {
    if (q.method() != fastserve::http::verb::get) return false;
    const auto condition = q.field("If-Range");
    if (!condition) return true;
    if (condition->starts_with('"') || condition->starts_with("W/")) return *condition == v.tag;
    return parse_date(*condition) == v.changed;
}

struct span {
    std::uint64_t first, last;
};
struct range {
    enum { none, part, unsatisfiable } kind;
    span bytes;
};

// Digits alone; what does not fit is as large as can be.
std::optional<std::uint64_t> number(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    std::uint64_t n = UINT64_MAX;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

// One range of bytes. What is malformed, of another unit, or a set of several ranges is not taken (RFC 9110 14.2).
range parse_range(std::string_view value, std::uint64_t size) {
    constexpr range ignored{range::none, {}};
    constexpr std::string_view unit = "bytes=";
    if (!value.starts_with(unit)) return ignored;
    value.remove_prefix(unit.size());
    const std::size_t dash = value.find('-');
    if (dash == std::string_view::npos) return ignored;
    const auto first = number(value.substr(0, dash)), last = number(value.substr(dash + 1));
    if (dash == 0) {
        if (!last) return ignored;
        if (*last == 0 || size == 0) return {range::unsatisfiable, {}};
        return {range::part, {size - std::min(*last, size), size - 1}};
    }
    const bool open = dash + 1 == value.size();
    if (!first || (!last && !open) || (last && *last < *first)) return ignored;
    if (*first >= size) return {range::unsatisfiable, {}};
    return {range::part, {*first, open ? size - 1 : std::min(*last, size - 1)}};
}

void not_found(response& r) {
    r.status(404);
    r.text("Not Found\n");
}

} // namespace

void serve_file(const std::filesystem::path& root, request& q, response& r) {
    const std::string_view name = q.param("name");
    const descriptor file = name.find('\\') == std::string_view::npos ? open_below(root, name) : descriptor();
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return not_found(r);

    const auto size = static_cast<std::uint64_t>(about.st_size);
    const validators v{'"' + std::to_string(about.st_mtim.tv_sec) + '-' + std::to_string(size) + '"',
                       about.st_mtim.tv_sec};
    r.set("ETag", v.tag);
    r.set("Last-Modified", date_of(v.changed));
    if (const int status = judge(q, v); status != 0) {
        r.status(status);
        return;
    }
    r.set("Accept-Ranges", "bytes");
    const auto wanted = range_applies(q, v) ? q.field("Range") : std::nullopt;
    const range part = wanted ? parse_range(*wanted, size) : range{range::none, {}};
    if (part.kind == range::unsatisfiable) {
        r.status(416).set("Content-Range", "bytes */" + std::to_string(size));
        return;
    }
    auto text = read_all(file.get(), size);
    if (!text) {
        r.status(500);
        return;
    }
    if (part.kind == range::part) {
        const auto [first, last] = part.bytes;
        r.status(206).set("Content-Range",
                          "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + std::to_string(size));
        text = text->substr(first, last - first + 1);
    }
    r.bytes(std::move(*text), "text/plain; charset=utf-8");
}

} // namespace wire
