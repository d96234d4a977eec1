// How a head is filled in: the parts that the walker over bitmaps and the byte-wise steps have in common.
#pragma once

#include <fastserve/http/head.hpp>

#include "chars.hpp"
#include "field_table.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fastserve::http {

static_assert(offsetof(field_line, name_size) == 4 && offsetof(field_line, id) == 6 &&
              offsetof(field_line, value_offset) == 8 && offsetof(field_line, value_size) == 12);

struct head_builder {
    static void begin(head& out) noexcept {
        out.present = out.repeated = 0;
        out.fields = {};
    }

    // `parts` are views into [out.base, ...) or static.
    static void set_target(head& out, std::uint32_t at, std::uint32_t size, const target_parts& parts) noexcept {
        const auto offset = [&](std::string_view part) { return static_cast<std::uint32_t>(part.data() - out.base); };
        out.target_at_ = at;
        out.target_size_ = size;
        out.form = parts.form;
        out.secure_target = parts.secure;
        out.has_query = parts.has_query;
        out.path_at_ = out.query_at_ = out.host_at_ = at;
        out.path_size_ = out.query_size_ = out.host_size_ = 0;
        const std::string_view target{out.base + at, size};
        // A path that is not part of the target is one that head::path() knows by itself.
        if (!parts.path.empty() && parts.path.data() >= target.data() && parts.path.data() < target.data() + size) {
            out.path_at_ = offset(parts.path);
            out.path_size_ = static_cast<std::uint32_t>(parts.path.size());
        }
        if (parts.has_query) {
            out.query_at_ = offset(parts.query);
            out.query_size_ = static_cast<std::uint32_t>(parts.query.size());
        }
        if (!parts.authority.empty()) {
            out.host_at_ = offset(parts.authority);
            out.host_size_ = static_cast<std::uint32_t>(parts.authority.size());
        }
    }

    // The form that nearly every target has; `mark` is where the '?' stands, or `end`.
    static void set_origin_target(head& out, std::uint32_t at, std::uint32_t mark, std::uint32_t end) noexcept {
        out.target_at_ = out.path_at_ = out.host_at_ = at;
        out.target_size_ = end - at;
        out.form = target_form::origin;
        out.secure_target = false;
        out.has_query = mark != end;
        out.path_size_ = mark - at;
        out.query_at_ = mark + out.has_query;
        out.query_size_ = end - out.query_at_;
        out.host_size_ = 0;
    }

    static void set_method(head& out, std::uint32_t at, std::uint32_t size, verb v) noexcept {
        out.method_at_ = at;
        out.method_size_ = size;
        out.method = v;
    }

    // Takes lines one after the other and keeps what they add up to apart from the head until commit(), so that it can
    // stay in registers. The storage must have room.
    class lines {
    public:
        lines(head& out, std::uint32_t count) noexcept
            : out_(out), base_(out.base), storage_(out.storage_.data()), count_(count), present_(out.present),
              repeated_(out.repeated) {}

        // A line whose bytes have been checked: it begins at `name`, `end` is its CR.
        void add(const char* name, const char* colon, const char* end) noexcept {
            const char* begin = colon + 1;
            // What is not above SP here is white space, or the CR behind an empty value.
            if (begin[0] == ' ' && static_cast<unsigned char>(begin[1]) > ' ' &&
                static_cast<unsigned char>(end[-1]) > ' ') [[likely]] {
                ++begin;
            } else {
                while (begin < end && chars::is(*begin, chars::space)) ++begin;
                while (end > begin && chars::is(end[-1], chars::space)) --end;
            }
            const auto size = static_cast<std::size_t>(colon - name);
            const field id = field_table::find_token(name, size);
            store(storage_[count_], {offset(name), static_cast<std::uint16_t>(size), id, offset(begin),
                                     static_cast<std::uint32_t>(end - begin)});

            const auto n = static_cast<std::size_t>(id);
            const std::uint64_t bit = std::uint64_t{1} << n, again = present_ & bit;
            out_.first_[n] = again ? out_.first_[n] : static_cast<std::uint16_t>(count_);
            repeated_ |= again;
            present_ |= bit;
            ++count_;
        }

        // Returns how many lines there are now.
        std::uint32_t commit() noexcept {
            out_.present = present_;
            out_.repeated = repeated_;
            return count_;
        }

    private:
        // Two whole words. With a store for each member, whoever reads offset and size as one word soon after (the gate
        // does, for Host) waits until the stores have left the store buffer: about 4 ns of a 40-byte head.
        static void store(field_line& to, field_line line) noexcept {
            if constexpr (std::endian::native == std::endian::little) {
                const std::uint64_t words[2] = {line.name_offset | std::uint64_t{line.name_size} << 32 |
                                                    std::uint64_t{static_cast<std::uint8_t>(line.id)} << 48,
                                                line.value_offset | std::uint64_t{line.value_size} << 32};
                std::memcpy(&to, words, sizeof words);
            } else {
                to = line;
            }
        }

        std::uint32_t offset(const char* at) const noexcept { return static_cast<std::uint32_t>(at - base_); }

        head& out_;
        const char* base_;
        field_line* storage_;
        std::uint32_t count_;
        std::uint64_t present_, repeated_;
    };

    static void finish(head& out, std::uint32_t size, std::uint32_t count) noexcept {
        out.size = size;
        out.fields = out.storage_.first(count);
    }

    // The Host line decides unless the target did.
    static void set_host(head& out) noexcept {
        if (out.host_size_ != 0 || !out.has(field::host)) return;
        const field_line& line = out.fields[out.first_[static_cast<std::size_t>(field::host)]];
        out.host_at_ = line.value_offset;
        out.host_size_ = line.value_size;
    }
};

} // namespace fastserve::http
