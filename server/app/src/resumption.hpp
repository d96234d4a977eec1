// How a coroutine is resumed by its loop, whatever memory there is.
#pragma once

#include <fastserve/net/operation_memory.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace fastserve::detail {

// Posts `f` to `executor`, in `memory` if that is a loop's. Spelled out for it, because an executor of any kind needs
// memory of its own for what is posted; one on top of a loop's, a strand's say, may throw std::bad_alloc.
template <class F>
void post_in(net::operation_memory& memory, const boost::asio::any_io_executor& executor, F f) {
    if (const auto* const loop = executor.target<boost::asio::io_context::executor_type>())
        boost::asio::post(*loop, net::in_memory(memory, std::move(f)));
    else
        boost::asio::post(executor, std::move(f));
}

} // namespace fastserve::detail
