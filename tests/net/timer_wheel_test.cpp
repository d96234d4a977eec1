#include <fastserve/net/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace fastserve::net;

constexpr tick reach = static_cast<tick>(timer_wheel::slots);

// Moves to `now` and returns what expired.
std::vector<timer_node*> expired(timer_wheel& wheel, tick now) {
    std::vector<timer_node*> out;
    const std::size_t count = wheel.advance(now, [&](timer_node& n) {
        EXPECT_FALSE(n.scheduled());
        out.push_back(&n);
    });
    EXPECT_EQ(count, out.size());
    EXPECT_TRUE(wheel.is_valid());
    return out;
}

using nodes = std::vector<timer_node*>;

TEST(timer_wheel, expires_at_its_tick_and_not_before) {
    for (const tick start : {0u, 1000u, std::numeric_limits<tick>::max() - 3}) { // the last one wraps
        for (const tick delay : {1u, 2u, 63u, 64u, 65u, reach - 1, reach, reach + 1, 3 * reach, 100'000u}) {
            timer_wheel wheel(start);
            timer_node n;
            wheel.schedule(n, start + delay);
            EXPECT_TRUE(n.scheduled());
            for (tick i = 1; i < delay; ++i) ASSERT_EQ(wheel.advance(start + i, [](timer_node&) {}), 0u) << delay;
            EXPECT_TRUE(wheel.is_valid());
            EXPECT_EQ(expired(wheel, start + delay), nodes{&n});
            EXPECT_TRUE(wheel.empty());
            EXPECT_EQ(wheel.next_due(), std::nullopt);
        }
    }
}

TEST(timer_wheel, a_jump_over_many_ticks_misses_nothing) {
    timer_wheel wheel(7);
    std::vector<timer_node> all(3000);
    for (std::size_t i = 0; i < all.size(); ++i) wheel.schedule(all[i], 8 + static_cast<tick>(i));
    EXPECT_EQ(expired(wheel, 7 + 1000).size(), 1000u);
    EXPECT_EQ(expired(wheel, 7 + 10'000).size(), 2000u);
}

TEST(timer_wheel, due_already_expires_at_the_next_tick) {
    timer_wheel wheel(100);
    timer_node now, past;
    wheel.schedule(now, 100);
    wheel.schedule(past, 3);
    EXPECT_EQ(expired(wheel, 100), nodes{});
    EXPECT_EQ(wheel.next_due(), 101u);
    EXPECT_EQ(expired(wheel, 101).size(), 2u);
}

TEST(timer_wheel, time_does_not_go_back) {
    timer_wheel wheel(100);
    timer_node n;
    wheel.schedule(n, 101);
    EXPECT_EQ(expired(wheel, 50), nodes{});
    EXPECT_EQ(wheel.current(), 100u);
    wheel.cancel(n);
}

TEST(timer_wheel, later_is_lazy_and_earlier_is_not) {
    timer_wheel wheel(0);
    timer_node n;
    wheel.schedule(n, 10);
    wheel.schedule(n, 300);
    EXPECT_EQ(n.deadline(), 300u);
    EXPECT_EQ(wheel.next_due(), 10u) << "it stays where it is filed";
    EXPECT_EQ(expired(wheel, 10), nodes{});
    EXPECT_EQ(wheel.next_due(), 300u);
    wheel.schedule(n, 20);
    EXPECT_EQ(wheel.next_due(), 20u) << "an earlier deadline must not be missed";
    wheel.schedule(n, 400);
    wheel.schedule(n, 30);
    EXPECT_EQ(expired(wheel, 20), nodes{});
    EXPECT_EQ(expired(wheel, 29), nodes{});
    EXPECT_EQ(expired(wheel, 30), nodes{&n});
    EXPECT_EQ(wheel.size(), 0u);
}

TEST(timer_wheel, far_deadlines_are_looked_at_once_a_revolution) {
    timer_wheel wheel(0);
    timer_node n;
    constexpr tick days = 7 * 24 * 3600 * 10; // a week of 100 ms
    wheel.schedule(n, days);
    int visits = 0;
    while (n.scheduled()) {
        const tick next = *wheel.next_due();
        ASSERT_LE(next, days);
        ++visits;
        wheel.advance(next, [&](timer_node&) { EXPECT_EQ(wheel.current(), days); });
    }
    EXPECT_LE(visits, static_cast<int>(days / (reach - 1)) + 2);
}

TEST(timer_wheel, cancelled_ones_do_not_expire) {
    timer_wheel wheel(0);
    timer_node a, b;
    wheel.cancel(a);
    wheel.schedule(a, 5);
    wheel.schedule(b, 5);
    wheel.cancel(a);
    wheel.cancel(a);
    EXPECT_EQ(wheel.size(), 1u);
    EXPECT_EQ(wheel.next_due(), 5u);
    EXPECT_EQ(expired(wheel, 5), nodes{&b});
    wheel.schedule(a, 7);
    wheel.cancel(a);
    EXPECT_EQ(wheel.next_due(), std::nullopt);
}

TEST(timer_wheel, a_node_moves_to_another_wheel) {
    timer_wheel from(0), to(5);
    timer_node n;
    from.schedule(n, 10);
    from.cancel(n);
    to.schedule(n, n.deadline());
    EXPECT_EQ(expired(from, 1000), nodes{});
    EXPECT_EQ(expired(to, 10), nodes{&n});
}

TEST(timer_wheel, what_is_called_may_reschedule_cancel_and_destroy) {
    timer_wheel wheel(0);
    auto dies = std::make_unique<timer_node>();
    timer_node again, victim, other;
    int calls = 0;
    wheel.schedule(*dies, 3);
    wheel.schedule(again, 3);
    wheel.schedule(victim, 4);
    wheel.schedule(other, 4);
    wheel.advance(4, [&](timer_node& n) {
        ++calls;
        if (&n == dies.get()) dies.reset();
        if (&n == &again) {
            wheel.schedule(again, 4); // due now: not again in this call
            wheel.cancel(victim);     // due in this very call
            wheel.schedule(other, 9);
        }
        EXPECT_NE(&n, &victim);
    });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(dies, nullptr);
    EXPECT_TRUE(wheel.is_valid());
    EXPECT_EQ(expired(wheel, 5), nodes{&again});
    EXPECT_EQ(expired(wheel, 9), nodes{&other});
}

TEST(timer_wheel, forgets_what_is_left) {
    timer_node n;
    {
        timer_wheel wheel(0);
        wheel.schedule(n, 5);
    }
    EXPECT_FALSE(n.scheduled());
}

// Against a model that keeps every deadline in a map, by an owner that sleeps until next_due() at the longest.
TEST(timer_wheel, random_work_agrees_with_a_map) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&random](tick n) { return static_cast<tick>(random() % n); };
    tick now = static_cast<tick>(random());
    std::vector<timer_node> all(200);
    timer_wheel wheel(now);
    std::map<timer_node*, tick> model;
    std::size_t total = 0;
    for (int step = 0; step < 60'000; ++step) {
        timer_node& n = all[below(200)];
        const tick spread = below(10) == 0 ? 5 * reach : below(3) == 0 ? reach : 20;
        switch (below(4)) {
        case 0:
            wheel.cancel(n);
            model.erase(&n);
            break;
        case 1:
        case 2:
            wheel.schedule(n, now + below(spread) - 2);
            model[&n] = n.deadline();
            break;
        case 3: {
            tick next = now + below(spread);
            const auto due = wheel.next_due();
            ASSERT_EQ(due.has_value(), !model.empty());
            if (due && below(2) == 0) next = *due;
            // Nothing may expire before next_due: the model knows the truth.
            for (const auto& [node, deadline] : model) {
                if (due && is_after(*due, deadline)) {
                    ASSERT_EQ(*due, now + 1) << "only what was due already";
                }
            }
            now = is_after(next, now) ? next : now;
            const bool moved = now != wheel.current();
            wheel.advance(now, [&](timer_node& node) {
                const auto found = model.find(&node);
                ASSERT_NE(found, model.end());
                ASSERT_FALSE(is_after(found->second, now));
                model.erase(found);
                ++total;
            });
            for (const auto& [node, deadline] : model) ASSERT_TRUE(!moved || is_after(deadline, now)) << "missed";
            break;
        }
        }
        ASSERT_EQ(wheel.size(), model.size());
        if (step % 64 == 0) {
            ASSERT_TRUE(wheel.is_valid());
        }
    }
    EXPECT_GT(total, 1000u);
}

} // namespace
