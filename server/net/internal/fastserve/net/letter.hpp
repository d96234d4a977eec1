// What is put into a worker's mailbox.
#pragma once

#include <fastserve/net/mailbox.hpp>

namespace fastserve::net {

class worker;

// Handed from any thread to one worker, which calls `deliver` on its own thread, once. The letter is part of what it
// announces (a connection, an exchange, a completion) and belongs to its sender until it is in the mailbox, to the
// worker from then on.
struct letter : mail {
    void (*deliver)(worker&, letter&) noexcept = nullptr;
    // The mailbox was closed before it was read: frees what the letter owns. Null: nothing to free.
    void (*discard)(letter&) noexcept = nullptr;
};

} // namespace fastserve::net
