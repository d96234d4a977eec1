// Connections in memory, and the clock that they live by: what stands in for the kernel in a simulation.
//
// A `link` is one connection. Its server's end is a descriptor, which the layer of system calls (system.hpp) answers
// from here; its client's end is the link itself. What one end sends arrives at the other in pieces, later, or never,
// as `link_options` say; all that is random comes from seeds, so that the same calls give the same run. Epoll is
// simulated as the kernel does it, with edges: a descriptor is reported once after something has happened to it, with
// all that is true of it at the time of the report.
//
// Thread safety: all on the thread that made the network, but for owns() and clock(), which others may ask.
//
// Invariants
// * Bytes arrive in the order they were sent, each once, until the connection breaks; the end of the stream after them.
// * A send never takes more than the window has room for; a descriptor that was told EAGAIN gets an edge once half of
//   the window is free.
// * Closing a descriptor that has unread bytes, or that later gets some, or that was told to (SO_LINGER with no time),
//   breaks the connection, and what the client has not been handed by then is lost: TCP allows that, so it is what a
//   server must be prepared for.
// * The lowest free number is the next descriptor, as in the kernel: late events meet the number's next user.
#pragma once

#include <fastserve/net/system.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fastserve::net {

// SplitMix64: a seed, and then numbers.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return x ^ (x >> 31);
    }
    // Below `n`, which is not zero.
    std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(next() % n); }
    bool once_in(std::size_t n) noexcept { return below(n) == 0; }

private:
    std::uint64_t state_;
};

struct link_options {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    std::uint64_t seed = 0;
    bool splits = false;             // pieces of random size, and sends that take only a part of what there is room for
    std::uint64_t most_delay_ms = 0; // of a piece, each way
    std::size_t reset_after = never; // bytes of the client that arrive before the connection breaks
    std::size_t window = 64 * 1024;  // bytes that each end takes before the other has read some; at least 1
    std::size_t read_rate = never;   // bytes a second that the client reads
    int cpus = 0;                    // packets arrive on one of so many CPUs, now and then on another; 0: unknown
};

class simulated_network;

// The client's end, and all there is between the two.
class link {
public:
    link(simulated_network&, const link_options&);
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    // The client sends, ends its stream, or breaks the connection. What the window has no room for waits.
    void send(std::string_view);
    void finish();
    void reset() noexcept;
    // Whether it takes what arrives. It does from the beginning.
    void read(bool on) noexcept { reads_ = on; }

    // What the client has been handed and has not taken.
    std::string& received() noexcept { return received_; }
    // The server has ended its stream, or the connection is broken: nothing more will come.
    bool ended() const noexcept { return end_read_ || broken(); }
    bool broken() const noexcept { return state_ == state::broken; }
    // Nobody on the server's side knows of it any more.
    bool closed_by_server() const noexcept { return fd_ < 0; }
    // Bytes of the server that the client has not read yet.
    std::size_t unread() const noexcept { return to_client_.bytes.size(); }
    // Bytes of the client that the server has not received yet.
    std::size_t unreceived() const noexcept { return to_server_.bytes.size(); }

private:
    friend class simulated_network;

    enum class state : std::uint8_t { open, broken };

    // One direction. The bytes that have arrived come first, then those of the pieces on their way.
    struct stream {
        struct piece {
            std::uint64_t at_ms;
            std::size_t size;
        };

        std::string bytes;
        std::size_t arrived = 0;
        std::deque<piece> pieces;
        std::uint64_t end_at_ms = 0;
        bool finished = false; // its sender has ended it
        bool end_seen = false; // and the end has arrived
    };

    void add(stream&, std::string_view);
    bool arrive(stream&, std::size_t room) noexcept;
    void end(stream&) noexcept;
    bool arrive_end(stream&) noexcept;
    static std::uint64_t arrival_ms(const stream&) noexcept;
    bool read_some() noexcept;
    void break_off() noexcept;
    bool step() noexcept;
    std::uint64_t next_due() const noexcept;
    std::size_t send_room() const noexcept;
    std::uint32_t level() const noexcept;
    void edge() noexcept;

    simulated_network& net_;
    const link_options options_;
    dice dice_;
    state state_ = state::open;
    stream to_server_;
    stream to_client_;
    std::string received_;
    std::size_t arrived_in_all_ = 0; // bytes of the client
    bool reads_ = true;
    bool end_read_ = false;
    std::uint64_t read_until_ms_ = 0; // the rate allows no more before
    int cpu_ = -1;

    // The server's end.
    int fd_ = -1;
    int error_ = 0;         // that the next call reports
    bool no_space_ = false; // a send was told EAGAIN
    bool breaks_ = false;   // when it is closed
    int set_ = -1;          // it is watched by, and how
    std::uint32_t events_ = 0;
    std::uint64_t data_ = 0;
    bool queued_ = false;
};

class simulated_network final : public sys::network {
public:
    // Numbers of descriptors begin far above the kernel's.
    static constexpr int first_descriptor = 1 << 30;

    explicit simulated_network(std::uint64_t now_ms) noexcept : now_ms_(now_ms), began_ms_(now_ms) {}

    // What is random besides the links: in which order they get on.
    void seed(std::uint64_t s) noexcept { dice_ = dice(s); }
    // A new connection: the client's end, and the descriptor of the server's, which is the caller's to close.
    std::pair<std::shared_ptr<link>, int> connect(const link_options&);

    // Lets what is due arrive, and clients read. True: something did.
    bool step();
    // When the next thing is due that no call brings about; `never`: nothing is on its way.
    static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t next_due() const noexcept;
    // Whether epoll_wait would report something.
    bool has_events() const noexcept;
    std::uint64_t now_ms() const noexcept { return now_ms_; }
    void advance_to(std::uint64_t ms) noexcept { now_ms_ = ms; }
    // Links that the server has not closed.
    std::size_t open_links() const noexcept { return open_; }

    bool owns(int fd) const noexcept override;
    ssize_t recv(int fd, void* to, std::size_t size) noexcept override;
    ssize_t send(int fd, std::span<const iovec> parts, std::size_t length) noexcept override;
    ssize_t sendfile(int out, int in, off_t& offset, std::size_t size) noexcept override;
    int shutdown(int fd, int how) noexcept override;
    int close(int fd) noexcept override;
    int get_option(int fd, int level, int name, int& value) noexcept override;
    int set_option(int fd, int level, int name, const void* value, socklen_t size) noexcept override;
    int epoll_ctl(int set, int operation, int fd, const epoll_event&) noexcept override;
    int epoll_wait(int set, std::span<epoll_event>) noexcept override;
    bool clock(clockid_t, std::uint64_t& ms) const noexcept override;

private:
    friend class link;

    struct watch_set {
        int set = -1;
        std::vector<int> ready; // descriptors; whether each still is, its link knows
    };

    link* find(int fd) const noexcept;
    watch_set* find_set(int set) noexcept;
    void enqueue(link&) noexcept;

    const std::thread::id owner_ = std::this_thread::get_id();
    std::uint64_t now_ms_;
    std::uint64_t began_ms_;
    dice dice_{0};
    std::vector<std::shared_ptr<link>> descriptors_; // by number
    std::vector<std::shared_ptr<link>> links_;       // those whose clients go on after the server has closed, too
    std::vector<watch_set> sets_;
    std::size_t open_ = 0;
};

} // namespace fastserve::net
