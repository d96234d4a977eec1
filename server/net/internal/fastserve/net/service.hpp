// What the workers serve: the one seam between the net layer and the application layer above it.
#pragma once

#include <fastserve/http/exchange.hpp>

#include <cstdint>

namespace fastserve::http {
class refusal_writer;
}

namespace fastserve::net {

class exchange;
class worker;

// Thread safety: every call is made by the worker named in it, on its thread; several workers call at once. Nothing may
// throw or block.
class service {
public:
    virtual ~service() = default;

    // A reset exchange out of the service's pool; null when the pool is exhausted (the request is answered 503).
    virtual exchange* acquire(worker&) noexcept = 0;
    virtual void release(worker&, exchange&) noexcept = 0;

    // The head is known, the body is not. May complete the response.
    virtual http::decision route(worker&, exchange&) noexcept = 0;

    // Runs the handler. True: the response is complete. False: worker::finish() will be called for this exchange later,
    // exactly once, whatever happens to the connection meanwhile.
    virtual bool handle(worker&, exchange&) noexcept = 0;

    // What worker::ask() asked for has come: a piece of the body in http::exchange::body, or its end if that is empty;
    // or all that was to be written is sent. Neither is called for an exchange that was cancelled, nor the first after
    // worker::give_up().
    virtual void body_ready(worker&, exchange&) noexcept = 0;
    virtual void written(worker&, exchange&) noexcept = 0;

    // The peer of a suspended exchange has left, or its time is up: nobody waits for the answer. finish() is still
    // owed. What the handler has lent is its own again; http::exchange::body_error may say why.
    virtual void cancel(worker&, exchange&) noexcept = 0;

    // The peer of a suspended exchange will send nothing more, but reads on.
    virtual void peer_finished(worker&, exchange&) noexcept = 0;

    // Who words what the machine refuses by itself; null: nobody. Asked once by each worker, when it is opened.
    virtual http::refusal_writer* refusals() noexcept { return nullptr; }

    // Nothing has happened for a while: give back memory that is kept for reuse.
    virtual void idle(worker&) noexcept = 0;
};

} // namespace fastserve::net
