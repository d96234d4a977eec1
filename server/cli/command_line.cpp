#include "command_line.hpp"

#include <fastserve/http/limits.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <map>

#ifndef FASTSERVE_VERSION
#define FASTSERVE_VERSION "0"
#endif

namespace fastserve::cli {

namespace {

constexpr int usage_error = 2;

const char* unit_of(http::limit_unit u) {
    switch (u) {
    case http::limit_unit::bytes:
        return "BYTES";
    case http::limit_unit::bytes_per_second:
        return "BYTES/S";
    case http::limit_unit::milliseconds:
        return "MS";
    case http::limit_unit::count:
        return "N";
    }
    return "N";
}

// "250ms", "30s", "5m", or a number of milliseconds.
CLI::Validator duration() {
    return CLI::AsNumberWithUnit(std::map<std::string, double>{{"ms", 1}, {"s", 1e3}, {"m", 6e4}});
}

} // namespace

outcome read_command_line(int argc, char** argv) {
    settings s;
    CLI::App app("fastserve: an HTTP/1.1 server with a fixed pool of event loops", "fastserve");
    app.set_version_flag("--version", "fastserve " FASTSERVE_VERSION);
    app.get_formatter()->column_width(44);

    std::string workers = "auto";
    app.add_option("--workers", workers, "event loops: a number, or auto for one a CPU that may be used")
        ->default_str("auto")
        ->type_name("N")
        ->check([](const std::string& text) -> std::string {
            if (text == "auto") return {};
            if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos)
                return "takes a number from 1 to 1024, or auto";
            const int n = std::stoi(text);
            return n >= 1 && n <= 1024 ? "" : "takes a number from 1 to 1024, or auto";
        });
    app.add_option("--listen", s.listen,
                   "HOST:PORT, [V6]:PORT, unix:PATH, unix:@NAME or fd:N; may be given several times")
        ->default_str("127.0.0.1:8080")
        ->type_name("ADDRESS")
        ->allow_extra_args(false);
    app.add_option("--admin", s.admin, "a listener of its own for /livez, /readyz and counters as text")
        ->type_name("ADDRESS");

    const std::map<std::string, placement> placements{{"incoming-cpu", placement::incoming_cpu},
                                                      {"bpf", placement::bpf},
                                                      {"least-loaded", placement::least_loaded},
                                                      {"round-robin", placement::round_robin}};
    std::string placed = "incoming-cpu";
    app.add_option("--placement", placed,
                   "which worker gets a connection: incoming-cpu, bpf, least-loaded, round-robin")
        ->capture_default_str()
        ->type_name("HOW")
        ->check(CLI::IsMember(placements));
    const std::map<std::string, pin> pins{{"auto", pin::automatic}, {"on", pin::on}, {"off", pin::off}};
    std::string pinned = "auto";
    app.add_option("--pin", pinned, "one CPU a worker: auto, on, off")
        ->capture_default_str()
        ->type_name("HOW")
        ->check(CLI::IsMember(pins));

    std::uint64_t drain_delay = 0, grace = static_cast<std::uint64_t>(s.server.grace.count());
    app.add_option("--drain-delay", drain_delay, "goes on accepting for so long after SIGTERM")
        ->capture_default_str()
        ->transform(duration())
        ->type_name("MS");
    app.add_option("--grace", grace, "then lets what is in flight finish for so long")
        ->capture_default_str()
        ->transform(duration())
        ->type_name("MS");
    app.add_option("--blocking-threads", s.server.blocking_threads, "threads for blocking handlers; 0: 8 a CPU")
        ->capture_default_str()
        ->type_name("N");
    app.add_option("--blocking-queue", s.server.blocking_queue, "requests that may wait for one of them")
        ->capture_default_str()
        ->type_name("N");

    // One flag for each row of the table: a limit cannot be forgotten here.
    std::array<std::uint64_t, std::size(http::limit_table)> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const http::limit_row& row = http::limit_table[i];
        values[i] = row.get(s.server.limits);
        CLI::Option* const flag = app.add_option("--" + std::string(row.name), values[i], std::string(row.help))
                                      ->capture_default_str()
                                      ->type_name(unit_of(row.unit))
                                      ->group("Limits");
        if (row.unit == http::limit_unit::milliseconds)
            flag->transform(duration());
        else if (row.unit == http::limit_unit::bytes)
            flag->transform(CLI::AsSizeValue(false));
        flag->check(CLI::Range(row.least, row.most));
    }

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return {.run = {}, .status = app.exit(e)};
    } catch (const CLI::CallForVersion& e) {
        return {.run = {}, .status = app.exit(e)};
    } catch (const CLI::ParseError& e) {
        std::cerr << "fastserve: " << e.what() << "\nfastserve: see fastserve --help\n";
        return {.run = {}, .status = usage_error};
    }

    s.connections_given = app.count("--max-connections") != 0;
    s.server.workers = workers == "auto" ? 0 : static_cast<unsigned>(std::stoul(workers));
    s.server.placement = placements.at(placed);
    s.server.pin = pins.at(pinned);
    s.server.drain_delay = std::chrono::milliseconds(drain_delay);
    s.server.grace = std::chrono::milliseconds(grace);
    for (std::size_t i = 0; i < values.size(); ++i) http::limit_table[i].set(s.server.limits, values[i]);
    return {.run = std::move(s), .status = 0};
}

} // namespace fastserve::cli
