#include <fastserve/error.hpp>

#include <fastserve/http/error.hpp>
#include <fastserve/http/error_category.hpp>
#include <fastserve/http/multipart_error.hpp>

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
    case errc::wrong_type:
        return "the content is of another type";
    case errc::too_many:
        return "more pairs than the limit";
    case errc::too_large:
        return "more bytes than the limit";
    case errc::cancelled:
        return "the wait was cancelled";
    case errc::disconnected:
        return "the peer has left, or its time is up";
    case errc::not_streamed:
        return "the route takes whole bodies";
    case errc::not_whole:
        return "the route takes bodies in pieces";
    case errc::busy:
        return "another read or write of this exchange has not ended";
    case errc::head_sent:
        return "the response has begun";
    case errc::too_long:
        return "more than the length that was announced";
    case errc::taken:
        return "the body is read in another way";
    case errc::past:
        return "another part was asked for since";
    }
    return "unknown error";
}

const std::error_category& app_category() noexcept {
    static const http::error_category<errc> instance("fastserve");
    return instance;
}

int status_of(std::error_code e) noexcept {
    if (e.category() == http::http_category()) return http::status_of(static_cast<http::errc>(e.value()));
    if (e.category() == http::multipart_category())
        return http::status_of(static_cast<http::multipart_errc>(e.value()));
    if (!e) return 200;
    if (e.category() != app_category()) return 500;
    switch (static_cast<errc>(e.value())) {
    case errc::missing:
    case errc::malformed:
    case errc::out_of_range:
    case errc::bad_encoding: return 400;
    case errc::wrong_type: return 415;
    case errc::too_many:
    case errc::too_large: return 413;
    default: return 500; // the handler's own, or nobody is left to be told
    }
}

} // namespace fastserve
