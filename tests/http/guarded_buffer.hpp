// Memory between two pages that may not be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

namespace parser_test {

class guarded_buffer {
public:
    explicit guarded_buffer(std::size_t size) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        size_ = (size + page_ - 1) / page_ * page_;
        void* map = mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) throw std::bad_alloc();
        begin_ = static_cast<char*>(map) + page_;
        if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    }
    guarded_buffer(const guarded_buffer&) = delete;
    guarded_buffer& operator=(const guarded_buffer&) = delete;
    ~guarded_buffer() { munmap(begin_ - page_, size_ + 2 * page_); }

    // Copies `text` so that it and `padding` bytes end where the buffer does.
    char* flush_with_end(std::string_view text, std::size_t padding) {
        char* at = begin_ + size_ - padding - text.size();
        if (!text.empty()) std::memcpy(at, text.data(), text.size());
        return at;
    }
    char* flush_with_start(std::string_view text) {
        if (!text.empty()) std::memcpy(begin_, text.data(), text.size());
        return begin_;
    }

private:
    std::size_t page_, size_ = 0;
    char* begin_ = nullptr;
};

} // namespace parser_test
