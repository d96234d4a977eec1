#include <fastserve/net/mailbox.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

namespace {

using namespace fastserve::net;
using posted = mail_queue::posted;

struct letter : mail {
    std::uint32_t from = 0;
    std::uint64_t number = 0; // not atomic: the edge M1 -> M2 is what makes reading it legal
};

std::vector<mail*> listed(mail* m) {
    std::vector<mail*> all;
    for (; m != nullptr; m = m->next) all.push_back(m);
    return all;
}

TEST(mail_queue, keeps_the_order_and_gives_all) {
    mail_queue q;
    EXPECT_EQ(q.take_all(), nullptr);
    std::array<mail, 5> m;
    for (mail& x : m) EXPECT_EQ(q.post(x), posted::quietly);
    EXPECT_EQ(listed(q.take_all()), (std::vector<mail*>{&m[0], &m[1], &m[2], &m[3], &m[4]}));
    EXPECT_EQ(q.take_all(), nullptr);
}

TEST(mail_queue, a_chain_is_posted_in_the_order_it_was_gathered) {
    mail_queue q;
    std::array<mail, 5> m;
    mail_chain chain;
    EXPECT_TRUE(chain.empty());
    EXPECT_EQ(q.post(chain), posted::quietly);
    q.post(m[0]);
    for (std::size_t i = 1; i < 4; ++i) chain.add(m[i]);
    EXPECT_EQ(q.post(chain), posted::quietly);
    EXPECT_TRUE(chain.empty());
    q.post(m[4]);
    EXPECT_EQ(listed(q.take_all()), (std::vector<mail*>{&m[0], &m[1], &m[2], &m[3], &m[4]}));
}

TEST(mail_queue, only_the_post_that_ends_the_sleep_wakes) {
    mail_queue q;
    std::array<mail, 4> m;
    EXPECT_TRUE(q.try_sleep());
    EXPECT_TRUE(q.try_sleep());
    EXPECT_EQ(q.post(m[0]), posted::wake_owner);
    EXPECT_EQ(q.post(m[1]), posted::quietly);
    EXPECT_FALSE(q.try_sleep()) << "there is mail";
    EXPECT_EQ(listed(q.take_all()).size(), 2u);
    EXPECT_EQ(q.post(m[2]), posted::quietly) << "it has not slept again";
    EXPECT_EQ(listed(q.take_all()).size(), 1u);

    EXPECT_TRUE(q.try_sleep());
    EXPECT_EQ(q.take_all(), nullptr); // woke for another reason
    EXPECT_EQ(q.post(m[3]), posted::quietly);
}

TEST(mail_queue, closed_is_for_ever) {
    mail_queue q;
    std::array<mail, 4> m;
    q.post(m[0]);
    q.post(m[1]);
    EXPECT_EQ(listed(q.close()), (std::vector<mail*>{&m[0], &m[1]}));
    EXPECT_EQ(q.post(m[2]), posted::refused);
    mail_chain chain;
    chain.add(m[2]);
    chain.add(m[3]);
    EXPECT_EQ(q.post(chain), posted::refused);
    EXPECT_FALSE(chain.empty()) << "still the caller's";
    EXPECT_EQ(chain.take_all(), &m[3]); // the newest first
    EXPECT_EQ(m[3].next, &m[2]);
    EXPECT_EQ(m[2].next, nullptr);
    EXPECT_TRUE(chain.empty());
    EXPECT_EQ(chain.take_all(), nullptr);
    EXPECT_EQ(q.take_all(), nullptr);
    EXPECT_FALSE(q.try_sleep());
    EXPECT_EQ(q.post(m[2]), posted::refused);
    EXPECT_EQ(q.close(), nullptr);

    mail_queue sleeping;
    EXPECT_TRUE(sleeping.try_sleep());
    EXPECT_EQ(sleeping.close(), nullptr);
    EXPECT_EQ(sleeping.post(m[2]), posted::refused);
}

bool readable(int fd, int timeout_ms) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, timeout_ms) == 1;
}

TEST(mailbox, signals_only_a_sleeper) {
    const auto box = mailbox::open();
    ASSERT_TRUE(box);
    mailbox& b = **box;
    std::array<mail, 3> m;
    EXPECT_TRUE(b.post(m[0]));
    EXPECT_FALSE(readable(b.wake_fd(), 0));
    b.take_all();
    EXPECT_TRUE(b.try_sleep());
    EXPECT_TRUE(b.post(m[1]));
    EXPECT_TRUE(readable(b.wake_fd(), 0));
    b.acknowledge();
    EXPECT_TRUE(b.post(m[2]));
    EXPECT_FALSE(readable(b.wake_fd(), 0));
    EXPECT_EQ(listed(b.take_all()).size(), 2u);
    b.wake();
    EXPECT_TRUE(readable(b.wake_fd(), 0));
}

TEST(mailbox, a_late_sender_is_refused_and_touches_no_descriptor) {
    auto box = mailbox::open();
    ASSERT_TRUE(box);
    const std::shared_ptr<mailbox> responder = *box;
    responder->try_sleep();
    EXPECT_EQ((*box)->close(), nullptr);
    box->reset(); // the server is gone
    sys::fault_plan plan;
    const sys::fault_scope scope(plan);
    letter late;
    EXPECT_FALSE(responder->post(late));
    EXPECT_EQ(plan.calls(sys::call::eventfd_write), 0u);
}

TEST(mailbox, no_descriptor_left_is_an_error) {
    sys::fault_plan plan;
    plan.fail(sys::call::eventfd, 1, EMFILE);
    const sys::fault_scope scope(plan);
    const auto box = mailbox::open();
    ASSERT_FALSE(box);
    EXPECT_EQ(box.error(), std::errc::too_many_files_open);
}

// Several producers post singly and in chains while the owner takes, sleeps and is woken. Everything arrives once and
// in each producer's order; a lost wake-up would let the wait run into its deadline.
void stress(std::uint32_t producers, std::uint64_t each, bool close_early) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto opened = mailbox::open();
    ASSERT_TRUE(opened);
    const std::shared_ptr<mailbox> box = *opened;
    std::vector<std::vector<letter>> letters(producers);
    for (std::uint32_t p = 0; p < producers; ++p) letters[p] = std::vector<letter>(each);

    std::vector<std::uint64_t> accepted(producers);
    std::vector<std::thread> threads;
    for (std::uint32_t p = 0; p < producers; ++p)
        threads.emplace_back([&, p, box] {
            std::mt19937 random(seed + p);
            for (std::uint64_t i = 0; i < each;) {
                mail_chain chain;
                const std::uint64_t first = i;
                for (std::uint64_t n = 1 + random() % 4; n > 0 && i < each; --n, ++i) {
                    letters[p][i].from = p;
                    letters[p][i].number = i;
                    chain.add(letters[p][i]);
                }
                const bool alone = i - first == 1;
                if (!(alone ? box->post(letters[p][first]) : box->post(chain))) break;
                accepted[p] = i;
                if (random() % 8 == 0) std::this_thread::yield();
            }
        });

    std::vector<std::uint64_t> got(producers);
    std::uint64_t total = 0, sleeps = 0;
    bool lost = false, disorder = false;
    const auto receive = [&](mail* m) {
        while (m != nullptr) {
            auto& l = static_cast<letter&>(*m);
            m = m->next; // before the letter is given away
            disorder = disorder || l.number != got[l.from];
            got[l.from] = l.number + 1;
            ++total;
        }
    };
    const std::uint64_t stop_at = close_early ? producers * each / 2 : producers * each;
    while (total < stop_at) {
        receive(box->take_all());
        if (total >= stop_at || !box->try_sleep()) continue;
        ++sleeps;
        if (!readable(box->wake_fd(), 20'000)) {
            lost = true;
            break;
        }
        box->acknowledge();
    }
    receive(box->close());
    for (std::thread& t : threads) t.join();
    EXPECT_FALSE(lost) << "after " << total << " of " << producers * each;
    EXPECT_FALSE(disorder);
    EXPECT_EQ(got, accepted) << "what was not refused has arrived";
    EXPECT_FALSE(box->post(letters[0][0]));
    testing::Test::RecordProperty("sleeps", std::to_string(sleeps));
}

TEST(mailbox_threads, one_producer) {
    stress(1, 50'000, false);
}
TEST(mailbox_threads, four_producers) {
    stress(4, 20'000, false);
}
TEST(mailbox_threads, closed_while_they_post) {
    for (int i = 0; i < 20; ++i) stress(3, 2'000, true);
}

// The hardest case for a wake-up: every single letter finds its receiver on the way to sleep.
TEST(mailbox_threads, ping_pong) {
    auto a = mailbox::open(), b = mailbox::open();
    ASSERT_TRUE(a && b);
    constexpr int rounds = 5'000;
    const auto wait_for_one = [](mailbox& box) {
        for (;;) {
            if (mail* m = box.take_all()) return m;
            if (!box.try_sleep()) continue;
            if (!readable(box.wake_fd(), 20'000)) return static_cast<mail*>(nullptr);
            box.acknowledge();
        }
    };
    std::thread other([&] {
        for (int i = 0; i < rounds; ++i) {
            mail* m = wait_for_one(**b);
            if (m == nullptr) return;
            ++static_cast<letter*>(m)->number;
            (*a)->post(*m);
        }
    });
    letter l;
    bool lost = false;
    for (int i = 0; i < rounds && !lost; ++i) {
        (*b)->post(l);
        lost = wait_for_one(**a) == nullptr;
    }
    other.join();
    EXPECT_FALSE(lost);
    EXPECT_EQ(l.number, static_cast<std::uint64_t>(rounds));
}

} // namespace
