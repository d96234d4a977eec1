// Handlers of bodies in pieces, and what they say of themselves.
#pragma once

#include <fastserve/fastserve.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace fastserve::test {

// What has become of one request. All in bytes of bodies.
struct progress {
    bool runs = false;         // its handler
    std::uint64_t read = 0;    // handed out by read()
    std::uint64_t written = 0; // in pieces whose write() has returned
};

// Outlives the server.
struct journal {
    std::map<std::uint64_t, progress> requests; // by number
    std::size_t running = 0;
    std::string wrong; // what a handler has seen that must not be
};

// How a response in pieces is written.
enum : unsigned { with_trailer = 1, with_interim = 2, with_length = 4, with_sleeps = 8, all_ways = 16 };
// How one breaks off.
enum : unsigned { by_throwing, by_returning, by_deadline, all_cuts };

//     POST /take/ID/MS      reads all, sleeps after each of the first pieces; the body is the answer
//     POST /relay/ID/WAY    sends back each piece
//     POST /part/ID/COUNT   reads so many pieces; they are the answer
//     POST /early/ID        answers without reading
//     POST /timed/ID/MS     gives up each read after a while, and reads on
//     GET /pieces/ID/SIZE/WAY  writes content("pieces", ID, SIZE)
//     GET /cut/ID/SIZE/CUT     writes a part of that
void add_streams(server&, journal&);

} // namespace fastserve::test
