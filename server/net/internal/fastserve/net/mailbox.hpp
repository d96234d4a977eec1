// How other threads hand things to a worker: a lock-free list of mail that many push to and one takes from, which knows
// whether its worker sleeps.
//
// Thread safety: post() and wake() from any thread; everything else from the worker that owns the mailbox, or after its
//   thread was joined.
// Invariants: the state is one word: empty, asleep (empty, and the worker must be woken), closed for ever, or the
// newest
//   mail. Only post() makes it mail, only the owner makes it anything else. Because "asleep" and the list share the
//   word, there is no window between looking for mail and going to sleep, and exactly one post wakes a sleeper: the one
//   that replaced "asleep".
// Edges: M1 post(), release: the writes to the mail and all before them -> M2 take_all() and close(), acquire.
//        M3 post(), acquire: pairs with M4 close(), release: who is refused sees what the owner did before closing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <fastserve/net/address.hpp>
#include <fastserve/net/system.hpp>

namespace fastserve::net {

// Derived from by what is sent. Between a successful post() and its return from take_all() it belongs to the mailbox.
struct mail {
    mail* next = nullptr;
};

// Mail gathered by one thread, to be posted with one compare-and-swap.
class mail_chain {
public:
    bool empty() const noexcept { return newest_ == nullptr; }
    void add(mail& m) noexcept {
        m.next = newest_;
        newest_ = &m;
        if (oldest_ == nullptr) oldest_ = &m;
    }
    // The newest first, linked by `next`; null if it is empty, as it is then.
    mail* take_all() noexcept {
        mail* const all = newest_;
        *this = {};
        return all;
    }

private:
    friend class mail_queue;
    mail* newest_ = nullptr;
    mail* oldest_ = nullptr;
};

// The list without a descriptor. Its owner finds another way to be woken.
class mail_queue {
public:
    enum class posted { quietly, wake_owner, refused };

    mail_queue() = default;
    mail_queue(const mail_queue&) = delete;
    mail_queue& operator=(const mail_queue&) = delete;

    // Refused: the queue is closed and the mail still the caller's.
    posted post(mail& m) noexcept { return post(m, m); }
    // Empties the chain unless refused. An empty chain is posted quietly.
    posted post(mail_chain& chain) noexcept {
        if (chain.empty()) return posted::quietly;
        const posted how = post(*chain.newest_, *chain.oldest_);
        if (how != posted::refused) chain = {};
        return how;
    }

    // All mail in the order it was posted, linked by `next`; null if there is none. Wakes are not asked for any more.
    mail* take_all() noexcept {
        const word seen = state_.load(std::memory_order_relaxed);
        if (seen == empty || seen == closed) return nullptr;
        return in_order(state_.exchange(empty, std::memory_order_acquire)); // M2
    }

    // True: asleep, and the next post will ask for a wake-up. False: there is mail, or the queue is closed.
    bool try_sleep() noexcept {
        word seen = empty;
        // Relaxed: going to sleep publishes nothing; the post that ends it does (M1).
        return state_.compare_exchange_strong(seen, asleep, std::memory_order_relaxed, std::memory_order_relaxed) ||
               seen == asleep;
    }

    // Refuses mail from now on and returns what was left.
    mail* close() noexcept {
        const word seen = state_.exchange(closed, std::memory_order_acq_rel); // M2, M4
        return seen == closed ? nullptr : in_order(seen);
    }

private:
    using word = std::uintptr_t;
    // No mail stands at these addresses: it is aligned to more than their size.
    static constexpr word empty = 0, asleep = 1, closed = 2;
    static_assert(alignof(mail) > closed);

    posted post(mail& newest, mail& oldest) noexcept {
        word seen = state_.load(std::memory_order_relaxed);
        do {
            if (seen == closed) {
                (void)state_.load(std::memory_order_acquire); // M3: closed is final, so this reads it again
                return posted::refused;
            }
            oldest.next = seen == asleep ? nullptr : reinterpret_cast<mail*>(seen);
        } while (!state_.compare_exchange_weak(seen, reinterpret_cast<word>(&newest), std::memory_order_release, // M1
                                               std::memory_order_relaxed));
        return seen == asleep ? posted::wake_owner : posted::quietly;
    }

    static mail* in_order(word newest_first) noexcept {
        if (newest_first == asleep) return nullptr;
        mail* from = reinterpret_cast<mail*>(newest_first);
        mail* out = nullptr;
        while (from != nullptr) {
            mail* const older = from->next;
            from->next = out;
            out = from;
            from = older;
        }
        return out;
    }

    alignas(64) std::atomic<word> state_{empty}; // alone on its line: every producer writes it
};

// A queue and the eventfd that wakes its worker. Held by shared_ptr by whoever may post: it outlives the worker and the
// server, and then refuses, so that a late answer is harmless and never signals a descriptor that is someone else's by
// now.
class mailbox {
public:
    // Fails with the errno of eventfd.
    static result<std::shared_ptr<mailbox>> open();

    // Any thread. False: closed, and the mail is still the caller's. A write to the eventfd only if the worker sleeps.
    bool post(mail& m) noexcept { return finish(queue_.post(m)); }
    bool post(mail_chain& chain) noexcept { return finish(queue_.post(chain)); }
    // Any thread: makes wake_fd() readable without mail.
    void wake() noexcept { sys::eventfd_signal(event_.get()); }

    // The worker's side; see mail_queue. The loop is: take_all() and work; when there is nothing to do and try_sleep(),
    // wait with wake_fd() in the set; after that, take_all(), and acknowledge() if wake_fd() was readable.
    mail* take_all() noexcept { return queue_.take_all(); }
    bool try_sleep() noexcept { return queue_.try_sleep(); }
    mail* close() noexcept { return queue_.close(); }

    // Readable after a wake-up until acknowledge(); register it for EPOLLIN. Good as long as the mailbox.
    int wake_fd() const noexcept { return event_.get(); }
    void acknowledge() noexcept { sys::eventfd_clear(event_.get()); }

private:
    explicit mailbox(int event) noexcept : event_(event) {}

    bool finish(mail_queue::posted how) noexcept {
        if (how == mail_queue::posted::wake_owner) [[unlikely]]
            wake();
        return how != mail_queue::posted::refused;
    }

    mail_queue queue_;
    unique_fd event_;
};

} // namespace fastserve::net
