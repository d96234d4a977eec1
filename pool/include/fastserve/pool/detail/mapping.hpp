// Address space from the system. The one place of the library that maps memory.
#pragma once

#include <cstddef>
#include <system_error>

namespace fastserve::pool::detail {

// Bytes of a page of this machine.
std::size_t page_size() noexcept;

// `bytes` rounded up to whole pages.
std::size_t round_to_pages(std::size_t bytes) noexcept;

// A range of address space that is reserved once, unreadable, and made usable in steps. Owned by one object; commit and
// decommit of different ranges may run at the same time.
class mapping {
public:
    mapping() noexcept = default;
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() { unmap(); }

    // Reserves at least `bytes`, page-aligned. The mapping must be empty.
    std::error_code reserve(std::size_t bytes) noexcept;
    // Makes a range of whole pages readable and writable; it reads as zero.
    std::error_code commit(std::size_t offset, std::size_t bytes) noexcept;
    // Gives the memory of a committed range back to the system. The range stays mapped; its content is lost.
    void decommit(std::size_t offset, std::size_t bytes) noexcept;
    void unmap() noexcept;

    char* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    char* data_ = nullptr;
    std::size_t size_ = 0;
};

// At least `bytes` of zeroed memory of its own, null when the system has none; unmap_pages gives it back (same
// `bytes`).
char* map_pages(std::size_t bytes) noexcept;
void unmap_pages(char* data, std::size_t bytes) noexcept;

} // namespace fastserve::pool::detail
