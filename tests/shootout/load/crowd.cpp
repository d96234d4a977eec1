#include "crowd.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace load {

namespace {

constexpr std::int64_t millisecond = 1'000'000, second = 1'000'000'000;
constexpr std::int64_t slow_tick = 10 * millisecond, longest_wait = 50 * millisecond;
constexpr std::uint64_t connecting_at_once = 128; // a queue of a listener that is longer drops them
constexpr std::size_t batch_bytes = 64 * 1024;

struct cpu_time {
    std::int64_t user = 0, system = 0;
};

cpu_time thread_cpu() noexcept {
    rusage r{};
    ::getrusage(RUSAGE_THREAD, &r);
    const auto in_ns = [](const timeval& t) { return t.tv_sec * second + t.tv_usec * 1000; };
    return {in_ns(r.ru_utime), in_ns(r.ru_stime)};
}

schedule schedule_of(const settings& s, unsigned thread) {
    if (s.rate <= 0) return schedule::closed_loop();
    if (!s.poisson) return schedule::constant(s.rate, thread, s.threads);
    return schedule::poisson(s.rate, s.threads, s.seed * 1024 + thread);
}

} // namespace

std::atomic<bool> common::interrupted{false};

std::int64_t clock_now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

crowd::crowd(const settings& s, common& shared, unsigned thread, std::uint64_t quota)
    : settings_(s), shared_(shared), thread_(thread), quota_(quota),
      per_connection_(s.per_connection == 0 ? std::numeric_limits<std::uint64_t>::max() : s.per_connection),
      batch_requests_(std::clamp<std::size_t>(batch_bytes / s.usual_request.size(), 1, s.pipeline)),
      set_(::epoll_create1(EPOLL_CLOEXEC)),
      connections_(s.connections / s.threads + (thread < s.connections % s.threads ? 1 : 0), connection(s.wanted)),
      due_times_(connections_.size() * s.pipeline), buffer_(256 * 1024), schedule_(schedule_of(s, thread)) {
    for (std::size_t i = 0; i < batch_requests_; ++i) batch_ += s.usual_request;
}

crowd::~crowd() {
    for (const connection& c : connections_)
        if (c.fd >= 0) ::close(c.fd);
    ::close(set_);
}

results crowd::run() {
    ::prctl(PR_SET_TIMERSLACK, 1ul); // the kernel may be 50 us late otherwise
    connect_all();
    shared_.connected.arrive_and_wait();
    if (shared_.open.load(std::memory_order_relaxed) == 0) return std::move(results_);
    std::int64_t unset = 0;
    now_ = clock_now();
    shared_.start.compare_exchange_strong(unset, now_, std::memory_order_relaxed);
    start_ = shared_.start.load(std::memory_order_relaxed);
    measure_from_ = start_ + settings_.warm_up;
    end_ = measure_from_ + settings_.duration;
    load();
    finish();
    return std::move(results_);
}

// Where each request has a connection of its own, one of them shows that there is a server.
void crowd::connect_all() {
    now_ = clock_now();
    end_ = now_ + settings_.timeout;
    measure_from_ = end_;
    std::uint32_t next = 0;
    const std::size_t wanted = per_connection_ == 1 ? 1 : connections_.size();
    while ((next < wanted || connecting_ > 0) && now_ < end_ && !common::stopped()) {
        while (next < wanted && connecting_ < connecting_at_once) open(next++);
        if (connecting_ > 0) wait(std::min(end_, now_ + longest_wait));
        now_ = clock_now();
    }
    unsigned open = 0;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        open += connections_[i].fd >= 0 && !connections_[i].connecting ? 1u : 0u;
        if (!connections_[i].listed) make_free(i, now_);
    }
    shared_.open.fetch_add(open, std::memory_order_relaxed);
}

void crowd::load() {
    bool measuring = false;
    cpu_time before;
    for (;;) {
        now_ = clock_now();
        if (!measuring && now_ >= measure_from_) {
            measuring = true;
            before = thread_cpu();
        }
        issue(); // also when it is over: what was due before that
        if (now_ >= end_ || common::stopped() || (issued_ == quota_ && in_flight_ == 0)) break;
        std::int64_t until = std::min(next_moment(), measuring ? end_ : measure_from_);
        if (!resting_.empty()) until = std::min(until, resting_.front().first);
        if (schedule_.paced() && !free_.empty() && issued_ < quota_) until = std::min(until, start_ + schedule_.due());
        wait(until);
    }
    if (issued_ == quota_ && in_flight_ == 0) end_ = last_answer_;
    end_ = std::min(end_, now_);
    results_.interrupted = common::stopped();
    results_.measured = std::max<std::int64_t>(end_ - measure_from_, 0);
    if (!measuring) return;
    const cpu_time after = thread_cpu();
    results_.user = after.user - before.user;
    results_.system = after.system - before.system;
    const auto cpu = static_cast<double>(results_.user + results_.system);
    results_.cpu_shares.push_back(cpu / static_cast<double>(std::max<std::int64_t>(now_ - measure_from_, 1)));
}

void crowd::finish() {
    const std::int64_t deadline = end_ + settings_.timeout;
    while (in_flight_ > 0 && now_ < deadline && !common::stopped()) {
        wait(std::min(next_moment(), deadline));
        now_ = clock_now();
    }
    sweep();
    // What is left enters the latency with the age that it has reached, for it would be the worst.
    for (std::uint32_t i = 0; i < connections_.size(); ++i)
        for (std::uint32_t k = 0; k < connections_[i].in_flight; ++k) {
            ++results_.unfinished;
            const std::int64_t due = due_time(i, k);
            if (due >= measure_from_) results_.latency.add(static_cast<std::uint64_t>(now_ - due));
        }
    if (!schedule_.paced()) return;
    for (; issued_ < quota_ && start_ + schedule_.due() < end_; schedule_.advance()) {
        if (start_ + schedule_.due() < measure_from_) continue;
        ++issued_;
        ++results_.unsent;
        results_.latency.add(static_cast<std::uint64_t>(now_ - start_ - schedule_.due()));
    }
}

// Gives what is due to whoever is free, then sends, so that requests of one connection leave together.
void crowd::issue() {
    for (; !resting_.empty() && resting_.front().first <= now_; resting_.pop_front()) {
        connections_[resting_.front().second].listed = false;
        make_free(resting_.front().second, now_);
    }
    while (!free_.empty() && issued_ < quota_) {
        const std::int64_t due = schedule_.paced() ? start_ + schedule_.due() : now_;
        if (due > now_ || due >= end_) break;
        const std::uint32_t i = free_.front();
        connection& c = connections_[i];
        free_.pop_front();
        c.listed = false;
        do assign(i, due);
        while (!schedule_.paced() && may_ask(c) && issued_ < quota_);
        schedule_.advance();
        if (!may_ask(c)) continue;
        c.listed = true;
        free_.push_back(i);
    }
    for (const std::uint32_t i : dirty_) {
        connections_[i].dirty = false;
        if (connections_[i].fd < 0) open(i);
        if (connections_[i].fd >= 0) write(i);
        if (schedule_.paced()) results_.lateness.add(static_cast<std::uint64_t>(clock_now() - connections_[i].could));
    }
    dirty_.clear();
}

void crowd::assign(std::uint32_t i, std::int64_t due) {
    connection& c = connections_[i];
    if (c.in_flight == 0) c.moved = now_;
    ++c.asked;
    ++c.in_flight;
    ++c.unsent;
    ++in_flight_;
    due_time(i, c.in_flight - 1) = due;
    if (due >= measure_from_) ++issued_;
    if (c.dirty) return;
    c.dirty = true;
    c.could = std::max(due, free_since_);
    dirty_.push_back(i);
}

std::int64_t crowd::next_moment() const {
    std::int64_t next = std::min(next_sweep_, now_ + longest_wait);
    if (settings_.read_rate > 0) next = std::min(next, next_read_);
    return next;
}

void crowd::wait(std::int64_t until) {
    std::array<epoll_event, 64> events;
    const std::int64_t left = std::max<std::int64_t>(until - clock_now(), 0);
    const timespec time{left / second, left % second};
    const int n = ::epoll_pwait2(set_, events.data(), static_cast<int>(events.size()), &time, nullptr);
    for (int i = 0; i < n; ++i)
        on_event(events[static_cast<std::size_t>(i)].data.u32, events[static_cast<std::size_t>(i)].events);
    now_ = clock_now();
    if (now_ >= next_sweep_) sweep();
    if (settings_.read_rate > 0 && now_ >= next_read_) read_slowly();
}

void crowd::sweep() {
    next_sweep_ = now_ + std::min(100 * millisecond, settings_.timeout / 4);
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        const connection& c = connections_[i];
        if (c.fd >= 0 && (c.in_flight > 0 || c.connecting) && now_ - c.moved >= settings_.timeout)
            give_up(i, c.connecting ? error_kind::connect : error_kind::timeout);
    }
}

void crowd::read_slowly() {
    const auto rate = static_cast<double>(settings_.read_rate);
    // After a pause it does not read all at once what it has not read meanwhile.
    const double most = std::max(rate / 10, 1.0);
    const double more = rate * static_cast<double>(std::min(now_ - next_read_ + slow_tick, second)) / 1e9;
    next_read_ = now_ + slow_tick;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        connection& c = connections_[i];
        if (c.fd < 0 || c.in_flight == 0) continue;
        c.credit = std::min(c.credit + more, most);
        if (c.credit >= 1) receive(i, static_cast<std::size_t>(c.credit), false);
    }
}

bool crowd::may_ask(const connection& c) const noexcept {
    return c.in_flight < settings_.pipeline && c.asked < per_connection_;
}

void crowd::make_free(std::uint32_t i, std::int64_t when) {
    if (connections_[i].listed || !may_ask(connections_[i])) return;
    if (free_.empty()) free_since_ = when;
    connections_[i].listed = true;
    free_.push_back(i);
}

std::int64_t& crowd::due_time(std::uint32_t i, std::uint32_t place) noexcept {
    const std::size_t depth = settings_.pipeline;
    return due_times_[i * depth + (connections_[i].first + place) % depth];
}

} // namespace load
