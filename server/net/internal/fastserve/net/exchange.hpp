// An exchange together with where it runs and whom it answers.
#pragma once

#include <fastserve/http/exchange.hpp>
#include <fastserve/net/letter.hpp>
#include <fastserve/net/peer_name.hpp>
#include <fastserve/pool/tagged_index.hpp>

#include <cstdint>

namespace fastserve::net {

class worker;

// What a suspended handler asks its worker for.
enum class ask : std::uint8_t {
    nothing,
    finish,  // its response is complete
    body,    // the next piece of the request's body; answered by service::body_ready()
    write,   // to send http::exchange::outgoing; answered by service::written()
    interim, // to send the interim response `interim_status`; likewise
    no_more, // nothing: what it was to be was given up
};

// Ownership: an exchange belongs to the pool of the service that made it. While a request is in work it is lent to one
// connection; when that connection ends first, it is *orphaned* and belongs to its handler until that finishes.
//
// Thread safety: used by the worker `on`; a blocking handler has it to itself from its start to its completion, which
// travels back as a letter.
class exchange : public http::exchange, public letter {
public:
    using http::exchange::exchange;

    // Called when it goes back to the pool.
    void reset() noexcept {
        http::exchange::reset();
        connection = {};
        suspended = orphaned = false;
        asked = ask::nothing;
    }

    worker* on = nullptr;      // whose thread serves it; null while in the pool
    pool::handle connection{}; // whom it answers
    peer_name peer{};
    bool suspended = false;   // its handler has not finished when its turn ended
    bool orphaned = false;    // nobody waits for the answer any more
    ask asked = ask::nothing; // and the worker has not done it yet
    std::uint16_t interim_status = 0;
    exchange* next = nullptr; // in the worker's list of those that have asked
};

} // namespace fastserve::net
