// Field lines kept as they go on the wire, so that sending them is one copy.
#pragma once

#include <fastserve/http/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

namespace fastserve::http {

// A whole line, known when compiling, which a block copies in one fixed size without looking at it.
class ready_line {
public:
    static constexpr std::size_t longest = 64;

    // Does not compile unless both are plain and fit. Not for a name that a block refuses.
    consteval ready_line(std::string_view name, std::string_view value) : text_{}, size_(0) {
        if (name.empty() || value.empty()) throw "empty";
        for (const char c : name)
            if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-')) throw "not a name";
        for (const char c : value)
            if (c < ' ' || c > '~') throw "not a value";
        for (const std::string_view part : {name, std::string_view(": "), value, std::string_view("\r\n")})
            for (const char c : part) text_[size_++] = c;
    }

private:
    friend class field_block;
    char text_[longest];
    std::size_t size_;
};

// The field lines of a response, of an interim response or of a trailer section: "Name: value\r\n" one after the other,
// in the order in which they were added, names as they were spelled.
//
// What a block holds is always well formed (RFC 9110 5.1, 5.5): a name that is not a token, and a value with CR, LF,
// NUL or another control in it, are refused and leave the block as it was. Content-Length, Transfer-Encoding and
// Connection are refused too: they say where a message ends, and only the serializer knows that.
//
// Storage is kept from one use to the next, so that a warm block does not allocate; adding throws std::bad_alloc when
// it has to and cannot. Views into the block are good until it is changed; add() and set() may be given them.
class field_block {
public:
    // Bytes that can be read behind wire(): copying short blocks in fixed sizes needs no tail loop.
    static constexpr std::size_t padding = 64;
    static_assert(ready_line::longest <= padding);
    // What clear() keeps of the storage.
    static constexpr std::size_t retained_bytes = 16 * 1024;

    field_block() noexcept = default;
    field_block(const field_block&) = delete;
    field_block& operator=(const field_block&) = delete;
    ~field_block() = default;

    // Appends a line. Blanks around the value are not part of it and are dropped.
    // Returns bad_field_name, bad_field_value, or ok.
    errc add(std::string_view name, std::string_view value);

    // Appends a line and removes all others of that name, whatever their case. Returns what add() returns.
    errc set(std::string_view name, std::string_view value);

    // Removes all lines of that name. Returns whether there was one.
    bool remove(std::string_view name) noexcept;

    bool has(std::string_view name) const noexcept { return get(name).has_value(); }

    // The value of the first line of that name.
    std::optional<std::string_view> get(std::string_view name) const noexcept;

    // All lines, each with its CRLF, without the empty line that ends a head. `padding` more bytes can be read unless
    // it is empty.
    std::string_view wire() const noexcept { return {data_.get(), size_}; }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::size_t capacity() const noexcept { return capacity_; }

    // Empties the block. Storage above retained_bytes is given back.
    void clear() noexcept {
        size_ = 0;
        if (capacity_ > retained_bytes) [[unlikely]]
            release();
    }

    // The same as add() for a name that is known to be a token, to be none of the three that are refused, and in
    // `prefix` as "Name: ": what code that spells the name out uses.
    errc add_known(std::string_view prefix, std::string_view value);

    void add(const ready_line& line) {
        if (size_ + line.size_ > capacity_) [[unlikely]]
            grow(size_ + line.size_);
        std::memcpy(data_.get() + size_, line.text_, ready_line::longest);
        size_ += static_cast<std::uint32_t>(line.size_);
    }

private:
    errc append(std::string_view name, std::string_view separator, std::string_view value);
    std::unique_ptr<char[]> grow(std::size_t needed);
    void release() noexcept;
    bool remove_before(std::uint32_t end, std::string_view name) noexcept;

    std::unique_ptr<char[]> data_;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = 0; // of data_, without the padding
};

} // namespace fastserve::http
