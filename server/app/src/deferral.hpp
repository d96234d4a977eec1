// What a responder and its request share.
//
// Thread safety: end() and deliver() from any thread; the rest as it is said.
//
// Invariants: exactly one change away from `open` wins. It decides who answers: the responder, whose fill then travels
// to the worker as a letter, or nobody, because the peer has left or the handler failed.
//
// Edges: D1 end(), release: what the winner wrote before -> D2 end() of the loser, and state(), acquire. The fill is
// published by the mailbox (its M1 -> M2).
#pragma once

#include <fastserve/net/letter.hpp>
#include <fastserve/net/mailbox.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace fastserve {
class response;
}

namespace fastserve::detail {

class context;

struct deferral : net::letter {
    enum class state : int { open, answered, gone };

    deferral(std::shared_ptr<net::mailbox> m, context& x) noexcept : target(&x), mail_(std::move(m)) {}

    // True for the one who ends it.
    bool end(state how) noexcept {
        state expected = state::open;
        return now_.compare_exchange_strong(expected, how, std::memory_order_acq_rel, // D1
                                            std::memory_order_acquire);               // D2
    }
    state current() const noexcept { return now_.load(std::memory_order_acquire); } // D2

    // For who has ended it with `answered`: sends the letter. False: the worker has shut down.
    bool send(const std::shared_ptr<deferral>& self) noexcept {
        keep_ = self;
        if (mail_->post(*this)) return true;
        keep_.reset();
        return false;
    }
    // On the worker: what kept the letter alive on its way.
    std::shared_ptr<deferral> arrived() noexcept { return std::move(keep_); }

    // Touched on the worker's thread alone, and only by a letter that arrived.
    context* const target;
    // Written by who has ended it with `answered`, read on the worker. Empty: nobody answers, which is a 500.
    std::function<void(fastserve::response&)> fill;

private:
    std::atomic<state> now_{state::open};
    const std::shared_ptr<net::mailbox> mail_;
    std::shared_ptr<deferral> keep_;
};

} // namespace fastserve::detail
