// What an enum of errors needs to become a std::error_code, beside message_of() for its values.
//
// Thread safety: any thread; nothing changes.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace fastserve::http {

// One instance an enum, which lives as long as the program. message_of(E) is found beside E, and has a line for what is
// no value of it, too.
template <class E>
class error_category final : public std::error_category {
public:
    // `name`, which is not copied, is what std::error_category::name() returns.
    explicit error_category(const char* name) noexcept : name_(name) {}

    const char* name() const noexcept override { return name_; }
    std::string message(int value) const override {
        const E e = static_cast<E>(value);
        if (static_cast<int>(e) != value) return "unknown error"; // it does not fit the enum
        return std::string(message_of(e));
    }

private:
    const char* name_;
};

} // namespace fastserve::http
