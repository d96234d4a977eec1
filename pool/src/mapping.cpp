#include <fastserve/pool/detail/mapping.hpp>

#include <cassert>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace fastserve::pool::detail {

namespace {

std::error_code last_error() noexcept {
    return {errno, std::system_category()};
}

} // namespace

std::size_t page_size() noexcept {
    static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

std::size_t round_to_pages(std::size_t bytes) noexcept {
    return (bytes + page_size() - 1) & ~(page_size() - 1);
}

std::error_code mapping::reserve(std::size_t bytes) noexcept {
    assert(data_ == nullptr);
    const std::size_t size = round_to_pages(bytes);
    if (size < bytes || size == 0) return std::make_error_code(std::errc::invalid_argument);
    void* const data = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return last_error();
    data_ = static_cast<char*>(data);
    size_ = size;
    return {};
}

// mprotect rather than a second mmap: it is the call that a system without overcommit charges, so that running out of
// memory is an error here and not a fault at the first write.
std::error_code mapping::commit(std::size_t offset, std::size_t bytes) noexcept {
    assert(offset + bytes <= size_);
    if (::mprotect(data_ + offset, bytes, PROT_READ | PROT_WRITE) != 0) return last_error();
    return {};
}

void mapping::decommit(std::size_t offset, std::size_t bytes) noexcept {
    assert(offset + bytes <= size_);
    // It fails only for memory that somebody locked; then there is nothing to give back, and nobody relies on the
    // zeros.
    ::madvise(data_ + offset, bytes, MADV_DONTNEED);
}

void mapping::unmap() noexcept {
    if (data_ != nullptr) ::munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
}

char* map_pages(std::size_t bytes) noexcept {
    void* const data =
        ::mmap(nullptr, round_to_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<char*>(data);
}

void unmap_pages(char* data, std::size_t bytes) noexcept {
    ::munmap(data, round_to_pages(bytes));
}

} // namespace fastserve::pool::detail
