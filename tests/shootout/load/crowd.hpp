#pragma once

#include "answer_reader.hpp"
#include "results.hpp"
#include "schedule.hpp"
#include "settings.hpp"

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace load {

// What the threads of a run share.
//
// Thread safety: any thread may use any of it at any time. Invariants: `open` is final once the barrier has opened,
// which is also what makes it visible; `start` is set once; the others are read for their value alone, so relaxed will
// do.
struct common {
    explicit common(unsigned threads) : connected(threads) {}
    static bool stopped() noexcept { return interrupted.load(std::memory_order_relaxed); }

    std::barrier<> connected;
    std::atomic<unsigned> open{0};        // connections when the barrier opens
    std::atomic<std::int64_t> start{0};   // of all schedules; the first thread behind the barrier sets it
    static std::atomic<bool> interrupted; // set by the signal handler
};

// The connections of one thread, and the loop that drives them. A request that is due goes to the connection that has
// been free for longest; while there is none it waits in the schedule, where it keeps the time it was due.
class crowd {
public:
    // Thread `thread` of s.threads; asks at most `quota` requests, besides those of the warm-up.
    crowd(const settings& s, common& shared, unsigned thread, std::uint64_t quota);
    ~crowd();
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    // Connects, waits for the others, loads, waits for the last answers.
    results run();

private:
    struct connection {
        explicit connection(const expectation& wanted) : reader(wanted) {}

        int fd = -1;
        bool connecting = false;
        bool listed = false;                    // in free_ or resting_
        bool dirty = false;                     // in dirty_
        std::uint32_t in_flight = 0, first = 0; // a ring of due times in due_times_
        std::uint32_t unsent = 0;               // of those in flight, the last ones
        std::size_t written = 0;                // of the first unsent one
        std::uint64_t asked = 0;
        std::int64_t moved = 0; // when a byte last did
        std::int64_t could = 0; // when what it is to write could have left, had the generator been ready
        double credit = 0;      // bytes a slow reader may read
        answer_reader reader;
    };

    // The loop: crowd.cpp.
    void connect_all();
    void load();
    void finish();
    void issue();
    void assign(std::uint32_t i, std::int64_t due);
    std::int64_t next_moment() const; // when wait() has something to do besides events
    void wait(std::int64_t until);
    void sweep();
    void read_slowly();
    bool may_ask(const connection& c) const noexcept;
    void make_free(std::uint32_t i, std::int64_t when);
    std::int64_t& due_time(std::uint32_t i, std::uint32_t place) noexcept;

    // Sockets: crowd_io.cpp.
    void open(std::uint32_t i);
    void close(std::uint32_t i);
    void connected(connection& c);
    void on_event(std::uint32_t i, std::uint32_t events);
    void write(std::uint32_t i);
    void receive(std::uint32_t i, std::size_t most, bool ended);
    bool on_bytes(std::uint32_t i, std::string_view in);
    void on_answer(std::uint32_t i);
    void on_end(std::uint32_t i);
    void wrong_answer(std::uint32_t i, std::string_view why);
    void give_up(std::uint32_t i, error_kind kind);

    const settings& settings_;
    common& shared_;
    const unsigned thread_;
    const std::uint64_t quota_, per_connection_;
    std::string batch_; // as many usual requests as one send takes
    std::size_t batch_requests_;

    int set_;
    std::vector<connection> connections_;
    std::vector<std::int64_t> due_times_;
    std::vector<char> buffer_;
    std::deque<std::uint32_t> free_;
    std::deque<std::pair<std::int64_t, std::uint32_t>> resting_; // could not connect; until when
    std::vector<std::uint32_t> dirty_;                           // have something to write
    std::uint64_t connecting_ = 0, in_flight_ = 0, issued_ = 0;

    schedule schedule_;
    std::int64_t now_ = 0, start_ = 0, measure_from_ = 0, end_ = 0;
    std::int64_t free_since_ = 0; // when free_ last ceased to be empty
    std::int64_t last_answer_ = 0, next_sweep_ = 0, next_read_ = 0;
    results results_;
};

// Nanoseconds of the clock that everything here is measured with.
std::int64_t clock_now() noexcept;

} // namespace load
