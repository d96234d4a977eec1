// How a coroutine finds the offload pool: by way of the loop it runs on.
#pragma once

#include <boost/asio/execution_context.hpp>

namespace fastserve::detail {

class offload_pool;

// One for each loop that fastserve runs handlers on.
class offload_service final : public boost::asio::execution_context::service {
public:
    using key_type = offload_service;
    static inline boost::asio::execution_context::id id;

    explicit offload_service(boost::asio::execution_context& c) : service(c) {}

    // The pool must outlive every coroutine on this loop that awaits offload().
    static void install(boost::asio::execution_context& loop, offload_pool& pool) {
        boost::asio::use_service<offload_service>(loop).pool_ = &pool;
    }
    // Null on a loop that no server serves on.
    static offload_pool* of(boost::asio::execution_context& loop) {
        return boost::asio::use_service<offload_service>(loop).pool_;
    }

private:
    void shutdown() override {}

    offload_pool* pool_ = nullptr;
};

} // namespace fastserve::detail
