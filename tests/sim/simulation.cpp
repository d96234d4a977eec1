#include "simulation.hpp"

#include "peers.hpp"
#include "streams.hpp"

#include <fastserve/fastserve.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fastserve::test {

namespace {

options some_options(dice& d) {
    options o;
    o.workers = d.once_in(4) ? 2 : 1;
    if (o.workers > 1) o.pin = pin::on;                       // so that connections follow their packets
    o.limits.connections = o.limits.suspended_exchanges = 64; // small pools are made sooner
    o.limits.head_fields = 10;
    o.limits.head_bytes = 1024;
    o.limits.body_bytes = largest_body;
    o.limits.body_rate = body_rate;
    o.limits.body_grace = body_time;
    o.limits.head_timeout = head_time;
    o.limits.idle_timeout = idle_time;
    o.limits.write_stall = stall_time;
    o.drain_delay = milliseconds(d.once_in(2) ? 0 : d.below(500));
    o.grace = milliseconds(d.once_in(4) ? 10'000 : d.below(2'000));
    if (d.once_in(2)) o.limits.turn_requests = 1 + d.below(4);
    if (d.once_in(2)) o.limits.output_bytes = 4096;
    return o;
}

struct held {
    std::uint64_t id;
    responder answer;
};

std::uint64_t id_of(const request& q) {
    return q.param<std::uint64_t>("id").value();
}

void add_routes(server& app, std::vector<held>& later) {
    app.get("/plain/{id}", [](request& q, response& a) { a.text(content("plain", id_of(q), 0)); });
    app.get("/large/{id}/{size}", [](request& q, response& a) {
        a.bytes(content("large", id_of(q), q.param<std::size_t>("size").value()), "text/plain");
    });
    app.post("/echo/{id}", [](request& q, response& a) { a.text(q.body()); });
    app.get("/sleep/{id}/{time}", [](request& q, response& a) -> awaitable<> {
        co_await sleep_for(milliseconds(q.param<unsigned>("time").value()));
        a.text(content("sleep", id_of(q), 0));
    });
    app.post("/slow/{id}", [](request& q, response& a) -> awaitable<> {
        for (int i = 0; i < 3; ++i) co_await sleep_for(milliseconds(10));
        a.text(q.body());
    });
    app.get("/blocking/{id}", blocking([](request& q, response& a) { a.text(content("blocking", id_of(q), 0)); }));
    app.get("/offload/{id}", [](request& q, response& a) -> awaitable<> {
        a.text(co_await offload([id = id_of(q)] { return content("offload", id, 0); }));
    });
    app.get("/deferred/{id}", [&later](request& q, response& a) { later.push_back({id_of(q), a.defer()}); });
    app.get("/throws/{id}", [](request&, response&) { throw std::runtime_error("as it should"); });
    app.get("/never/{id}",
            [](request&, response&) -> awaitable<> {
                for (;;) co_await sleep_for(std::chrono::hours(1));
            },
            {.deadline = route_time});
}

void answer_one(std::vector<held>& later, dice& d) {
    if (later.empty()) return;
    std::swap(later[d.below(later.size())], later.back());
    held h = std::move(later.back());
    later.pop_back();
    if (h.id % 4 == 0) return; // destroyed unanswered
    h.answer.complete([id = h.id](response& a) { a.text(content("deferred", id, 0)); });
}

class afternoon {
public:
    explicit afternoon(std::uint64_t seed) : dice_(seed), app_(some_options(dice_)) {
        add_routes(app_, later_);
        add_streams(app_, journal_);
        const std::size_t count = 1 + dice_.below(5);
        for (std::size_t i = 0; i < count; ++i)
            peers_.push_back(std::make_unique<peer>(app_, dice_, next_id_, journal_));
    }

    outcome run() {
        if (dice_.once_in(6)) {
            live(milliseconds(dice_.below(dice_.once_in(2) ? 200 : 1'500)));
            drain();
        } else {
            live(milliseconds(8'000));
            while (wrong_.empty() && !later_.empty()) answer_one(later_, dice_);
            if (dice_.once_in(2)) rest();
        }
        outcome o;
        for (const auto& p : peers_) o.answers += p->answers();
        peers_.clear();
        if (wrong_.empty()) check_memory();
        o.wrong = wrong_;
        return o;
    }

private:
    // Until nobody has anything to do.
    void live(milliseconds most) {
        const milliseconds end = now() + most;
        while (now() < end && wrong_.empty() && !all_done()) turn();
    }

    void turn() {
        for (std::size_t turns = peers_.size(); turns != 0; --turns) {
            peer& p = *peers_[dice_.below(peers_.size())];
            p.act();
            look(p);
        }
        if (dice_.once_in(2)) answer_one(later_, dice_);
        if (dice_.once_in(64)) peers_[dice_.below(peers_.size())].swap(peers_.back()); // no order is special
        pass(milliseconds(dice_.once_in(3) ? dice_.below(100) : dice_.below(5)));
        check_bounds();
    }

    bool all_done() const {
        return std::all_of(peers_.begin(), peers_.end(), [](const auto& p) { return p->done(); });
    }

    // The server stops, while everybody goes on.
    void drain() {
        const milliseconds closes = now() + app_.settings().drain_delay, cuts = closes + app_.settings().grace;
        for (const auto& p : peers_) p->drain(cuts);
        const bool nothing_left = all_done() && later_.empty();
        peers_.front()->connection().meanwhile([this, closes] {
            for (const auto& p : peers_) p->watch(); // what came while stop() let time pass
            if (dice_.once_in(4)) come_late(now() < closes);
            turn();
        });
        const drain_report report = app_.stop();
        const auto say = [this](std::string what) {
            if (wrong_.empty()) wrong_ = std::move(what);
        };
        if (now() < closes) say("it did not wait for the drain delay");
        if (now() > cuts + cancelled_time + milliseconds(200)) say("stop() took too long");
        if (nothing_left && !report.clean()) say("something was cut, and there was nothing");
        if (report.connections_cut > peers_.size()) say("more was cut than there was");
        if (app_.snapshot().connections != 0) say("connections have outlived stop()");
        if (journal_.running != 0) say("handlers have outlived stop()");
        come_late(false);
        for (held& h : later_)
            if (h.answer.complete([](response&) {})) say("answered after stop()");
        for (const auto& p : peers_) p->rest();
        pass(milliseconds(500)); // what is on its way comes
        for (const auto& p : peers_) {
            p->check_end();
            look(*p);
        }
    }

    // Somebody comes while the server drains, and is served, or finds it closed.
    void come_late(bool served) {
        if (!wrong_.empty()) return;
        client late(app_);
        const std::uint64_t id = next_id_++;
        late.write("GET /plain/" + std::to_string(id) + " HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::optional<reply> r = late.try_read();
        if (served && !(r && r->body == content("plain", id, 0) && r->field("Connection") == "close"))
            wrong_ = "who came while it accepted was not served and sent away";
        if (!served && (r || !late.closed())) wrong_ = "who came too late was not refused";
    }

    // Nobody does anything any more: the server ends everything by itself, each in its time.
    void rest() {
        const milliseconds end =
            now() + std::max(idle_time, stall_time) + linger_time + head_time + milliseconds(4'000);
        for (const auto& p : peers_) p->rest();
        while (now() < end && wrong_.empty()) {
            pass(milliseconds(200));
            while (!later_.empty()) answer_one(later_, dice_);
            for (const auto& p : peers_) look(*p);
        }
        for (const auto& p : peers_) {
            p->check_end();
            look(*p);
        }
        if (wrong_.empty() && app_.snapshot().connections != 0)
            wrong_ = std::to_string(app_.snapshot().connections) + " connections have outlived every deadline";
    }

    void pass(milliseconds time) {
        // Step by step, so that the time at which something is read is the time at which it came.
        const milliseconds end = now() + time;
        while (now() < end) {
            peers_.front()->connection().step(end - now());
            for (const auto& p : peers_) p->watch();
        }
    }

    milliseconds now() { return peers_.front()->connection().now(); }

    void look(const peer& p) {
        if (wrong_.empty()) wrong_ = p.wrong();
        if (wrong_.empty()) wrong_ = journal_.wrong;
    }

    // Whatever they do, peers cannot make it keep more than this.
    void check_bounds() {
        const stats s = app_.snapshot();
        const std::uint64_t workers = app_.workers(), peers = peers_.size();
        if (s.connection_pool.in_use > peers) wrong_ = "more connections than peers";
        if (s.exchange_pool.in_use > 2 * peers + workers)
            wrong_ = "too many exchanges: " + std::to_string(s.exchange_pool.in_use);
        // Of a peer: what was received and what is unsent; of its request: head, body and trailers.
        if (s.buffer_pool.in_use > 2 * workers + 5 * peers)
            wrong_ = "too many buffers: " + std::to_string(s.buffer_pool.in_use);
    }

    // All peers have gone.
    void check_memory() {
        const stats s = app_.snapshot();
        const std::uint64_t workers = app_.workers();
        const auto say = [this](const char* what, std::uint64_t n) {
            wrong_ = std::to_string(n) + " " + what + " are left when all have gone";
        };
        if (journal_.running != 0) say("handlers of bodies in pieces", journal_.running);
        if (s.connections != 0) say("connections", s.connections);
        if (s.connection_pool.in_use != 0) say("pooled connections", s.connection_pool.in_use);
        if (s.exchange_pool.in_use > workers) say("exchanges", s.exchange_pool.in_use);
        if (s.buffer_pool.in_use != 2 * workers) say("buffers", s.buffer_pool.in_use);
        for (const worker_counts& w : s.workers) {
            if (w.suspended != 0) say("suspended handlers", w.suspended);
            if (w.connections != 0) say("connections of a worker", w.connections);
        }
    }

    dice dice_;
    std::vector<held> later_;
    journal journal_;
    server app_;
    std::uint64_t next_id_ = 0;
    std::vector<std::unique_ptr<peer>> peers_;
    std::string wrong_;
};

} // namespace

outcome simulate(std::uint64_t seed) {
    return afternoon(seed).run();
}

} // namespace fastserve::test
