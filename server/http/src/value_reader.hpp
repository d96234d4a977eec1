// Reads the value of a field piece by piece (RFC 9110 5.6).
#pragma once

#include "field_chars.hpp"

#include <cstddef>
#include <string_view>

namespace fastserve::http {

class value_reader {
public:
    constexpr explicit value_reader(std::string_view text) noexcept : rest_(text) {}

    constexpr bool done() const noexcept { return rest_.empty(); }
    constexpr bool sees(char c) const noexcept { return rest_.starts_with(c); }
    constexpr std::string_view rest() const noexcept { return rest_; }

    constexpr bool take(char c) noexcept {
        if (!sees(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    constexpr void skip_blanks() noexcept {
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    }

    // Empty if there is none.
    constexpr std::string_view token() noexcept {
        std::size_t size = 0;
        while (size < rest_.size() && is(rest_[size], token_char)) ++size;
        return cut(size);
    }

    // With its quotes and escapes; empty if there is none, or it does not end.
    constexpr std::string_view quoted_string() noexcept {
        if (!sees('"')) return {};
        for (std::size_t i = 1; i < rest_.size(); ++i) {
            if (rest_[i] == '"') return cut(i + 1);
            if (rest_[i] == '\\' && ++i == rest_.size()) break;
            if (!is(rest_[i], value_char)) break;
        }
        return {};
    }

    // At the end of a member of a list, or of the text.
    constexpr bool ends_member() noexcept {
        skip_blanks();
        return done() || sees(',');
    }

    // Goes behind the blanks and commas before a member. False when there is none any more.
    constexpr bool begin_member() noexcept {
        while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == ',')) rest_.remove_prefix(1);
        return !rest_.empty();
    }

    // Goes to the next comma, whatever it is part of: for a member that is malformed.
    constexpr void skip_member() noexcept { cut(rest_.find(',')); }

private:
    constexpr std::string_view cut(std::size_t size) noexcept {
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(taken.size());
        return taken;
    }

    std::string_view rest_;
};

} // namespace fastserve::http
