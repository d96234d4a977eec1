#include <fastserve/net/placement.hpp>

#include <algorithm>
#include <cassert>

namespace fastserve::net {

namespace {

constexpr std::size_t at(int i) noexcept {
    return static_cast<std::size_t>(i);
}

// A connection moves into a group only well below the cap: at the cap itself, the next departure elsewhere would send
// it away again.
constexpr unsigned percent_for_moves = 87;

// A connection that stayed this many times its wait is steady, and its next move counts as its first.
constexpr std::uint32_t steady = 8;

} // namespace

placer::placer(placement how, std::span<const int> cpus, const load_board& board, const placement_tuning& tuning)
    : how_(how), tuning_(tuning), board_(&board), group_of_worker_(cpus.size()) {
    assert(!cpus.empty() && cpus.size() == board.workers());
    const int highest = *std::max_element(cpus.begin(), cpus.end());
    group_of_cpu_.assign(at(std::max(highest, 0)) + 1, -1);
    for (std::size_t worker = 0; worker < cpus.size(); ++worker) {
        int g = group_of_cpu(cpus[worker]);
        if (g < 0) {
            g = static_cast<int>(groups_.size());
            groups_.emplace_back();
            if (cpus[worker] >= 0) group_of_cpu_[at(cpus[worker])] = g;
        }
        groups_[at(g)].push_back(static_cast<int>(worker));
        group_of_worker_[worker] = g;
    }
}

int placer::group_of_cpu(int cpu) const noexcept {
    return cpu >= 0 && at(cpu) < group_of_cpu_.size() ? group_of_cpu_[at(cpu)] : -1;
}

int placer::live_worker(int g) const noexcept {
    for (const int worker : groups_[at(g)])
        if (!board_->stalled(worker)) return worker;
    return -1;
}

std::uint64_t placer::load_of(int g) const noexcept {
    std::uint64_t load = 0;
    for (const int worker : groups_[at(g)]) load += board_->connections(worker);
    return load;
}

placer::survey placer::look() const noexcept {
    survey all;
    std::uint64_t least = 0;
    for (int g = 0; at(g) < groups_.size(); ++g) {
        if (live_worker(g) < 0) continue;
        const std::uint64_t load = load_of(g);
        if (all.fewest < 0 || load < least) {
            all.fewest = g;
            least = load;
        }
        all.total += load;
        ++all.groups;
    }
    return all;
}

bool placer::within(std::uint64_t load, std::uint64_t total, std::uint32_t groups, unsigned percent) const noexcept {
    if (load * 100 <= std::uint64_t{tuning_.free_connections} * percent) return true;
    return load * groups * 200 <= 3 * total * percent; // load <= 1.5 x total / groups x percent / 100
}

int placer::choose(int incoming_cpu) noexcept {
    switch (how_) {
    case placement::incoming_cpu:
    case placement::bpf:
        return choose_by_cpu(incoming_cpu);
    case placement::least_loaded:
        return choose_least_loaded();
    case placement::round_robin:
        break;
    }
    return choose_in_turn();
}

int placer::choose_by_cpu(int incoming_cpu) const noexcept {
    const survey all = look();
    if (all.fewest < 0) return choose_least_loaded(); // all stalled: it must go somewhere
    const int g = group_of_cpu(incoming_cpu);
    if (g >= 0) {
        const int worker = live_worker(g);
        if (worker >= 0 && within(load_of(g) + 1, all.total + 1, all.groups, 100)) return worker;
    }
    const int worker = live_worker(all.fewest);
    return worker >= 0 ? worker : choose_least_loaded(); // it may have stalled since look()
}

int placer::choose_least_loaded() const noexcept {
    int best = 0;
    for (int worker = 1; at(worker) < group_of_worker_.size(); ++worker) {
        const bool stalled = board_->stalled(worker), best_stalled = board_->stalled(best);
        if (stalled != best_stalled ? best_stalled : board_->connections(worker) < board_->connections(best))
            best = worker;
    }
    return best;
}

int placer::choose_in_turn() noexcept {
    const auto workers = static_cast<std::uint32_t>(group_of_worker_.size());
    std::uint32_t worker = 0;
    for (std::uint32_t tries = 0; tries < workers; ++tries) {
        worker = turn_.fetch_add(1, std::memory_order_relaxed) % workers;
        if (!board_->stalled(static_cast<int>(worker))) break;
    }
    return static_cast<int>(worker);
}

int placer::rehome(int current, int incoming_cpu, flow& state, std::uint32_t now) const noexcept {
    if (how_ != placement::incoming_cpu && how_ != placement::bpf) return current;
    const int own = group_of_worker_[at(current)];
    int wanted = group_of_cpu(incoming_cpu);
    if (wanted == own) wanted = -1;
    if (wanted != state.wanted) {
        state.wanted = static_cast<std::int16_t>(wanted);
        state.seen = 0;
    }
    if (wanted >= 0 && state.seen < tuning_.sightings) ++state.seen;
    const bool follow = wanted >= 0 && state.seen >= tuning_.sightings;
    const std::uint64_t load = load_of(own);
    if (!follow && load <= tuning_.free_connections) return current; // the common case, without a look at the others

    const bool waiting = state.moves != 0 && static_cast<std::int32_t>(state.not_before - now) > 0;
    if (waiting) return current;

    const survey all = look();
    int to = -1;
    if (follow && within(load_of(wanted) + 1, all.total, all.groups, percent_for_moves)) to = live_worker(wanted);
    if (to < 0 && all.fewest >= 0 && all.fewest != own && !within(load, all.total, all.groups, 100))
        to = live_worker(all.fewest);
    if (to < 0) return current;

    const std::uint32_t last_wait = tuning_.first_wait << state.moves;
    if (state.moves != 0 && now - state.not_before >= last_wait * steady) state.moves = 0;
    state.not_before = now + (tuning_.first_wait << state.moves);
    if (state.moves < tuning_.most_doublings) ++state.moves;
    state.wanted = -1;
    state.seen = 0;
    return to;
}

} // namespace fastserve::net
