#include <fastserve/net/placement.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace fastserve::net;

std::vector<int> dense(int n) {
    std::vector<int> cpus(static_cast<std::size_t>(n));
    std::iota(cpus.begin(), cpus.end(), 0);
    return cpus;
}

// Workers, their board, and connections that come, are asked about, and leave.
struct world {
    std::vector<int> cpus;
    load_board board;
    placer where;

    struct connection {
        int worker;
        int cpu;
        flow state{};
        int moves = 0;
    };
    std::vector<connection> connections;

    explicit world(std::vector<int> worker_cpus, placement how = placement::incoming_cpu)
        : cpus(std::move(worker_cpus)), board(cpus.size()), where(how, cpus, board) {}

    int connect(int cpu) {
        const int worker = where.choose(cpu);
        board.joined(worker);
        connections.push_back({worker, cpu});
        return worker;
    }
    void ask(connection& c, std::uint32_t now) {
        const int to = where.rehome(c.worker, c.cpu, c.state, now);
        if (to == c.worker) return;
        board.left(c.worker);
        board.joined(to);
        c.worker = to;
        ++c.moves;
    }
    void ask_all(std::uint32_t now) {
        for (connection& c : connections) ask(c, now);
    }
    void disconnect(std::size_t i) {
        board.left(connections[i].worker);
        connections[i] = connections.back();
        connections.pop_back();
    }
    std::uint32_t on(int worker) const { return board.connections(worker); }
    // The group with the most, in multiples of the mean (over groups, by the CPU of a worker).
    double imbalance() const {
        std::vector<double> groups(1 + static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())));
        for (std::size_t w = 0; w < cpus.size(); ++w)
            groups[static_cast<std::size_t>(cpus[w])] += on(static_cast<int>(w));
        return *std::max_element(groups.begin(), groups.end()) * static_cast<double>(where.groups()) /
               static_cast<double>(connections.size());
    }
    double mean() const { return static_cast<double>(connections.size()) / static_cast<double>(where.groups()); }
};

TEST(placement, the_worker_of_the_cpu_that_receives) {
    world w({4, 0, 9});
    EXPECT_EQ(w.where.groups(), 3u);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(w.connect(9), 2);
        EXPECT_EQ(w.connect(4), 0);
    }
    for (const int stranger : {-1, 3, 10, 5000}) EXPECT_EQ(w.connect(stranger), 1) << "the one with the fewest";
    w.connect(0);
    EXPECT_EQ(w.connect(-1), 0);
}

TEST(placement, bpf_judges_alike) {
    world w({0, 1}, placement::bpf);
    EXPECT_EQ(w.connect(1), 1);
    EXPECT_EQ(w.connect(1), 1);
    EXPECT_EQ(w.connect(0), 0);
}

TEST(placement, unpinned_workers_share_evenly) {
    world w({-1, -1, -1});
    EXPECT_EQ(w.where.groups(), 3u);
    for (int i = 0; i < 9; ++i) w.connect(i % 2);
    for (int worker = 0; worker < 3; ++worker) EXPECT_EQ(w.on(worker), 3u);
    w.ask_all(1);
    w.ask_all(2);
    for (const auto& c : w.connections) EXPECT_EQ(c.moves, 0);
}

TEST(placement, least_loaded_counts_workers) {
    world w({0, 1, 0, 1}, placement::least_loaded);
    for (int i = 0; i < 8; ++i) w.connect(0);
    for (int worker = 0; worker < 4; ++worker) EXPECT_EQ(w.on(worker), 2u);
    w.board.set_stalled(0, true);
    w.board.left(0);
    EXPECT_NE(w.connect(0), 0);
}

TEST(placement, round_robin_takes_turns_past_the_stalled) {
    world w({0, 1, 2}, placement::round_robin);
    w.board.set_stalled(1, true);
    std::vector<int> got;
    for (int i = 0; i < 6; ++i) got.push_back(w.connect(1));
    EXPECT_EQ(got, (std::vector<int>{0, 2, 0, 2, 0, 2}));
    w.ask_all(1);
    w.ask_all(2);
    EXPECT_EQ(w.on(1), 0u) << "these placements never move a connection";
}

TEST(placement, one_worker_a_cpu_is_filled_and_the_others_are_for_stalls) {
    world w({0, 1, 0, 1, 0, 1, 0, 1}); // 8 workers on 2 CPUs
    EXPECT_EQ(w.where.groups(), 2u);
    for (int i = 0; i < 100; ++i) w.connect(i % 2);
    EXPECT_EQ(w.on(0), 50u);
    EXPECT_EQ(w.on(1), 50u);
    w.board.set_stalled(0, true);
    EXPECT_EQ(w.connect(0), 2);
    w.board.set_stalled(2, true);
    EXPECT_EQ(w.connect(0), 4);
    w.board.set_stalled(0, false);
    EXPECT_EQ(w.connect(0), 0);
}

TEST(placement, a_stalled_worker_gets_nothing) {
    world w(dense(4));
    for (int i = 0; i < 40; ++i) w.connect(i % 4);
    w.board.set_stalled(2, true);
    for (int i = 0; i < 400; ++i) {
        EXPECT_NE(w.connect(2), 2);
        EXPECT_NE(w.connect(-1), 2);
    }
    for (auto& c : w.connections) c.cpu = 2;
    for (std::uint32_t now = 1; now < 300; ++now)
        for (auto& c : w.connections)
            if (c.worker != 2) w.ask(c, now);
    EXPECT_EQ(w.on(2), 10u);
    EXPECT_LE(std::max({w.on(0), w.on(1), w.on(3)}), 1.5 * 830 / 3 + 1);

    for (int worker = 0; worker < 4; ++worker) w.board.set_stalled(worker, true);
    EXPECT_EQ(w.connect(0), 2) << "all stalled: the one with the fewest";
}

// One client thread, or a card with one queue.
TEST(placement, all_clients_on_one_cpu) {
    for (const int workers : {2, 3, 8, 64}) {
        world w(dense(workers));
        for (int i = 0; i < workers * 40; ++i) {
            w.connect(0);
            if (w.mean() >= 8) {
                ASSERT_LE(w.imbalance(), 1.5) << workers << " workers, " << i + 1 << " connections";
            }
        }
        EXPECT_GE(w.on(0), 1.4 * w.mean()) << "as many as the cap allows stay where their packets arrive";
        for (std::uint32_t now = 1; now < 50; ++now) {
            w.ask_all(now);
            ASSERT_LE(w.imbalance(), 1.5);
        }
        for (const auto& c : w.connections) EXPECT_EQ(c.moves, 0) << "those that cannot be at home stay put";
    }
}

TEST(placement, the_first_few_stay_together) {
    world w(dense(8));
    for (int i = 0; i < 12; ++i) EXPECT_EQ(w.connect(5), 5);
    EXPECT_NE(w.connect(5), 5);
}

TEST(placement, a_group_that_others_left_behind_is_thinned) {
    world w(dense(4));
    for (int i = 0; i < 400; ++i) w.connect(i % 4);
    for (std::size_t i = w.connections.size(); i-- > 0;)
        if (w.connections[i].worker != 0 && w.connections.size() > 160) w.disconnect(i);
    ASSERT_GT(w.imbalance(), 2.0);
    for (std::uint32_t now = 1; now < 100; ++now) w.ask_all(now);
    EXPECT_LE(w.imbalance(), 1.5);
    for (const auto& c : w.connections) EXPECT_LE(c.moves, 1);
}

TEST(rehome, needs_two_sightings_in_a_row) {
    world w(dense(3));
    w.connect(0);
    auto& c = w.connections[0];
    for (const int cpu : {1, 2, 1, 0, 1, -1, 2, 5000, 2}) {
        c.cpu = cpu;
        w.ask(c, 1);
        EXPECT_EQ(c.worker, 0);
    }
    w.ask(c, 1);
    EXPECT_EQ(c.worker, 2);
    EXPECT_EQ(w.on(0), 0u);
}

TEST(rehome, each_move_makes_the_next_wait_longer_until_it_settles) {
    for (const std::uint32_t start : {0u, 1u << 31, 0xffff'fff0u}) { // time may wrap
        world w(dense(2));
        w.connect(0);
        auto& c = w.connections[0];
        std::vector<std::uint32_t> gaps;
        std::uint32_t last = start;
        for (std::uint32_t now = start; gaps.size() < 10; ++now) {
            c.cpu = 1 - c.worker; // always elsewhere
            const int before = c.moves;
            w.ask(c, now);
            w.ask(c, now);
            if (c.moves == before) continue;
            EXPECT_EQ(c.moves, before + 1);
            gaps.push_back(now - last);
            last = now;
        }
        EXPECT_EQ(gaps, (std::vector<std::uint32_t>{0, 2, 4, 8, 16, 32, 64, 128, 256, 256}));
        const std::uint32_t much_later = last + 256 * 9;
        c.cpu = 1 - c.worker;
        w.ask(c, much_later);
        w.ask(c, much_later);
        c.cpu = 1 - c.worker;
        w.ask(c, much_later + 2);
        w.ask(c, much_later + 2);
        EXPECT_EQ(c.moves, 12) << "after a long stay the waits begin anew";
    }
}

TEST(rehome, does_not_fill_a_group_above_the_cap) {
    world w(dense(4));
    for (int i = 0; i < 400; ++i) w.connect(i % 4);
    for (auto& c : w.connections) c.cpu = 3;
    for (std::uint32_t now = 1; now < 300; ++now) w.ask_all(now);
    EXPECT_LE(w.imbalance(), 1.5);
    EXPECT_GE(w.on(3), 125u) << "but nearly to it";
    for (const auto& c : w.connections) EXPECT_LE(c.moves, 1);
}

TEST(rehome, within_a_group_nothing_moves) {
    world w({0, 1, 0, 1});
    w.board.set_stalled(0, true);
    EXPECT_EQ(w.connect(0), 2);
    w.board.set_stalled(0, false);
    for (std::uint32_t now = 1; now < 10; ++now) w.ask_all(now);
    EXPECT_EQ(w.connections[0].worker, 2);
}

// Clients that a scheduler moves about 64 CPUs, at several speeds: no ping-pong, and no worker is overrun.
TEST(simulation, flows_that_wander_over_64_cpus) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (const int ticks_a_cpu : {1, 3, 10, 100, 1000}) {
        world w(dense(64));
        for (int i = 0; i < 64 * 10; ++i) w.connect(below(64));
        constexpr std::uint32_t ticks = 1000; // 100 s
        double worst = 0;
        for (std::uint32_t now = 1; now <= ticks; ++now) {
            for (auto& c : w.connections) {
                if (below(ticks_a_cpu) == 0) c.cpu = below(64);
                if (below(2) == 0) w.ask(c, now);
            }
            worst = std::max(worst, w.imbalance());
        }
        EXPECT_LE(worst, 1.5) << ticks_a_cpu;
        // Following each change would be up to 500 moves; the growing waits leave a few.
        int most = 0, at_home = 0;
        for (const auto& c : w.connections) {
            most = std::max(most, c.moves);
            at_home += c.worker == c.cpu ? 1 : 0;
        }
        EXPECT_LE(most, 32) << ticks_a_cpu;
        if (ticks_a_cpu == 1000) {
            EXPECT_GE(at_home, static_cast<int>(w.connections.size() * 8 / 10)) << "steady ones are";
        }
    }
}

} // namespace
