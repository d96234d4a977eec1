// A coroutine that waits for its worker.
#pragma once

namespace fastserve::detail {

// Owned by its context until one of the calls, each of which ends it. On the worker's thread.
class pending {
public:
    pending() = default;
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;

    // Throws what the coroutine's next operation throws when it is started: there is no memory for it, and the
    // coroutine has been destroyed.
    virtual void resume() = 0;
    virtual void resume_later() noexcept = 0;
    // Ends the coroutine, too.
    virtual void drop() noexcept = 0;

protected:
    virtual ~pending() = default;
};

} // namespace fastserve::detail
