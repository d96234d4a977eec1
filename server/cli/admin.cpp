#include "admin.hpp"

#include <cstdint>
#include <string_view>

namespace fastserve::cli {

namespace {

void line(std::string& out, std::string_view name, std::uint64_t value) {
    out += name;
    out += ' ';
    out += std::to_string(value);
    out += '\n';
}

void pool_lines(std::string& out, const std::string& name, const pool_counts& p) {
    line(out, name + "_hits", p.hits);
    line(out, name + "_misses", p.misses);
    line(out, name + "_in_use", p.in_use);
    line(out, name + "_high_water", p.high_water);
    line(out, name + "_bytes_retained", p.bytes_retained);
}

} // namespace

std::string to_text(const stats& s) {
    std::string out;
    line(out, "connections", s.connections);
    line(out, "requests", s.requests);
    line(out, "accept_starved", s.starved);
    line(out, "offload_running", s.offload_running);
    line(out, "offload_queued", s.offload_queued);
    line(out, "offload_refused", s.offload_refused);
    pool_lines(out, "connection_pool", s.connection_pool);
    pool_lines(out, "exchange_pool", s.exchange_pool);
    pool_lines(out, "buffer_pool", s.buffer_pool);
    for (std::size_t i = 0; i < s.workers.size(); ++i) {
        const worker_counts& w = s.workers[i];
        const std::string name = "worker_" + std::to_string(i);
        line(out, name + "_connections", w.connections);
        line(out, name + "_requests", w.requests);
        line(out, name + "_accepted", w.accepted);
        line(out, name + "_closed", w.closed);
        line(out, name + "_refused", w.refused);
        line(out, name + "_timed_out", w.timed_out);
        line(out, name + "_moved_in", w.moved_in);
        line(out, name + "_moved_out", w.moved_out);
        line(out, name + "_suspended", w.suspended);
        line(out, name + "_stalled", w.stalled ? 1 : 0);
    }
    return out;
}

void add_admin_pages(server& admin, const server& main) {
    admin.get("/livez", [] { return "ok\n"; });
    admin.get("/readyz", [&main](request&, response& res) {
        if (main.draining()) {
            res.status(503);
            res.text("draining\n");
        } else {
            res.text("ready\n");
        }
    });
    admin.get("/stats", [&main] { return to_text(main.snapshot()); });
    admin.get("/", [] { return "/livez\n/readyz\n/stats\n"; });
}

} // namespace fastserve::cli
