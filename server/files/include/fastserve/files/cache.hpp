// The contents of small files in memory, so that to answer for one takes no system call.
//
// Thread safety: none, one a worker. What it hands out may be used by any thread, and for as long as anybody likes.
// Invariants: bytes() is the sum of what its entries cost, and at most cache_options::bytes.
#pragma once

#include <fastserve/files/coding_order.hpp>
#include <fastserve/files/folder.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fastserve::files {

struct cache_options {
    std::size_t bytes = 16 * 1024 * 1024; // of contents, and of what it takes to find them
    std::size_t largest_file = 64 * 1024; // larger ones are not kept: sending them costs more than opening them
    // Milliseconds for which a file is served without a look at whether it is still the same.
    std::uint64_t recheck = 1'000;
};

struct cached {
    finding at{}; // as from folder::find(); without a descriptor where `bytes` is set
    // Of a file that is in memory: at.content.state.size bytes, which never change. Otherwise null.
    std::shared_ptr<const std::string> bytes{};
};

class cache {
public:
    explicit cache(cache_options options = {}) noexcept : options_(options) {}
    cache(const cache&) = delete;
    cache& operator=(const cache&) = delete;

    // What folder::find() says, and the content if the file is small: that of at most cache_options::recheck ago. Files
    // are kept under what their path stands for, so that one is not kept again for each way to encode its name; only
    // files are kept, and not what is not there. The least recently used ones make room.
    //
    // `now_ms` is any clock that does not go back. `in` must live, where it is, as long as the cache, or until clear().
    // Without memory the file is found and not kept.
    cached find(const folder& in, std::string_view path, const coding_order& accepts, std::uint64_t now_ms) noexcept;

    void clear() noexcept;

    std::size_t bytes() const noexcept { return used_; }
    std::size_t entries() const noexcept { return nodes_.size(); }
    std::uint64_t hits() const noexcept { return hits_; }     // found in memory
    std::uint64_t misses() const noexcept { return misses_; } // everything else that was asked for

private:
    // `order` is the number of a coding_order, or `any_order` for what does not depend on it.
    static constexpr std::uint8_t any_order = 255;
    struct key {
        const folder* in = nullptr;
        std::string_view path{}; // decoded
        bool directory = false;
        std::uint8_t order = any_order;

        friend bool operator==(const key&, const key&) = default;
    };
    struct hash_of_key {
        std::size_t operator()(const key& k) const noexcept;
    };
    struct node {
        std::string path;
        key name; // its path is the one above
        representation content;
        std::shared_ptr<const std::string> bytes;
        std::uint64_t checked_ms = 0;
    };
    using place = std::list<node>::iterator;

    place find_node(key wanted) noexcept;
    cached hit(place at) noexcept;
    void keep(cached& fresh, key name, std::uint64_t now_ms);
    void drop(place at) noexcept;
    static std::size_t cost_of(std::size_t path_size, std::size_t file_size) noexcept;

    cache_options options_;
    std::list<node> nodes_; // the most recently used first
    std::unordered_map<key, place, hash_of_key> index_;
    std::size_t used_ = 0;
    std::uint64_t hits_ = 0;
    std::uint64_t misses_ = 0;
};

} // namespace fastserve::files
