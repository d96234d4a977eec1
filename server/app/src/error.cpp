#include <fastserve/error.hpp>

#include <fastserve/http/error_category.hpp>

namespace fastserve {

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
    case errc::cancelled:
        return "the wait was cancelled";
    case errc::disconnected:
        return "the peer has left, or its time is up";
    case errc::not_streamed:
        return "the route takes whole bodies";
    case errc::busy:
        return "another read or write of this exchange has not ended";
    case errc::head_sent:
        return "the response has begun";
    case errc::too_long:
        return "more than the length that was announced";
    }
    return "unknown error";
}

const std::error_category& app_category() noexcept {
    static const http::error_category<errc> instance("fastserve");
    return instance;
}

} // namespace fastserve
