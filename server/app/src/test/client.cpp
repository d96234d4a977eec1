#include <fastserve/test/client.hpp>

#include "reply.hpp"
#include "world.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace fastserve::test {

namespace {

constexpr std::uint64_t longest_wait_ms = 3'600'000;

} // namespace

struct client::connection {
    server& of;
    std::shared_ptr<world> in;
    std::shared_ptr<net::link> link;
    std::chrono::milliseconds patience{0};
};

client::client(server& s, faults f) {
    auto in = world::join(f.seed);
    in->enter(s);
    c_.reset(new connection{s, std::move(in), nullptr});
    c_->link = c_->in->connect(s, f);
    run();
}

client::~client() {
    c_->link->reset();
    c_->in->settle({});
    c_->in->leave(c_->of);
}

reply client::get(std::string_view target) {
    return send("GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

// What was done before comes before the bytes: a drain that was requested, an answer from elsewhere.
reply client::send(std::string_view wire) {
    c_->in->settle({});
    c_->link->send(wire);
    return read(wire.starts_with("HEAD "));
}

reply client::read(bool to_head) {
    const std::uint64_t until = c_->in->now_ms() + longest_wait_ms;
    for (;;) {
        if (auto r = try_read(to_head)) return *std::move(r);
        if (closed() || c_->in->now_ms() >= until) break;
        c_->in->pass(until);
    }
    reply none;
    none.closed = closed();
    none.raw = received();
    consume(none.raw.size());
    return none;
}

std::optional<reply> client::try_read(bool to_head) {
    c_->in->settle(c_->patience);
    reply r;
    // A body that ends with its connection is not whole if that broke.
    const std::size_t size = parse(received(), to_head, closed() && !broken(), r);
    if (size == 0) return std::nullopt;
    r.closed = closed();
    r.raw = received().substr(0, size);
    consume(size);
    return r;
}

void client::write(std::string_view wire) {
    c_->in->settle({});
    c_->link->send(wire);
    c_->in->settle({});
}

void client::finish_sending() {
    c_->link->finish();
    c_->in->settle({});
}

void client::reset() {
    c_->link->reset();
    c_->in->settle({});
}

void client::pause() {
    c_->link->read(false);
}

void client::resume() {
    c_->link->read(true);
    c_->in->settle({});
}

void client::advance(std::chrono::milliseconds time) {
    const std::chrono::milliseconds until = now() + time;
    run();
    while (now() < until) step(until - now());
}

void client::step(std::chrono::milliseconds most) {
    c_->in->pass(c_->in->now_ms() + static_cast<std::uint64_t>(std::max<std::int64_t>(most.count(), 0)));
    run();
}

void client::run() {
    c_->in->settle(c_->patience);
}

void client::meanwhile(std::function<void()> act) {
    c_->in->meanwhile(std::move(act));
}

std::chrono::milliseconds client::now() const noexcept {
    return std::chrono::milliseconds(static_cast<std::int64_t>(c_->in->now_ms() - c_->in->began_ms()));
}

std::string_view client::received() const noexcept {
    return c_->link->received();
}

void client::consume(std::size_t size) {
    c_->link->received().erase(0, size);
}

std::size_t client::held_back() const noexcept {
    return c_->link->unreceived();
}

bool client::closed() const noexcept {
    return c_->link->ended();
}

bool client::broken() const noexcept {
    return c_->link->broken();
}

void client::patience(std::chrono::milliseconds time) noexcept {
    c_->patience = time;
}

} // namespace fastserve::test
