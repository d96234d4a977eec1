// A coroutine that waits for its worker.
#pragma once

namespace fastserve::detail {

// Owned by its context until one of the calls, each of which ends it. On the worker's thread.
class pending {
public:
    pending() = default;
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;

    virtual void resume() = 0;
    virtual void resume_later() = 0;
    // Ends the coroutine, too: the loop is being destroyed.
    virtual void drop() noexcept = 0;

protected:
    virtual ~pending() = default;
};

} // namespace fastserve::detail
