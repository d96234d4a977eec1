#include "command_line.hpp"

#include "help.hpp"
#include "quantity.hpp"

#include <fastserve/http/limits.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#ifndef FASTSERVE_VERSION
#define FASTSERVE_VERSION "0"
#endif

namespace fastserve::cli {

namespace {

using unit = http::limit_unit;

constexpr int usage_error = 2;
constexpr unsigned most_workers = 1024;
constexpr std::uint64_t most_time = 86'400'000; // a day

// "--name TEXT: why", which is what is said on stderr.
[[noreturn]] void refuse(const std::string& flag, const std::string& text, std::string_view why) {
    throw CLI::ValidationError(flag + " '" + text + "'", std::string(why));
}

// An option that is given at most once in effect: the last one counts, so that what a script passes can be overridden.
CLI::Option* add(CLI::App& app, const std::string& flag, std::string_view type, std::string shown_default,
                 std::string help, const std::function<void(const std::string&)>& read) {
    return app.add_option_function<std::string>(flag, read, std::move(help))
        ->type_name(std::string(type))
        ->default_str(std::move(shown_default))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* add_quantity(CLI::App& app, const std::string& flag, unit u, std::uint64_t now, std::uint64_t least,
                          std::uint64_t most, std::string help, std::function<void(std::uint64_t)> set) {
    return add(app, flag, placeholder(u), format_quantity(now, u), std::move(help),
               [=, set = std::move(set)](const std::string& text) {
                   const quantity_or_fault read = read_quantity(text, u, least, most);
                   if (!read.fault.empty()) refuse(flag, text, read.fault);
                   set(read.value);
               });
}

template <class T>
struct choice {
    const char* name;
    T value;
};

// One of several words; the first is the default.
template <class T>
void add_choice(CLI::App& app, const std::string& flag, T& to, std::span<const choice<T>> from,
                const std::string& help) {
    std::string names;
    for (const choice<T>& c : from) names.append(names.empty() ? "" : ", ").append(c.name);
    add(app, flag, "HOW", from.front().name, help + ": " + names, [=, &to](const std::string& text) {
        for (const choice<T>& c : from) {
            if (text != c.name) continue;
            to = c.value;
            return;
        }
        refuse(flag, text, "takes one of " + names);
    });
}

constexpr choice<placement> placements[] = {{"incoming-cpu", placement::incoming_cpu},
                                            {"bpf", placement::bpf},
                                            {"least-loaded", placement::least_loaded},
                                            {"round-robin", placement::round_robin}};
constexpr choice<when_full> when_full_choices[] = {{"refuse", when_full::refuse}, {"wait", when_full::wait}};
constexpr choice<bool> on_or_off[] = {{"on", true}, {"off", false}};
constexpr choice<bool> off_or_on[] = {{"off", false}, {"on", true}};
constexpr choice<pin> pins[] = {{"auto", pin::automatic}, {"on", pin::on}, {"off", pin::off}};

// An address that cannot be read is a mistake of whoever typed it, not of the machine: it ends with a usage error.
void check_address(const std::string& flag, const std::string& text) {
    if (const result<address> a = address::parse(text); !a) refuse(flag, text, a.error().message());
}

void add_listeners(CLI::App& app, settings& s) {
    app.add_option_function<std::vector<std::string>>(
           "--listen",
           [&s](const std::vector<std::string>& all) {
               for (const std::string& one : all) check_address("--listen", one);
               s.listen = all;
           },
           "HOST:PORT, [V6]:PORT, :PORT for all interfaces, unix:PATH, unix:@NAME, or fd:N for a socket that was "
           "handed down; may be given several times")
        ->type_name("ADDRESS")
        ->default_str(s.listen.front())
        ->allow_extra_args(false);
    add(app, "--admin", "ADDRESS", "", "a listener of its own for /livez, /readyz and /stats [none]",
        [&s](const std::string& text) {
            check_address("--admin", text);
            s.admin = text;
        });
}

void add_workers(CLI::App& app, settings& s) {
    add(app, "--workers", "N", "auto", "event loops; auto: one for each CPU that may be used",
        [&s](const std::string& text) {
            s.server.workers = 0;
            if (text == "auto") return;
            const quantity_or_fault read = read_quantity(text, unit::count, 1, most_workers);
            if (!read.fault.empty()) refuse("--workers", text, "takes auto, or a number from 1 to 1024");
            s.server.workers = static_cast<unsigned>(read.value);
        });
    add_choice<placement>(app, "--placement", s.server.placement, placements, "which worker gets a connection");
    add_choice<when_full>(app, "--when-full", s.server.when_full, when_full_choices,
                          "what becomes of connections beyond max-connections: a 503, or their place in the queue");
    add_choice<bool>(app, "--defer-accept", s.server.defer_accept, on_or_off,
                     "whether a connection waits with the kernel until it has sent something, for a second at most");
    add_choice<pin>(app, "--pin", s.server.pin, pins, "whether each worker stays on one CPU");
    add_quantity(app, "--blocking-threads", unit::count, 0, 0, 65'536, "threads for blocking handlers; 0: 8 a CPU",
                 [&s](std::uint64_t n) { s.server.blocking_threads = static_cast<unsigned>(n); });
    add_quantity(app, "--blocking-queue", unit::count, s.server.blocking_queue, 0, 1 << 24,
                 "requests that may wait for one of them; further ones are answered 503",
                 [&s](std::uint64_t n) { s.server.blocking_queue = static_cast<unsigned>(n); });
}

void add_files(CLI::App& app, settings& s) {
    add_choice<bool>(app, "--listing", s.files.listing, off_or_on,
                     "whether a directory without index.html is shown as a page of its names");
    add(app, "--fallback", "FILE", "", "a file of the folder that answers for what is not there, with 200 [none]",
        [&s](const std::string& text) { s.files.fallback = text; });
}

// What is given without a flag: the folder to serve. Otherwise the one of the usual name, if it is there.
std::string read_folder(const CLI::App& app, settings& s) {
    const std::vector<std::string> extras = app.remaining();
    for (const std::string& one : extras)
        if (one.starts_with('-') || &one != &extras.front()) return unknown_argument(app, one);
    std::error_code failed;
    if (!extras.empty()) {
        s.folder = extras.front();
        if (!std::filesystem::is_directory(s.folder, failed))
            return "there is no folder '" + s.folder + "' to serve; every option begins with --";
    } else if (std::filesystem::is_directory("public", failed)) {
        s.folder = "public";
    }
    return {};
}

void add_end(CLI::App& app, settings& s) {
    const auto add_time = [&app](const char* flag, std::chrono::milliseconds& to, const char* help) {
        add_quantity(app, flag, unit::milliseconds, static_cast<std::uint64_t>(to.count()), 0, most_time, help,
                     [&to](std::uint64_t ms) { to = std::chrono::milliseconds(ms); });
    };
    add_time("--drain-delay", s.server.drain_delay,
             "after SIGTERM, goes on accepting for so long while /readyz answers 503");
    add_time("--grace", s.server.grace, "then, what is in flight has so long to finish before it is cut");
}

// One flag for each row of the table: a limit cannot be forgotten here.
void add_limits(CLI::App& app, settings& s) {
    for (const http::limit_row& row : http::limit_table) {
        const bool timed = row.unit == unit::milliseconds || row.unit == unit::bytes_per_second;
        add_quantity(app, "--" + std::string(row.name), row.unit, row.get(s.server.limits), row.least, row.most,
                     std::string(row.help),
                     [&s, &row](std::uint64_t value) {
                         row.set(s.server.limits, value);
                         if (row.number == &http::limits::connections) s.connections_given = true;
                     })
            ->group(timed ? "Deadlines" : "Limits");
    }
}

outcome usage(const std::string& line) {
    std::fprintf(stderr, "fastserve: error: %s\n", line.c_str());
    return {.run = {}, .status = usage_error};
}

} // namespace

outcome read_command_line(int argc, char** argv) {
    settings s;
    CLI::App app("fastserve: an HTTP/1.1 server with a fixed pool of event loops", "fastserve");
    app.formatter(std::make_shared<help_formatter>());
    app.set_help_flag("--help", "prints this and exits");
    app.set_version_flag("--version", "fastserve " FASTSERVE_VERSION, "prints the version and exits");
    app.footer("FOLDER: whose files are served; without it ./public if that is there, else the built-in pages.\n"
               "SIZE: 65536, 64k, 1M, 2G. TIME: 500ms, 30s, 5m, 1h; a number alone is milliseconds.\n"
               "SIGTERM and SIGINT drain and stop; a second one stops at once. Exit status: 0, 1 when it could not\n"
               "start or had to cut requests, 2 for a mistake on the command line.");
    app.allow_extras(); // to say of each what was probably meant
    add_listeners(app, s);
    add_workers(app, s);
    add_files(app, s);
    add_end(app, s);
    add_limits(app, s);

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return {.run = {}, .status = app.exit(e)};
    } catch (const CLI::CallForVersion& e) {
        return {.run = {}, .status = app.exit(e)};
    } catch (const CLI::ArgumentMismatch& e) {
        const std::string_view said = e.what();
        return usage(std::string(said.substr(0, said.find(':'))) + " needs a value; fastserve --help shows which");
    } catch (const CLI::ParseError& e) {
        return usage(e.what());
    }
    if (const std::string fault = read_folder(app, s); !fault.empty()) return usage(fault);
    return {.run = std::move(s), .status = 0};
}

} // namespace fastserve::cli
