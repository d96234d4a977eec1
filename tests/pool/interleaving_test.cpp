// Every interleaving of a few operations on the lock-free list; interleaving.hpp says what that shows and what not.
#include "interleaving.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fastserve::pool::interleaving {
namespace {

// All scripts of three operations that begin by removing something; putting before that does nothing.
std::vector<std::string> all_scripts(std::string_view operations) {
    std::vector<std::string> scripts;
    for (const char first : operations) {
        if (first != 'p' && first != 't') continue;
        for (const char second : operations) {
            for (const char third : operations) scripts.push_back({first, second, third});
        }
    }
    return scripts;
}

struct totals {
    std::size_t explorations = 0, states = 0, ends = 0, faults = 0;
    std::string first_fault;

    void add(const report& one) {
        ++explorations;
        states += one.states;
        ends += one.ends;
        if (one.fault.empty()) return;
        if (++faults == 1) first_fault = one.fault;
    }
};

template <unsigned TagBits>
totals two_threads(std::string_view operations) {
    totals sum;
    const auto scripts = all_scripts(operations);
    for (std::size_t magazines = 1; magazines <= 3; ++magazines) {
        for (std::size_t a = 0; a != scripts.size(); ++a) {
            for (std::size_t b = a; b != scripts.size(); ++b)
                sum.add(explore<TagBits>({scripts[a], scripts[b]}, magazines));
        }
    }
    return sum;
}

// Two threads that run each pair of scripts, beside each of `thirds`.
template <unsigned TagBits>
totals three_threads(std::string_view operations, const std::vector<std::string>& thirds) {
    totals sum;
    const auto scripts = all_scripts(operations);
    for (std::size_t a = 0; a != scripts.size(); ++a) {
        for (std::size_t b = a; b != scripts.size(); ++b) {
            for (const std::string& c : thirds) sum.add(explore<TagBits>({scripts[a], scripts[b], c}, 3));
        }
    }
    return sum;
}

TEST(Interleaving, OneThreadAloneTakesOnePath) {
    const report one = explore({"pon"}, 3);
    EXPECT_EQ(one.fault, "");
    EXPECT_EQ(one.ends, 1u);
}

// The numbers of states are those that a correct list has; they say that the test did explore.
TEST(Interleaving, TwoThreadsOfThreeOperations) {
    const totals sum = two_threads<40>("ponta");
    EXPECT_EQ(sum.faults, 0u) << sum.first_fault;
    EXPECT_EQ(sum.explorations, 3u * 50 * 51 / 2);
    EXPECT_GT(sum.states, 1'000'000u);
}

TEST(Interleaving, ThreeThreadsOfThreeOperations) {
    const totals sum = three_threads<40>("po", all_scripts("po"));
    EXPECT_EQ(sum.faults, 0u) << sum.first_fault;
    EXPECT_GT(sum.states, 1'000'000u);
}

TEST(Interleaving, TwoThreadsOfThreeOperationsBesideATrim) {
    const totals sum = three_threads<40>("po", {"tap"});
    EXPECT_EQ(sum.faults, 0u) << sum.first_fault;
    EXPECT_GT(sum.states, 200'000u);
}

// Two removals wrap a tag of one bit. These fail when the explorer cannot see what it is there to see.
TEST(Interleaving, OneBitTagFallsToAbaWithTwoThreads) {
    // The third operation of the second thread makes it: pop A, pop B, put A. The first thread still believes that B is
    // behind A.
    EXPECT_NE(explore<1>({"ppp", "ppo"}, 3).fault, "");
    EXPECT_EQ(explore<2>({"ppp", "ppo"}, 3).fault, "");
    EXPECT_GT(two_threads<1>("po").faults, 0u);
}

TEST(Interleaving, OneBitTagFallsToAbaWithThreeThreads) {
    EXPECT_GT(three_threads<1>("po", all_scripts("po")).faults, 0u);
}

} // namespace
} // namespace fastserve::pool::interleaving
