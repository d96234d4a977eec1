// The words that all of fastserve's public headers share.
#pragma once

#include <fastserve/http/limits.hpp>
#include <fastserve/http/verb.hpp>
#include <fastserve/net/address.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/system/result.hpp>

#include <system_error>

namespace fastserve {

// What a coroutine handler returns. On the default executor, so that any Asio operation can be awaited in it.
template <class T = void>
using awaitable = boost::asio::awaitable<T>;

// A value or the error_code why there is none. Nothing throws unless value() is called without looking.
template <class T>
using result = boost::system::result<T>;
using error_code = std::error_code;

using address = net::address;
using limits = http::limits;

} // namespace fastserve
