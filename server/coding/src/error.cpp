#include <fastserve/coding/error.hpp>

#include <fastserve/http/error_category.hpp>

namespace fastserve::coding {

std::string_view message_of(errc e) noexcept {
    switch (e) {
    case errc::ok: return "success";
    case errc::corrupt: return "malformed coded body";
    case errc::truncated: return "coded body ends too early";
    case errc::trailing_garbage: return "something follows the end of the coded body";
    case errc::too_large: return "decoded body exceeds the limit";
    case errc::ratio_too_high: return "body expands more than the limit";
    case errc::window_too_large: return "coded body needs a larger window than HTTP allows";
    case errc::needs_dictionary: return "coded body needs a dictionary";
    case errc::not_smaller: return "coding does not make the body smaller";
    case errc::unsupported: return "unsupported content coding";
    case errc::no_memory: return "no memory for coding";
    case errc::misuse: return "encoder or decoder used out of turn";
    }
    return "unknown error";
}

const std::error_category& coding_category() noexcept {
    static const http::error_category<errc> instance("fastserve.coding");
    return instance;
}

} // namespace fastserve::coding
