// Where sleep_for() waits while time is simulated: a list of its own, which the simulation looks at.
//
// Thread safety: one thread, the one that drives the loop. Ownership: what still sleeps belongs to the loop, and is
// dropped with it, as Asio's timers are.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace fastserve::detail {

// Who sleeps. Destroyed without wake(), it is dropped.
class nap {
public:
    virtual ~nap() = default;
    virtual void wake(const boost::system::error_code&) = 0;
};

class simulated_sleeps final : public boost::asio::execution_context::service {
public:
    using key_type = simulated_sleeps;
    static inline boost::asio::execution_context::id id;
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

    explicit simulated_sleeps(boost::asio::execution_context& c) : service(c) {}

    void add(std::uint64_t due_ms, std::unique_ptr<nap>, boost::asio::cancellation_slot);
    // Wakes those whose time has come, in their order. True: there were some.
    bool wake(std::uint64_t now_ms);
    std::uint64_t next_due() const noexcept;
    std::size_t size() const noexcept { return naps_.size(); }

private:
    struct entry {
        std::uint64_t due_ms;
        std::uint64_t number;
        std::unique_ptr<nap> who;
    };

    // Coroutines end meanwhile, and may look here.
    void shutdown() override { const auto dropped = std::exchange(naps_, {}); }
    void cancel(std::uint64_t number);

    std::vector<entry> naps_; // by due_ms, then number
    std::uint64_t made_ = 0;
};

} // namespace fastserve::detail
