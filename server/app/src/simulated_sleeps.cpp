#include "simulated_sleeps.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace fastserve::detail {

void simulated_sleeps::add(std::uint64_t due_ms, std::unique_ptr<nap> who, boost::asio::cancellation_slot slot) {
    const std::uint64_t number = ++made_;
    const auto after = std::upper_bound(naps_.begin(), naps_.end(), due_ms,
                                        [](std::uint64_t due, const entry& e) { return due < e.due_ms; });
    naps_.insert(after, {due_ms, number, std::move(who)});
    if (slot.is_connected()) slot.assign([this, number](boost::asio::cancellation_type) { cancel(number); });
}

// After it was woken, its number is nobody's.
void simulated_sleeps::cancel(std::uint64_t number) {
    const auto found =
        std::find_if(naps_.begin(), naps_.end(), [number](const entry& e) { return e.number == number; });
    if (found == naps_.end()) return;
    const std::unique_ptr<nap> who = std::move(found->who);
    naps_.erase(found);
    who->wake(boost::asio::error::operation_aborted);
}

bool simulated_sleeps::wake(std::uint64_t now_ms) {
    bool any = false;
    while (!naps_.empty() && naps_.front().due_ms <= now_ms) {
        const std::unique_ptr<nap> who = std::move(naps_.front().who);
        naps_.erase(naps_.begin());
        who->wake({});
        any = true;
    }
    return any;
}

std::uint64_t simulated_sleeps::next_due() const noexcept {
    return naps_.empty() ? never : naps_.front().due_ms;
}

} // namespace fastserve::detail
