// A directory as a page of HTML: names, sizes and times, to be sorted by each of them.
//
// The page needs nothing but itself: no script, no font, no picture, and one style, in it. It is light or dark as its
// reader is. A policy that allows it: "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action
// 'none'".
#pragma once

#include <fastserve/files/beneath.hpp>
#include <fastserve/files/error.hpp>
#include <fastserve/files/path.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fastserve::files {

struct listing_order {
    enum class key : std::uint8_t { name, size, time };
    key by = key::name;
    bool descending = false;

    friend bool operator==(const listing_order&, const listing_order&) = default;
};

// What the links at the head of a page ask for: "sort=size&order=desc" and the like, behind the '?'. What is not
// understood is left out.
listing_order parse_listing_order(std::string_view query) noexcept;

struct listing_options {
    // Entries that are looked at. Of a larger directory some are missing, and the page says so.
    std::size_t most_entries = 2'000;
    // What may be asked for is what is shown; as the folder has it.
    path_rules names{};
    resolution links = resolution::within;
};

// Appends the page to `out`. `directory` is a descriptor to read it by, as found::directory has it, from its beginning;
// it stays the caller's. `url_path` is the path of the request, still encoded, as the heading shows it; there is a link
// to the parent unless `top`.
//
// Shown are regular files and directories whose names can be asked for, folders first. A link is shown as what it leads
// to, if that lies below this directory. Of equal sizes and times the names decide.
//
// Each entry is a system call. Of `out` about 200 bytes and four times its name are taken for each. Blocks for as long
// as the disk takes; to be run where that stops nobody, if the disk is slow.
//
// Returns ok, or what the system says, with `out` as it was: not_found for what is no directory, busy, failed. May throw
// std::bad_alloc.
errc write_listing(int directory, std::string_view url_path, bool top, listing_order order,
                   const listing_options& options, std::string& out);

} // namespace fastserve::files
