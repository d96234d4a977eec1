// One client with an endless pipeline beside 64 that wait for each answer: their 99th percentile is not doubled by it.
//
// What is compared is the server, not the machine:
//   - one worker has one CPU, and all clients share one thread on another, which feeds the pipeline a little while it
//     sends the others' requests and the most between the timed parts. So neither the pipeline's client nor the others'
//     take time from the worker, nor from each other while it is measured;
//   - rounds without and with the pipeline alternate, and each is compared with its neighbour: a drift hits both alike;
//   - a step in which a thread of this process had to wait for a CPU measures whoever had it, and is left out;
//   - the verdict is the majority's among many short rounds, and more are run for as long as it is not clear.
#include "site.hpp"

#include <fastserve/net/cpus.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/epoll.h>

namespace {

using namespace fastserve;
using namespace fastserve::test;
using clock = std::chrono::steady_clock;

constexpr std::size_t crowd = 64;
constexpr std::size_t steps_a_round = 4;
constexpr std::size_t least_rounds = 6;
constexpr std::chrono::milliseconds shortest = 500ms, longest = 10s;
// A wake-up takes some microseconds; another process keeps a CPU for milliseconds.
constexpr std::chrono::nanoseconds disturbed = 100us;
// Requests of the pipeline that wait to be served as a step begins: more than are served in one.
constexpr std::size_t ahead = 4'000;
// What is fed within a step, so that the pipeline's events come as an eager sender's do: behind every so many of the
// others' requests, so many of its own.
constexpr std::size_t feed_every = 16, feed = 64;
// With fewer of its requests served during a step the pipeline was not beside the others.
constexpr std::uint64_t present = 100;

// How long the threads of this process have been ready to run and did not.
class waits {
public:
    waits() {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
            files_.push_back(::open((task.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    }
    ~waits() {
        for (const int fd : files_)
            if (fd >= 0) ::close(fd);
    }
    waits(const waits&) = delete;
    waits& operator=(const waits&) = delete;

    // Nothing where the kernel does not say.
    std::chrono::nanoseconds sum() const {
        std::uint64_t total = 0;
        for (const int fd : files_) {
            std::array<char, 128> text{};
            if (::pread(fd, text.data(), text.size() - 1, 0) <= 0) continue;
            const char* const waited = std::strchr(text.data(), ' ');
            if (waited) total += std::strtoull(waited, nullptr, 10);
        }
        return std::chrono::nanoseconds(total);
    }

private:
    std::vector<int> files_;
};

// All clients, on the calling thread.
class clients {
public:
    explicit clients(const serving& s) : server_(s), pipeline_(s.port), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
        for (std::size_t i = 0; i < ahead; ++i) requests_ += one_;
        for (std::uint32_t i = 0; i < crowd; ++i) {
            others_.emplace_back(s.port);
            epoll_event e{.events = EPOLLIN, .data = {.u32 = i}};
            ::epoll_ctl(poll_, EPOLL_CTL_ADD, others_.back().fd(), &e);
        }
        pipeline_.send(one_);
        answer_bytes_ = static_cast<std::size_t>(std::max<ssize_t>(receive(pipeline_, 0), 0));
    }
    ~clients() { ::close(poll_); }
    clients(const clients&) = delete;
    clients& operator=(const clients&) = delete;

    bool good() const { return answer_bytes_ > 0; }

    // Each of the others sends a request, then waits for its answer; their latencies. Nothing: a client failed. Empty:
    // does not count.
    std::optional<std::vector<clock::duration>> step(bool with_pipeline) {
        if (with_pipeline) {
            drain();
            top_up();
        }
        const std::uint64_t served = server_.sum(&net::worker_counters::requests);
        const auto waited = waits_.sum();
        std::array<clock::time_point, crowd> sent;
        for (std::size_t i = 0; i < crowd; ++i) {
            sent[i] = clock::now();
            if (!others_[i].send(one_)) return {};
            if (with_pipeline && i % feed_every == feed_every - 1) give(feed);
        }
        std::vector<clock::duration> latencies;
        std::array<epoll_event, crowd> events;
        while (latencies.size() < crowd) {
            const int n = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 10'000);
            if (n <= 0) return {};
            for (int k = 0; k < n; ++k) {
                const std::size_t i = events[static_cast<std::size_t>(k)].data.u32;
                if (receive(others_[i], 0) != static_cast<ssize_t>(answer_bytes_)) return {};
                latencies.push_back(clock::now() - sent[i]);
            }
        }
        const bool quiet = waits_.sum() - waited < disturbed;
        const std::uint64_t its = server_.sum(&net::worker_counters::requests) - served - crowd;
        if (!quiet || (with_pipeline && its < present)) latencies.clear();
        return latencies;
    }

    // Until the pipeline has all its answers. False: they do not come.
    bool rest() {
        return eventually([&] {
            drain();
            return received_ == asked_ * answer_bytes_;
        });
    }

private:
    ssize_t receive(const client& c, int flags) { return ::recv(c.fd(), buffer_.data(), buffer_.size(), flags); }

    void drain() {
        for (ssize_t n = 0; (n = receive(pipeline_, MSG_DONTWAIT)) > 0;) received_ += static_cast<std::size_t>(n);
    }
    void top_up() {
        const std::size_t open = asked_ - received_ / answer_bytes_;
        if (open < ahead) give(ahead - open);
    }
    // Whole requests, blocking: all fit, since the kernel's buffers are larger than `ahead` of them.
    void give(std::size_t count) {
        if (pipeline_.send({requests_.data(), count * one_.size()})) asked_ += count;
    }

    const serving& server_;
    const waits waits_{};
    const std::string one_ = request("/");
    std::string requests_;
    client pipeline_;
    std::vector<client> others_;
    const int poll_;
    std::vector<char> buffer_ = std::vector<char>(256 * 1024);
    std::size_t answer_bytes_ = 0;
    std::size_t asked_ = 0, received_ = 0;
};

std::optional<double> p99_us(clients& c, bool with_pipeline, clock::time_point until) {
    std::vector<clock::duration> all;
    while (all.size() < steps_a_round * crowd) {
        if (clock::now() > until) return {};
        const auto some = c.step(with_pipeline);
        EXPECT_TRUE(some) << "a client was not answered";
        if (!some) return {};
        all.insert(all.end(), some->begin(), some->end());
    }
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 99 / 100);
    std::nth_element(all.begin(), at, all.end());
    return std::chrono::duration<double, std::micro>(*at).count();
}

enum class doubled : std::uint8_t { no, yes, unclear };

// Of rounds that are above or below 2 by chance, three quarters on one side are rare, and on the wrong side never seen.
doubled judge(const std::vector<double>& ratios) {
    const std::size_t n = ratios.size();
    const auto above =
        static_cast<std::size_t>(std::count_if(ratios.begin(), ratios.end(), [](double r) { return r > 2; }));
    if (n < least_rounds) return doubled::unclear;
    return above * 4 <= n ? doubled::no : above * 4 >= n * 3 ? doubled::yes : doubled::unclear;
}

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

// Runs rounds until the verdict is the one that is expected, or there is no time left.
doubled measure(std::uint64_t turn_requests, doubled expected) {
    const std::vector<int> cpus = net::affinity_cpus();
    if (cpus.size() < 2) {
        std::puts(
            "with one CPU the clients' thread waits for the worker, and nothing is known about the others' latency");
        return doubled::unclear;
    }
    net::worker_pool_options o;
    o.workers = 1;
    o.pin = net::pin::on;
    o.limits.turn_requests = turn_requests;
    serving s(o);
    net::pin_this_thread(cpus.back());
    const struct unpin {
        const std::vector<int>& cpus;
        ~unpin() { net::pin_this_thread(cpus); }
    } afterwards{cpus};

    clients c(s);
    EXPECT_TRUE(c.good());
    std::vector<double> without, with, ratios;
    const auto begin = clock::now(), until = begin + longest;
    p99_us(c, false, until); // warm
    while ((judge(ratios) != expected || clock::now() - begin < shortest) && !testing::Test::HasFailure()) {
        const auto a = p99_us(c, false, until);
        const auto b = a ? p99_us(c, true, until) : a;
        EXPECT_TRUE(c.rest());
        if (!b) break;
        without.push_back(*a);
        with.push_back(*b);
        ratios.push_back(*b / *a);
    }
    std::printf("p99 of %zu clients, median of %zu rounds: %.0f us; beside a pipeline %.0f us; ratio %.2f\n", crowd,
                ratios.size(), median(without), median(with), median(ratios));
    return judge(ratios);
}

// On a machine that is never quiet for long enough no verdict becomes clear, which is no failure of the server's. What
// does not depend on time is tested in worker_pool_test.
TEST(Fairness, AnEndlessPipelineDoesNotDoubleTheOthersLatency) {
    EXPECT_NE(measure(http::limits{}.turn_requests, doubled::no), doubled::yes);
}

// The same measure, where a turn may be as long as the pipeline.
TEST(Fairness, WithoutABoundOfTheTurnItWould) {
    EXPECT_NE(measure(65'536, doubled::yes), doubled::no);
}

} // namespace
