// A client for tests of handlers: the real server, over a network and a clock that are simulated. No sockets, no
// threads, no sleeping; the same program gives the same run each time. docs/testing.md shows how it is used.
//
//     fastserve::server app;
//     add_routes(app);
//     fastserve::test::client c(app);
//     EXPECT_EQ(c.get("/users/42").body, "Ann");
//
// What is simulated: the connections of clients, and time, for all deadlines of the server, for sleep_for() and for the
// Date field, which begins at 14 Nov 2023 22:13:20 GMT. Time stands still unless a call below lets it pass. Handlers
// given to blocking() and jobs given to offload() run in the calling thread, one after the other, when there is nothing
// else to do: they must not wait for one another.
//
// What is not: sockets, files and Asio timers that handlers use, and threads of their own. patience() says how long to
// wait for these.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fastserve {
class server;
}

namespace fastserve::test {

class world;

// What goes wrong on a client's connection. All that is random depends on the seed.
struct faults {
    std::uint64_t seed{};
    bool splits{};                          // bytes arrive in pieces of random size, and sends take only a part
    std::chrono::milliseconds delays{};     // each piece is on its way for up to so long
    std::optional<std::size_t> reset_at{};  // the connection breaks once so many bytes have reached the server
    std::size_t window{64 * 1024};          // bytes on their way in one direction; more only when some were read
    std::optional<std::size_t> read_rate{}; // bytes a second that the client reads; not zero
    bool moves{};                           // packets arrive on other CPUs now and then: workers hand it over
};

// One answer.
struct reply {
    int status{}; // 0: no whole answer came
    std::vector<std::pair<std::string, std::string>> fields{};
    std::string body{};
    std::vector<std::pair<std::string, std::string>> trailers{}; // fields behind a chunked body
    std::vector<int> interim{}; // the statuses of interim answers before it, such as 103
    bool closed{};              // the server had ended its stream when this was returned, or the connection was broken
    std::string raw{};          // the bytes as they came; without a whole answer, all that had come

    // The value of the first field of that name, in any case; empty if there is none.
    std::string_view field(std::string_view name) const noexcept;
};

// One connection to a server that was not started and never will be. The first client drives the server's workers from
// then on; several clients of one server, or of several, may live at the same time, and share the clock.
//
// With options::workers left at 0 the server has one worker; otherwise so many as the options say, and connections are
// given to them in turn. start() and listen() serve nobody any more; stop() drains, and who comes then is closed at
// once.
//
// Lifetime: shorter than the server's. When it ends the connection is reset, and handlers that are suspended are
// cancelled.
//
// Thread: all clients of a program on one thread, which runs the handlers too.
//
// Errors: the constructor throws std::logic_error when the server was started or another thread has clients, and
// std::system_error when the server cannot be opened. A request that brings no answer is a reply with status 0.
class client {
public:
    explicit client(server&, faults = {});
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    // A GET request for a target such as "/a?b=c", and its answer; see read().
    reply get(std::string_view target);
    // Sends bytes as they are, and reads the first answer that has not been read yet.
    reply send(std::string_view wire);
    // The next answer. As much time passes as it takes, until the answer is whole, the connection has ended, or an hour
    // has passed. `to_head`: it answers HEAD, and so has no body (send() sees that by itself).
    reply read(bool to_head = false);

    // The next answer if it has come, and nothing otherwise; no time passes.
    std::optional<reply> try_read(bool to_head = false);

    // Sends without waiting; what happens at once has happened when it returns.
    void write(std::string_view wire);
    // Ends the sending side, as shutdown(SHUT_WR) does; answers can still be read.
    void finish_sending();
    // Breaks the connection.
    void reset();
    // Stops and goes on taking what the server sends, as a peer that does not read.
    void pause();
    void resume();

    // Lets time pass. All that falls due meanwhile happens, in its order.
    void advance(std::chrono::milliseconds);
    // The same, but only to where something may happen next, if that comes sooner.
    void step(std::chrono::milliseconds most);
    // Lets what can happen now happen; no time passes.
    void run();
    // server::stop() drains in simulated time while clients live, all of which must outlive the call. As often as it
    // would wait, it calls `act`, for what clients do meanwhile; time passes there by the calls above, and by itself
    // when there was none.
    void meanwhile(std::function<void()> act);
    // Since the first client began.
    std::chrono::milliseconds now() const noexcept;

    // What has come and was not read. Good until the next call.
    std::string_view received() const noexcept;
    // Takes the first `size` bytes of received().
    void consume(std::size_t size);
    // Bytes of write() that the server has not taken yet: it reads a streamed body only as fast as its handler does.
    std::size_t held_back() const noexcept;
    // The server has ended its stream and all that it sent has come, or the connection is broken.
    bool closed() const noexcept;
    // It was broken: by the server, by a fault, or by reset().
    bool broken() const noexcept;

    // Real time that read(), get() and send() wait, and run() with them, for what is not simulated, as long as a
    // handler has not finished and nothing else can happen. Zero, the default: nothing is waited for.
    void patience(std::chrono::milliseconds) noexcept;

private:
    struct connection;
    std::unique_ptr<connection> c_;
};

} // namespace fastserve::test
