// Request methods (RFC 9110 9, RFC 5789, WebDAV and UPnP registrations).
#pragma once

#include <cstdint>
#include <string_view>

namespace fastserve::http {

// The methods that have a name here. Values equal those of boost::beast::http::verb of Boost 1.81, so that a conversion
// is a cast; zero is any other token.
enum class verb : std::uint8_t {
    unknown = 0,
    delete_,
    get,
    head,
    post,
    put,
    connect,
    options,
    trace,
    copy,
    lock,
    mkcol,
    move,
    propfind,
    proppatch,
    search,
    unlock,
    bind,
    rebind,
    unbind,
    acl,
    report,
    mkactivity,
    checkout,
    merge,
    msearch,
    notify,
    subscribe,
    unsubscribe,
    patch,
    purge,
    mkcalendar,
    link,
    unlink,
};

inline constexpr std::uint8_t verb_count = static_cast<std::uint8_t>(verb::unlink) + 1;

// The method as it stands on the wire; empty for verb::unknown and for what is none of them. The view is
// static.
std::string_view to_string(verb v) noexcept;

// The verb spelled exactly so (methods are case-sensitive, RFC 9110 9.1), else verb::unknown.
verb find_verb(std::string_view name) noexcept;

} // namespace fastserve::http
