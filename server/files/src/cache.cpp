#include <fastserve/files/cache.hpp>

#include "system.hpp"

#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include <sys/stat.h>

namespace fastserve::files {
namespace {

// Reads a file that is, before and after, in the state in which it was found: what is read is then what its tag says.
bool read_whole(int fd, const file_state& state, std::string& out) noexcept {
    const read_result read = read_at(fd, 0, out);
    struct ::stat after;
    return read.error == errc::ok && read.size == out.size() && ::fstat(fd, &after) == 0 && state_of(after) == state;
}

} // namespace

std::size_t cache::hash_of_key::operator()(const key& k) const noexcept {
    // Names that are kept are names of files, which no client chooses.
    const std::size_t path = std::hash<std::string_view>()(k.path);
    return path ^ std::hash<const void*>()(k.in) ^ (std::size_t{k.order} << 1) ^ std::size_t{k.directory};
}

std::size_t cache::cost_of(std::size_t path_size, std::size_t file_size) noexcept {
    constexpr std::size_t of_list_and_index = 96; // links, a node of the table, a slot
    return sizeof(node) + sizeof(std::string) + of_list_and_index + path_size + file_size;
}

cached cache::find(const folder& in, std::string_view path, const coding_order& accepts,
                   std::uint64_t now_ms) noexcept {
    const local_path local(path, in.options().names);
    key name{&in, local.text(), local.names_directory(), accepts.number()};
    const place known = local.error() == errc::ok ? find_node(name) : nodes_.end();
    if (known != nodes_.end() && now_ms - known->checked_ms < options_.recheck) return hit(known);

    cached fresh;
    fresh.at = in.find(path, accepts);
    const representation& content = fresh.at.content;
    if (known != nodes_.end()) {
        if (fresh.at.what == found::file && content.state == known->content.state &&
            content.coding == known->content.coding) {
            known->checked_ms = now_ms;
            return hit(known);
        }
        drop(known);
    }
    ++misses_;
    if (fresh.at.what != found::file || content.state.size > options_.largest_file ||
        cost_of(name.path.size(), static_cast<std::size_t>(content.state.size)) > options_.bytes)
        return fresh;
    if (!content.varies) name.order = any_order;
    try {
        keep(fresh, name, now_ms);
    } catch (const std::bad_alloc&) {
        // It is found all the same.
    }
    return fresh;
}

cache::place cache::find_node(key wanted) noexcept {
    auto found_at = index_.find(wanted);
    if (found_at == index_.end()) {
        wanted.order = any_order;
        found_at = index_.find(wanted);
    }
    return found_at == index_.end() ? nodes_.end() : found_at->second;
}

cached cache::hit(place at) noexcept {
    nodes_.splice(nodes_.begin(), nodes_, at);
    ++hits_;
    cached c;
    c.at.what = found::file;
    c.at.content = at->content;
    c.bytes = at->bytes;
    return c;
}

void cache::keep(cached& fresh, key name, std::uint64_t now_ms) {
    const std::size_t size = static_cast<std::size_t>(fresh.at.content.state.size);
    const auto bytes = std::make_shared<std::string>(size, '\0');
    if (!read_whole(fresh.at.fd.get(), fresh.at.content.state, *bytes)) return;
    std::list<node> one;
    node& made = one.emplace_back();
    made.path = name.path;
    made.name = name;
    made.name.path = made.path;
    made.content = fresh.at.content;
    made.bytes = bytes;
    made.checked_ms = now_ms;
    index_.emplace(made.name, one.begin());
    nodes_.splice(nodes_.begin(), one); // keeps the iterator good
    used_ += cost_of(made.path.size(), size);
    fresh.bytes = bytes;
    fresh.at.fd.reset();
    while (used_ > options_.bytes) drop(std::prev(nodes_.end()));
}

void cache::drop(place at) noexcept {
    used_ -= cost_of(at->path.size(), at->bytes->size());
    index_.erase(at->name);
    nodes_.erase(at);
}

void cache::clear() noexcept {
    index_.clear();
    nodes_.clear();
    used_ = 0;
}

} // namespace fastserve::files
