#include <fastserve/net/worker_pool.hpp>

#include <fastserve/net/signals_blocked.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

namespace fastserve::net {

namespace {

// Slots beyond max-connections, for connections that are only told that there is no room.
constexpr std::uint32_t refusal_slots = 1024;
// Bodies are bounded by their limits; this bounds what those can be set to.
constexpr std::size_t largest_buffer = (std::size_t{4} << 30) - 1;
constexpr std::chrono::milliseconds drain_look{5};
// How long workers have to empty the queues of their listeners, before that is done for them.
constexpr std::chrono::milliseconds finish_time{2 * worker::stall_ms};
// How long handlers that were cut have to notice.
constexpr std::uint64_t cancelled_time_ms = 200;
// What a pool's index can name.
constexpr std::uint32_t most_slots = (1u << 24) - 1;

// A call on a worker's thread.
struct errand : letter {
    std::function<void(worker&)> run;

    explicit errand(std::function<void(worker&)> f) : run(std::move(f)) {
        deliver = [](worker& w, letter& l) noexcept {
            const std::unique_ptr<errand> self(static_cast<errand*>(&l));
            self->run(w);
        };
    }
};

// Of sharing a port, or of choosing in the kernel: old ones, and sandboxes.
bool lacks_means(const std::error_code& e) noexcept {
    return e == std::errc::no_protocol_option || e == std::errc::operation_not_supported ||
           e == std::errc::operation_not_permitted || e == std::errc::invalid_argument || e == std::errc::not_supported;
}

std::uint64_t after(std::chrono::milliseconds time) noexcept {
    return worker::clock_ms() + static_cast<std::uint64_t>(time.count());
}

} // namespace

worker_pool::worker_pool(service& handlers, worker_pool_options options)
    : handlers_(handlers), options_(std::move(options)), gate_(options_.limits, options_.wait_when_full) {}

worker_pool::worker_pool(service& handlers, worker_pool_options options, boost::asio::io_context& loop)
    : handlers_(handlers), options_(std::move(options)), users_loop_(&loop),
      gate_(options_.limits, options_.wait_when_full) {}

worker_pool::~worker_pool() {
    end();
}

void worker_pool::end() noexcept {
    abort_drain();
    stop();
    for (const auto& w : workers_) w->shut_down(); // an acceptor's letter may be with it
    // What waits on a loop goes before it; coroutines that never ended go with it.
    acceptors_.clear();
    monitor_.reset();
    workers_.clear();
    loops_.clear();
}

std::error_code worker_pool::open() {
    cpus_ = affinity_cpus();
    const std::optional<double> quota = cpu_quota();
    if (users_loop_) {
        options_.workers = 1;
        options_.pin = pin::off;
    } else if (options_.workers == 0) {
        options_.workers = auto_workers(cpus_.size(), quota);
    }
    pinned_ = should_pin(options_.pin, options_.workers, cpus_.size(), quota);

    const unsigned caches = options_.workers * 6 + 16; // of workers, and two for each listener of theirs
    const auto wanted =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.limits.connections, most_slots)) + refusal_slots;
    const std::uint32_t slots = std::min(connection_pool::capacity_for(wanted, caches), most_slots);
    if (const auto e = connections_.open({.capacity = slots})) return e;
    pool::buffer_pool::options memory;
    memory.budget_bytes = options_.buffer_budget_bytes;
    memory.max_buffer_bytes = largest_buffer;
    if (const auto e = buffers_.open(memory)) return e;

    std::vector<int> worker_cpus;
    for (unsigned i = 0; i < options_.workers; ++i) worker_cpus.push_back(pinned_ ? cpu_of_worker(cpus_, i) : -1);
    board_.emplace(options_.workers);
    placer_.emplace(options_.placement, worker_cpus, *board_);

    // Connections follow their packets only between workers that stay where they are.
    const bool by_cpu = options_.placement == placement::incoming_cpu || options_.placement == placement::bpf;
    const bool moves = by_cpu && pinned_ && options_.workers > 1;
    const worker_environment env{
        options_.limits,       handlers_, connections_, buffers_, moves ? &*placer_ : nullptr, *board_, gate_,
        options_.server_name};
    for (unsigned i = 0; i < options_.workers; ++i) {
        if (!users_loop_) loops_.push_back(std::make_unique<boost::asio::io_context>(1));
        workers_.push_back(std::make_unique<worker>(env, i, users_loop_ ? *users_loop_ : *loops_[i]));
    }
    for (const auto& w : workers_)
        if (const auto e = w->open(workers_)) return e;
    if (workers_.size() > 1) monitor_.emplace(accept_loop_, workers_, *board_, gate_);
    return {};
}

result<address> worker_pool::listen(const address& at) {
    if (draining() || stopped_) return std::make_error_code(std::errc::operation_canceled);
    const listen_options how{.defer_accept = options_.defer_accept};
    const bool by_cpu =
        options_.placement == placement::bpf || (options_.placement == placement::incoming_cpu && pinned_);
    if (by_cpu && at.is_ip() && monitor_) {
        // A listener for each CPU; its spare workers have none.
        const std::size_t listeners = pinned_ ? std::min(workers_.size(), cpus_.size()) : workers_.size();
        std::vector<int> cpus;
        for (unsigned i = 0; i < listeners; ++i) cpus.push_back(cpu_of_worker(cpus_, i));
        result<std::vector<listener>> group = listener::open_group(at, cpus, how);
        if (group) return serve_by_worker(std::move(*group), cpus);
        // Where the system lacks the means one listener serves all, unless that was not wanted.
        if (options_.placement == placement::bpf || !lacks_means(group.error())) return group.error();
    }
    result<listener> opened = listener::open(at, how);
    if (!opened) return opened.error();
    const address local = opened->local();
    // A thread between the listener and the only worker would cost two switches for each connection, and gain nothing.
    worker& first = *workers_.front();
    result<std::unique_ptr<acceptor>> made = workers_.size() == 1
                                                 ? make_acceptor(std::move(*opened), first.context(), {.by = &first})
                                                 : make_acceptor(std::move(*opened), accept_loop_, {});
    if (!made) return made.error();
    publish(std::move(*made));
    return local;
}

// Each is polled by the first worker of its CPU: whom the kernel puts into its queue is where it belongs, and is served
// without a wake-up.
result<address> worker_pool::serve_by_worker(std::vector<listener> group, std::span<const int> cpus) {
    const address local = group.front().local();
    std::vector<std::unique_ptr<acceptor>> made, stand_ins;
    for (unsigned i = 0; i < group.size(); ++i) {
        result<listener> same = group[i].duplicate();
        if (!same) return same.error();
        stand_ins.push_back(std::make_unique<acceptor>(accept_loop_, std::move(*same), workers_, *placer_, *board_,
                                                       connections_, gate_));
        const local_worker by{.by = workers_[i].get(), .cpu = pinned_ ? cpus[i] : -1};
        result<std::unique_ptr<acceptor>> own = make_acceptor(std::move(group[i]), workers_[i]->context(), by);
        if (!own) return own.error();
        made.push_back(std::move(*own));
    }
    // Nothing that was begun is given up from here on.
    for (unsigned i = 0; i < made.size(); ++i) {
        if (threads_.empty())
            monitor_->add(std::move(stand_ins[i]), i);
        else
            boost::asio::post(accept_loop_,
                              [this, i, a = std::move(stand_ins[i])]() mutable { monitor_->add(std::move(a), i); });
        publish(std::move(made[i]));
    }
    return local;
}

result<std::unique_ptr<acceptor>> worker_pool::make_acceptor(listener&& l, boost::asio::io_context& loop,
                                                             const local_worker& local) {
    auto made = std::make_unique<acceptor>(loop, std::move(l), workers_, *placer_, *board_, connections_, gate_,
                                           monitor_ ? &*monitor_ : nullptr, local);
    if (const auto e = made->open()) return e;
    return made;
}

void worker_pool::publish(std::unique_ptr<acceptor> made) {
    acceptor& a = *made;
    {
        const std::lock_guard lock(acceptors_mutex_);
        acceptors_.push_back(std::move(made));
    }
    if (started_) a.start();
}

std::error_code worker_pool::start() {
    started_ = true;
    for (const auto& a : acceptors_) a->start();
    if (users_loop_) {
        return workers_.front()->start();
    }
    accept_work_.emplace(accept_loop_.get_executor());
    const all_signals_blocked inherited; // signals are the program's: our threads leave them to the others
    try {
        for (unsigned i = 0; i < workers_.size(); ++i) threads_.emplace_back([this, i] { run_worker(i); });
        if (workers_.size() > 1) threads_.emplace_back([this] { accept_loop_.run(); });
    } catch (const std::system_error& e) {
        // Nothing was served yet that a drain could wait for, and not every loop has a thread to drain it.
        stopped_ = true;
        end_workers();
        if (monitor_) monitor_->finish();
        const std::lock_guard lock(acceptors_mutex_);
        acceptors_.clear();
        return e.code();
    }
    return {};
}

void worker_pool::drive(std::function<void(std::chrono::milliseconds)> pass) {
    pass_ = std::move(pass);
    started_ = static_cast<bool>(pass_);
}

bool worker_pool::adopt(int fd, const peer_name& peer, unsigned index) noexcept {
    if (!lets_in_) return false;
    pool::pooled<connection> slot = connections_.acquire();
    if (!slot) return false;
    connection& c = *slot.release();
    c.stream = transport(fd);
    c.id = connections_.handle_of(c);
    c.peer = peer;
    c.refused = !gate_.enter(peer.key());
    board_->joined(static_cast<int>(index));
    workers_[index]->adopt(c);
    return true;
}

void worker_pool::run_worker(unsigned index) noexcept {
    if (pinned_) pin_this_thread(cpu_of_worker(cpus_, index));
    workers_[index]->run();
}

// ---- the end
// -----------------------------------------------------------------------------------------------------------

bool worker_pool::on_worker(unsigned index, std::function<void(worker&)> f) noexcept {
    auto call = std::make_unique<errand>(std::move(f));
    if (!workers_[index]->post(*call)) return false;
    (void)call.release();
    return true;
}

void worker_pool::on_every_worker(const std::function<void(worker&)>& f) noexcept {
    for (unsigned i = 0; i < workers_.size(); ++i) on_worker(i, f);
}

void worker_pool::request_drain() noexcept {
    if (draining_.exchange(true, std::memory_order_relaxed)) return;
    on_every_worker([](worker& w) { w.drain(); });
}

void worker_pool::abort_drain() noexcept {
    aborted_.store(true, std::memory_order_relaxed);
}

// Waits for `done`, running the user's loop meanwhile if the workers live there. False: the time was up or the drain
// was aborted.
bool worker_pool::wait_until(std::uint64_t ms, const std::function<bool()>& done) {
    while (!done()) {
        if (aborted_.load(std::memory_order_relaxed) || worker::clock_ms() >= ms) return false;
        pause();
    }
    return true;
}

// Between two looks.
void worker_pool::pause() {
    if (pass_) {
        pass_(drain_look);
        return;
    }
    if (!users_loop_) {
        std::this_thread::sleep_for(drain_look);
        return;
    }
    const bool stopped = users_loop_->stopped();
    if (stopped) users_loop_->restart();
    if (users_loop_->run_for(drain_look) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // no work left
    // Who called stop() on it, perhaps around us, wants it stopped.
    if (stopped) users_loop_->stop();
}

void worker_pool::finish_accepting() noexcept {
    lets_in_ = false;
    for (const auto& a : acceptors_) a->stop_queueing();
    if (users_loop_ || pass_) {
        for (const auto& a : acceptors_) a->finish();
        if (monitor_) monitor_->finish();
        return;
    }
    for (const auto& a : acceptors_)
        if (!a->local()) on_accept_loop([&a] { a->finish(); });
    finish_on_workers();
    // Takes in who is left in the queue of a worker that does not come back from a handler.
    if (monitor_) on_accept_loop([this] { monitor_->finish(); });
}

void worker_pool::finish_on_workers() noexcept {
    const auto left = std::make_shared<std::atomic<std::size_t>>(0);
    for (const auto& a : acceptors_) {
        const worker* const w = a->local();
        if (!w) continue;
        left->fetch_add(1, std::memory_order_relaxed);
        const bool taken = on_worker(w->index(), [p = a.get(), left](worker&) {
            p->finish();
            left->fetch_sub(1, std::memory_order_release); // with the acquire below: whom it has let in is counted
        });
        if (!taken) left->fetch_sub(1, std::memory_order_relaxed);
    }
    wait_until(after(finish_time), [&left] { return left->load(std::memory_order_acquire) == 0; });
}

// Returns when it has been done.
void worker_pool::on_accept_loop(std::function<void()> f) noexcept {
    std::promise<void> done;
    boost::asio::post(accept_loop_, [&] {
        f();
        done.set_value();
    });
    done.get_future().wait();
}

std::uint64_t worker_pool::suspended() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& w : workers_) sum += read(w->counters().suspended);
    return sum;
}

drain_report worker_pool::stop() {
    drain_report report;
    if (!started_ || stopped_.exchange(true)) return report;
    request_drain();
    for (const auto& a : acceptors_) a->accept_at_once();
    wait_until(after(options_.drain_delay), [] { return false; });
    const std::uint64_t until_ms = after(options_.grace);
    finish_accepting();
    wait_until(until_ms, [this] {
        on_every_worker([](worker& w) { w.close_idle(); });
        return gate_.open() == 0 && suspended() == 0;
    });
    report.handlers_cut = suspended();
    end_workers();
    report.connections_cut = cut();
    return report;
}

// Handlers that are cut are told so, and have a moment to end; what then still waits on our own loops is left to be
// destroyed with them.
void worker_pool::end_workers() {
    // By letter also on a user's loop: what shutting down posts must not lie in the queue of a handler around us.
    on_every_worker([](worker& w) { w.shut_down(); });
    const std::uint64_t until_ms = worker::clock_ms() + cancelled_time_ms;
    const auto ended = [this] {
        return suspended() == 0 && std::all_of(workers_.begin(), workers_.end(), [](auto& w) { return w->ended(); });
    };
    while (!ended() && worker::clock_ms() < until_ms) pause();
    accept_work_.reset();
    accept_loop_.stop();
    for (const auto& loop : loops_) loop->stop();
    for (auto& t : threads_) t.join();
    threads_.clear();
    for (const auto& w : workers_) w->shut_down(); // the one whose thread did not come to it
}

// Of workers that have ended.
std::uint64_t worker_pool::cut() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& w : workers_) sum += read(w->counters().cut);
    return sum;
}

std::uint64_t worker_pool::starved() const noexcept {
    const std::lock_guard lock(acceptors_mutex_);
    std::uint64_t sum = 0;
    for (const auto& a : acceptors_) sum += a->starved();
    return sum;
}

std::vector<address> worker_pool::addresses() const {
    const std::lock_guard lock(acceptors_mutex_);
    std::vector<address> out;
    for (const auto& a : acceptors_)
        if (std::find(out.begin(), out.end(), a->local_address()) == out.end()) out.push_back(a->local_address());
    return out;
}

} // namespace fastserve::net
