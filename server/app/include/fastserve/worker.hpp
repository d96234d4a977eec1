// The worker a request is served by, and what belongs to each of them.
#pragma once

#include <fastserve/request.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fastserve {

class server;

// One event loop of the server.
//
// Lifetime: as the server. Thread: index() and executor() may be called from any thread; work posted to the executor
// runs on the worker's thread.
class worker {
public:
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // From 0.
    unsigned index() const noexcept { return index_; }
    // What a coroutine handler runs on: give it to the I/O objects that the handler awaits.
    boost::asio::any_io_executor executor() const noexcept {
        handed_out_(of_);
        return executor_;
    }

    // For the server.
    worker(unsigned index, boost::asio::any_io_executor executor, void (*handed_out)(void*) noexcept, void* of)
        : index_(index), executor_(std::move(executor)), handed_out_(handed_out), of_(of) {}

private:
    unsigned index_;
    boost::asio::any_io_executor executor_;
    void (*handed_out_)(void*) noexcept; // tells the loop that it is needed
    void* of_;
};

unsigned worker_count(const server&) noexcept;

namespace detail {
// Whether the handler of this request runs on its worker's thread: all but blocking ones do.
bool runs_on_worker(const request&) noexcept;
} // namespace detail

// One T a worker, for what must not be shared between threads: a database pool, a cache, a generator of numbers. Made
// on the worker's own thread when a handler there first asks for it.
//
// Lifetime: declare it after the server, and stop the server before it ends. If T holds I/O objects, make them with
// worker::executor(). Thread: the worker's.
template <class T>
class per_worker {
public:
    // `make` is called on several threads at once.
    per_worker(server& s, std::function<T(worker&)> make) : make_(std::move(make)), slots_(worker_count(s)) {}

    // The T of the worker that serves this request. Throws what making it throws, and std::logic_error in a blocking
    // handler, whose thread is not the worker's.
    T& operator()(const request& q) {
        if (!detail::runs_on_worker(q)) throw std::logic_error("per_worker is not for blocking handlers");
        worker& w = q.on();
        std::unique_ptr<T>& slot = slots_[w.index()].value;
        if (!slot) slot.reset(new T(make_(w))); // not make_unique: T may be one that cannot be moved
        return *slot;
    }

private:
    // A line each: neighbours belong to different threads.
    struct alignas(64) place {
        std::unique_ptr<T> value;
    };

    std::function<T(worker&)> make_;
    std::vector<place> slots_;
};

} // namespace fastserve
