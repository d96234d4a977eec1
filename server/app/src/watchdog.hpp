// A thread that looks at something every so often.
//
// Thread safety: start() and stop() by one thread at a time, not by `look`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace fastserve::detail {

class watchdog {
public:
    static constexpr std::chrono::milliseconds period{250};

    watchdog() = default;
    ~watchdog() { stop(); }
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    // Calls `look` on its own thread every period, until stop(). Throws std::system_error when there is no thread.
    void start(std::function<void()> look);
    // Returns when `look` does not run any more.
    void stop();

private:
    void run(const std::function<void()>& look);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false;
    std::thread thread_;
};

} // namespace fastserve::detail
