// Peers of a simulation: what they send, what they are owed for it, and how they behave.
#pragma once

#include "streams.hpp"

#include <fastserve/net/simulated_network.hpp>
#include <fastserve/test/client.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {

using net::dice;
using std::chrono::milliseconds;

// The server of all simulations; short, so that an afternoon is.
constexpr milliseconds head_time{2'000}, idle_time{5'000}, body_time{1'000}, stall_time{3'000}, route_time{1'500};
constexpr milliseconds linger_time{5'000}; // the machine's own
constexpr std::size_t body_rate = 1'000, largest_body = 20'000;
// What may have been received of a body and not handed out: a piece, and a few heads of chunks.
constexpr std::size_t largest_piece = 64 * 1024 + 1'024;
// What handlers that were cut have to end.
constexpr milliseconds cancelled_time{200};
// What a deadline may be late.
constexpr milliseconds two_ticks{500};

// What the handlers answer.
std::string content(std::string_view kind, std::uint64_t id, std::size_t size);

// An answer that is owed.
struct owed {
    int status;
    std::string body{}; // of a 200
    bool to_head{};
    bool last{};                       // the server closes after it
    bool may_be_last{};                // or may
    bool partial{};                    // never comes whole: its time counts from its first byte
    bool dawdles{};                    // it is sent in small pieces, and slowly
    bool some{};                       // only the beginning of the body, and nobody knows how much
    bool cut{};                        // it breaks off; of the body there is some
    bool resets{};                     // ... and so does the connection
    bool trailer{}, interim{};         // X-Id, 103
    milliseconds least{}, most{1};     // from when it can be worked on to when it is here; most 0: any
    std::optional<std::uint64_t> id{}; // of a handler that keeps a journal
    std::size_t body_at{}, end{};      // where its request's body begins and ends in the peer's bytes
    milliseconds begun{-1}, sent{-1};  // when its first and last byte were sent
};

class peer {
public:
    peer(server&, dice&, std::uint64_t& next_id, const journal&);

    // Does something, or waits. Afterwards wrong() says whether what has come is right.
    void act();
    // Takes what has come.
    void watch();
    // It does not act any more.
    void rest();
    // The server drains from now on, and cuts what is then still in flight at that time.
    void drain(milliseconds cut_at);
    // It has got all that it was owed, or is not owed anything any more.
    bool done() const noexcept;
    const std::string& wrong() const noexcept { return wrong_; }
    // What must be true when the server had the time for all that it does by itself.
    void check_end();
    std::uint64_t answers() const noexcept { return answers_; }
    client& connection() noexcept { return *client_; }

private:
    enum class ending : std::uint8_t {
        idle,         // sends nothing more
        half_close,   // ends its stream
        reset,        // breaks off, somewhere
        broken,       // the network breaks off, somewhere
        says_close,   // "Connection: close", and then more than it may send
        old,          // HTTP/1.0
        garbage,      // what is no request
        large_body,   // one that is refused before it has come
        partial_head, // and no more
        partial_body,
        partial_stream, // the same, to a handler that reads it
        stalls,         // does not read any more
        pauses,         // does not read for a while
    };

    void write_requests(std::uint64_t& next_id);
    void write_ending(std::uint64_t& next_id);
    void write_streamed(std::uint64_t id);
    void write_cut(std::uint64_t id, bool old);
    void write_partial_body(std::uint64_t id, const std::string& target, bool cut);
    void add(std::string_view wire, owed);
    bool send_some(); // true: there should be some time before more
    void collect();
    void check(const reply&);
    void check_cut();
    void check_time(std::size_t size);
    void check_progress();
    void fail(std::string why);
    // The drain may have ended the connection so, without an answer that is owed.
    bool lost_in_drain() const noexcept;
    // Nothing is owed to who breaks the connection or the rules.
    bool forgiven() const noexcept { return rude_ || ending_ == ending::reset || ending_ == ending::broken; }

    dice& dice_;
    const journal& journal_;
    ending ending_;
    milliseconds delays_{};
    bool slow_ = false; // answers take longer than the delays
    std::size_t window_ = faults{}.window;
    std::string wire_;
    std::size_t sent_ = 0;
    std::size_t reset_at_ = 0; // ending::reset
    std::vector<owed> owed_;
    std::size_t got_ = 0;      // of owed_
    bool over_ = false;        // there is no more to come
    milliseconds last_got_{0}; // when
    milliseconds paused_{-1};
    bool stalled_ = false;
    bool rude_ = false;
    milliseconds wait_until_{0};
    milliseconds drain_at_{-1}, cut_at_{-1};
    std::size_t arrived_ = 0; // of its bytes, when the drain began
    bool ended_ = false;      // its stream, or itself
    std::uint64_t answers_ = 0;
    std::string wrong_;
    std::unique_ptr<client> client_;
};

} // namespace fastserve::test
