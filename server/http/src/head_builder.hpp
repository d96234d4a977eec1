// How a head is filled in: the parts that the walker over bitmaps and the byte-wise steps have in common.
#pragma once

#include <fastserve/http/head.hpp>

#include "chars.hpp"
#include "field_table.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fastserve::http {

static_assert(offsetof(field_line, value_size) == offsetof(field_line, value_offset) + 4);

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
        out.has_percent = std::string_view(out.base + at, size).find('%') != std::string_view::npos;
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
    static void set_origin_target(head& out, std::uint32_t at, std::uint32_t mark, std::uint32_t end,
                                  bool has_percent) noexcept {
        out.target_at_ = out.path_at_ = out.host_at_ = at;
        out.target_size_ = end - at;
        out.form = target_form::origin;
        out.secure_target = false;
        out.has_query = mark != end;
        out.has_percent = has_percent;
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
            : first_(out.first_), base_(out.base), next_(out.storage_.data() + count), count_(count),
              present_(out.present), repeated_(out.repeated) {}

        // A line whose bytes have been checked: it begins at `name`, `end` is its CR.
        void add(const char* name, const char* colon, const char* end) noexcept {
            const char* begin = colon + 2;
            if (colon[1] != ' ' || !is_visible(colon[2]) || !is_visible(end[-1])) [[unlikely]]
                find_value(begin, end);
            const auto size = static_cast<std::size_t>(colon - name);
            const field id = field_table::find_token(name, size);
            *next_ = {offset(name), static_cast<std::uint16_t>(size), id, 0, 0};
            set_value(*next_++, offset(begin), static_cast<std::uint32_t>(end - begin));

            const auto n = static_cast<unsigned>(id);
            if ((present_ >> n) & 1)
                repeated_ |= std::uint64_t{1} << n;
            else
                first_[n] = static_cast<std::uint16_t>(count_);
            present_ |= std::uint64_t{1} << n;
            ++count_;
        }

        // Returns how many lines there are now.
        std::uint32_t commit(head& out) noexcept {
            out.present = present_;
            out.repeated = repeated_;
            return count_;
        }

    private:
        // What is not above SP is white space at the end of a value, or the CR behind an empty one.
        static bool is_visible(char c) noexcept { return static_cast<unsigned char>(c) > ' '; }

        // For a value with more or less white space around it than one SP in front. `begin` is two behind the colon.
        static void find_value(const char*& begin, const char*& end) noexcept {
            --begin;
            while (begin < end && chars::is(*begin, chars::space)) ++begin;
            while (end > begin && chars::is(end[-1], chars::space)) --end;
        }

        // In one store: whoever reads both as one word soon after, as the gate does for Host, would wait until two
        // stores have left the core.
        static void set_value(field_line& line, std::uint32_t at, std::uint32_t size) noexcept {
            if constexpr (std::endian::native == std::endian::little) {
                const std::uint64_t both = at | std::uint64_t{size} << 32;
                std::memcpy(reinterpret_cast<char*>(&line) + offsetof(field_line, value_offset), &both, sizeof both);
            } else {
                line.value_offset = at;
                line.value_size = size;
            }
        }

        std::uint32_t offset(const char* at) const noexcept { return static_cast<std::uint32_t>(at - base_); }

        std::uint16_t* first_;
        const char* base_;
        field_line* next_;
        std::uint32_t count_;
        std::uint64_t present_, repeated_;
    };

    static void finish(head& out, std::uint32_t size, std::uint32_t count) noexcept {
        out.size = size;
        out.fields = out.storage_.first(count);
    }

    // The Host line decides unless the target did.
    static void set_host(head& out, std::string_view host) noexcept {
        if (out.host_size_ != 0) return;
        out.host_at_ = static_cast<std::uint32_t>(host.data() - out.base);
        out.host_size_ = static_cast<std::uint32_t>(host.size());
    }
};

} // namespace fastserve::http
