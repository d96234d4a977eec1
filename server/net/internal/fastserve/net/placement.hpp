// Which worker a connection lives on: at first, and when its packets begin to arrive elsewhere. Decisions only.
//
// Thread safety: load_board from any thread. placer from any thread, too: the acceptor asks it for new connections
// while
//   each worker asks it about its own. A flow belongs to the connection's owner.
// Edges: none. The counters of a board are relaxed and publish nothing; a decision made on numbers that are a little
// old
//   is a little worse, and the next one sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fastserve::net {

enum class placement : std::uint8_t {
    incoming_cpu, // the worker of the CPU that receives the packets
    bpf,          // the same, but only with listeners among which the kernel chooses by CPU
    least_loaded, // the worker with the fewest connections
    round_robin,
};

// How many connections each worker has, and whether it is stalled (by a handler that does not return).
class load_board {
public:
    explicit load_board(std::size_t workers) : entries_(std::make_unique<entry[]>(workers)), size_(workers) {}

    std::size_t workers() const noexcept { return size_; }

    // Whoever places a connection calls joined() at once, not when the worker hears of it, so that a batch of new
    // connections is spread by the placements made a moment ago.
    void joined(int worker) noexcept { at(worker).connections.fetch_add(1, std::memory_order_relaxed); }
    void left(int worker) noexcept { at(worker).connections.fetch_sub(1, std::memory_order_relaxed); }
    void set_stalled(int worker, bool stalled) noexcept {
        at(worker).stalled.store(stalled, std::memory_order_relaxed);
    }

    std::uint32_t connections(int worker) const noexcept {
        return at(worker).connections.load(std::memory_order_relaxed);
    }
    bool stalled(int worker) const noexcept { return at(worker).stalled.load(std::memory_order_relaxed); }

private:
    // Eight to a line on purpose: written once a connection, but read for all workers at every placement.
    struct entry {
        std::atomic<std::uint32_t> connections{0};
        std::atomic<bool> stalled{false};
    };

    entry& at(int worker) const noexcept { return entries_[static_cast<std::size_t>(worker)]; }

    std::unique_ptr<entry[]> entries_;
    std::size_t size_;
};

// What a connection remembers between two questions.
struct flow {
    std::uint32_t not_before = 0; // no move before this time
    std::int16_t wanted = -1;     // the group it was last seen to belong to, if not its own
    std::uint8_t seen = 0;        // how many times in a row
    std::uint8_t moves = 0;       // recent ones: each doubles the wait for the next
};

// The numbers behind a placer's decisions. Time is in ticks of the owner's (100 ms with these defaults).
struct placement_tuning {
    std::uint32_t free_connections = 12; // a group below this takes what its CPU receives, whatever the others have
    std::uint8_t sightings = 2;          // questions in a row with the same answer before a connection moves
    std::uint32_t first_wait = 2;        // after the first move; doubled by each one
    std::uint8_t most_doublings = 7;     // 25.6 s
};

// Workers of one CPU are a group. The policy of incoming_cpu and bpf:
// - a new connection goes to the group of the CPU that receives it; an unknown CPU (-1) and one without workers mean
// the
//   group with the fewest connections;
// - in a group the first worker takes all, and the next only while it is stalled: one hot cache a CPU, the others
// spare;
// - a stalled worker gets nothing, as long as another one is not;
// - no group is filled above 1.5 x the mean (or free_connections, if that is more: 1.5 x 8): what is beyond goes to the
//   group with the fewest. One client thread, or one queue of a network card, would otherwise fill one worker alone;
// - a connection whose packets arrive at another group's CPU, twice in a row, moves there, if that stays well below the
//   cap; a connection of a group above the cap moves to the group with the fewest. After each move it waits, twice as
//   long as the last time, unless it stayed for long: a client that wanders over the CPUs is not followed for ever.
class placer {
public:
    // `cpus`: that of each worker, -1 for one that is not pinned, which is a group of its own. `board` has as many
    // workers, at least one, and outlives the placer.
    placer(placement how, std::span<const int> cpus, const load_board& board, const placement_tuning& tuning = {});

    // The worker for a new connection whose packets arrive at `incoming_cpu`.
    int choose(int incoming_cpu) noexcept;

    // The worker on which a connection of `current` shall go on; `current` if it shall stay. Whoever moves it tells the
    // board. `now` in ticks; it may wrap.
    int rehome(int current, int incoming_cpu, flow& state, std::uint32_t now) const noexcept;

    placement how() const noexcept { return how_; }
    std::size_t groups() const noexcept { return groups_.size(); }

private:
    using group = std::vector<int>; // its workers, ascending: the first is the one that is filled

    // The loads of all groups at one moment, as far as they have a worker that is not stalled.
    struct survey {
        std::uint64_t total = 0;
        std::uint32_t groups = 0;
        int fewest = -1; // group with the fewest connections; -1 if all are stalled
    };

    int group_of_cpu(int cpu) const noexcept;
    int live_worker(int group) const noexcept; // -1 if all are stalled
    std::uint64_t load_of(int group) const noexcept;
    survey look() const noexcept;
    // Whether `load` of `total` connections in `groups` is at most `percent` of what one group may hold.
    bool within(std::uint64_t load, std::uint64_t total, std::uint32_t groups, unsigned percent) const noexcept;

    int choose_by_cpu(int incoming_cpu) const noexcept;
    int choose_least_loaded() const noexcept;
    int choose_in_turn() noexcept;

    placement how_;
    placement_tuning tuning_;
    const load_board* board_;
    std::vector<group> groups_;
    std::vector<int> group_of_worker_;
    std::vector<int> group_of_cpu_; // -1: no worker there
    std::atomic<std::uint32_t> turn_{0};
};

} // namespace fastserve::net
