#include <fastserve/error.hpp>

#include <string>

namespace fastserve {

namespace {

class category final : public std::error_category {
    const char* name() const noexcept override { return "fastserve"; }
    std::string message(int value) const override {
        if (value < 0 || value >= errc_count) return "unknown error";
        return std::string(message_of(static_cast<errc>(value)));
    }
};

} // namespace

std::string_view message_of(errc e) noexcept {
    switch (e) {
    case errc::ok:
        return "success";
    case errc::missing:
        return "the value is missing";
    case errc::malformed:
        return "the value is malformed";
    case errc::out_of_range:
        return "the value is out of range";
    case errc::bad_encoding:
        return "the value is not validly percent-encoded";
    }
    return "unknown error";
}

const std::error_category& app_category() noexcept {
    static const category instance;
    return instance;
}

} // namespace fastserve
