#include <fastserve/files/listing.hpp>

#include <fastserve/http/percent.hpp>

#include "listing_text.hpp"
#include "system.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace fastserve::files {
namespace {

using key = listing_order::key;

struct entry {
    std::string name;
    bool is_directory = false;
    std::uint64_t size = 0;
    std::int64_t modified = 0;
};

struct contents {
    std::vector<entry> entries;
    bool complete = true;
};

struct close_directory {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

// Whether a path with this name in it would be served.
bool can_be_asked_for(std::string_view name, const path_rules& rules) noexcept {
    return name != "." && name != ".." && name.find('\\') == std::string_view::npos &&
           (rules.hidden || !name.starts_with('.'));
}

// False for what is neither a file nor a directory, and for what is gone already.
bool look_at(int directory, const char* name, resolution links, entry& out) {
    struct ::stat status;
    if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISLNK(status.st_mode)) {
        const opened target = open_beneath(directory, name, O_PATH | O_CLOEXEC, links);
        if (!target.fd || ::fstat(target.fd.get(), &status) != 0) return false;
    }
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
    const file_state state = state_of(status);
    out.name = name;
    out.is_directory = S_ISDIR(status.st_mode);
    out.size = state.size;
    out.modified = state.modified;
    return true;
}

errc read_directory(int directory, const listing_options& options, contents& out) {
    // closedir() closes what it was given; the offset is shared, but nobody reads on.
    const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return errc_of(errno);
    const std::unique_ptr<DIR, close_directory> reader(::fdopendir(copy));
    if (!reader) {
        const int error = errno;
        descriptor{copy}.reset();
        return errc_of(error);
    }
    for (std::size_t looked_at = 0;;) {
        errno = 0;
        const ::dirent* const next = ::readdir(reader.get()); // NOLINT(concurrency-mt-unsafe): nobody else has it
        if (next == nullptr) return errno == 0 ? errc::ok : errc_of(errno);
        if (!can_be_asked_for(next->d_name, options.names)) continue;
        if (looked_at++ == options.most_entries) {
            out.complete = false;
            return errc::ok;
        }
        entry e;
        if (look_at(directory, next->d_name, options.links, e)) out.entries.push_back(std::move(e));
    }
}

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// Negative, zero or positive: without case, and with it between those that differ in nothing else.
int compare_names(std::string_view a, std::string_view b) noexcept {
    const std::size_t common = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < common; ++i) {
        const auto left = static_cast<unsigned char>(lower(a[i])), right = static_cast<unsigned char>(lower(b[i]));
        if (left != right) return left < right ? -1 : 1;
    }
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
}

void sort_entries(std::vector<entry>& entries, listing_order order) {
    std::sort(entries.begin(), entries.end(), [order](const entry& a, const entry& b) {
        if (a.is_directory != b.is_directory) return a.is_directory;
        // The size of a directory says nothing, and is not shown.
        if (order.by == key::size && !a.is_directory && a.size != b.size) return (a.size < b.size) != order.descending;
        if (order.by == key::time && a.modified != b.modified) return (a.modified < b.modified) != order.descending;
        const int names = compare_names(a.name, b.name);
        return order.by == key::name && order.descending ? names > 0 : names < 0;
    });
}

constexpr std::string_view page_begin = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<style>
:root { color-scheme: light dark; --ink: #1d1f23; --dim: #6a6f78; --line: #e3e5e9; --row: #f4f6f9; --link: #0b57c2; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6ea; --dim: #989ea8; --line: #30343b; --row: #22262c; --link: #8ab4f8; --paper: #191b1f }
}
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere }
table { width: 100%; border-collapse: collapse }
th, td { padding: .3rem .6rem; text-align: left; border-bottom: 1px solid var(--line) }
th { color: var(--dim); font-size: .875rem; font-weight: 500; white-space: nowrap }
th a { color: inherit }
td:first-child { overflow-wrap: anywhere }
td:nth-child(n+2) { color: var(--dim); font-variant-numeric: tabular-nums; white-space: nowrap }
th:nth-child(2), td:nth-child(2) { text-align: right }
tbody tr:hover { background: var(--row) }
a { color: var(--link); text-decoration: none }
a:hover, a:focus-visible { text-decoration: underline }
p { color: var(--dim) }
@media (max-width: 34rem) { th:nth-child(3), td:nth-child(3) { display: none } }
</style>
<title>)";

// The heading of a column: a link that sorts by it, or the other way round.
void put_column(std::string& out, key column, std::string_view label, std::string_view word, listing_order order) {
    const bool present = order.by == column;
    const bool descending = present && !order.descending;
    out += "<th scope=\"col\"";
    if (present) out += order.descending ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"";
    out.append("><a href=\"?sort=")
        .append(word)
        .append("&amp;order=")
        .append(descending ? "desc" : "asc")
        .append("\">");
    out += label;
    if (present) out += order.descending ? " \xE2\x86\x93" : " \xE2\x86\x91"; // an arrow
    out += "</a></th>";
}

void put_entry(std::string& out, const entry& e) {
    // Without "./", "a:b" would be an address of the scheme "a".
    out += "<tr><td><a href=\"./";
    put_encoded(out, e.name);
    if (e.is_directory) out += '/';
    out += "\"><bdi>";
    put_escaped(out, e.name);
    out += "</bdi>";
    if (e.is_directory) out += '/';
    out += "</a></td><td";
    if (e.is_directory) {
        out += ">\xE2\x80\x93"; // a dash
    } else {
        out.append(" title=\"").append(std::to_string(e.size)).append(e.size == 1 ? " byte\">" : " bytes\">");
        put_size(out, e.size);
    }
    out += "</td><td>";
    put_time(out, e.modified);
    out += "</td></tr>\n";
}

// What `url_path` stands for, or it as it is.
std::string decoded(std::string_view url_path) {
    std::string text(url_path);
    const auto size = http::percent_decode(url_path, text.data());
    if (!size) return std::string(url_path);
    text.resize(*size);
    return text;
}

void put_page(std::string& out, const contents& c, std::string_view url_path, bool top, listing_order order) {
    const std::string path = decoded(url_path);
    out += page_begin;
    put_escaped(out, path);
    out += "</title>\n</head>\n<body>\n<h1><bdi>";
    put_escaped(out, path);
    out += "</bdi></h1>\n<table>\n<thead><tr>";
    put_column(out, key::name, "Name", "name", order);
    put_column(out, key::size, "Size", "size", order);
    put_column(out, key::time, "Changed (UTC)", "time", order);
    out += "</tr></thead>\n<tbody>\n";
    if (!top) out += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
    for (const entry& e : c.entries) put_entry(out, e);
    out += "</tbody>\n</table>\n";
    if (!c.complete)
        out.append("<p>There is more here: only ").append(std::to_string(c.entries.size())).append(" are shown.</p>\n");
    else if (c.entries.empty())
        out += "<p>Nothing is here.</p>\n";
    out += "</body>\n</html>\n";
}

} // namespace

listing_order parse_listing_order(std::string_view query) noexcept {
    listing_order order;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair == "sort=name") order.by = key::name;
        if (pair == "sort=size") order.by = key::size;
        if (pair == "sort=time") order.by = key::time;
        if (pair == "order=asc") order.descending = false;
        if (pair == "order=desc") order.descending = true;
    }
    return order;
}

errc write_listing(int directory, std::string_view url_path, bool top, listing_order order,
                   const listing_options& options, std::string& out) {
    contents c;
    if (const errc error = read_directory(directory, options, c); error != errc::ok) return error;
    sort_entries(c.entries, order);
    put_page(out, c, url_path, top, order);
    return errc::ok;
}

} // namespace fastserve::files
