#include "settings.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include <sys/resource.h>

namespace load {

namespace {

using fault = std::string; // in words that follow the option's name; empty: none

struct unit {
    std::string_view name;
    double factor;
};
constexpr unit times[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9}};
constexpr unit sizes[] = {{"", 1}, {"k", 1024}, {"M", 1048576}, {"G", 1073741824}};
constexpr unit counts[] = {{"", 1}};

template <std::size_t N>
std::optional<double> quantity(std::string_view text, const unit (&units)[N]) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const unit& u : units)
        if (u.name == rest) return value * u.factor;
    return std::nullopt;
}

// A whole number of `units` from `least` to `most`.
template <class T, std::size_t N>
fault read_number(std::string_view text, T& to, const unit (&units)[N], double least, double most, const char* what) {
    const std::optional<double> value = quantity(text, units);
    if (!value || *value < least || *value > most || std::abs(*value - std::round(*value)) > 1e-3)
        return std::string("takes ") + what;
    to = static_cast<T>(std::round(*value));
    return {};
}

fault read_time(std::string_view text, std::int64_t& to, double least) {
    return read_number(text, to, times, least, 86400e9, "a time: 500ms, 10s, 5m; a number alone is seconds");
}

fault read_file(std::string_view name, std::optional<std::string>& to) {
    std::ifstream file{std::string(name), std::ios::binary};
    if (!file) return "names a file that cannot be read";
    to.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    return {};
}

struct option {
    char letter;                  // or 0
    std::string_view name, value; // an option without a value is a flag
    std::string_view help;
    fault (*read)(settings&, std::string_view);
};

constexpr double any_count = 1e15;
// What a schedule may hold: a server that answers none of them leaves them all to be counted at the end.
constexpr double most_requests = 1e9;

const option options[] = {
    {'c', "connections", "N", "how many connections [100]",
     [](settings& s, std::string_view v) {
         return read_number(v, s.connections, counts, 1, 1'000'000, "1 to 1000000");
     }},
    {'t', "threads", "N", "threads, which share the connections and the rate [1]",
     [](settings& s, std::string_view v) { return read_number(v, s.threads, counts, 1, 256, "1 to 256"); }},
    {'d', "duration", "TIME", "how long is measured [10s]",
     [](settings& s, std::string_view v) { return read_time(v, s.duration, 1e6); }},
    {'n', "requests", "N", "stop when so many are answered, or after the duration",
     [](settings& s, std::string_view v) { return read_number(v, s.requests, counts, 1, any_count, "a number"); }},
    {'w', "warm-up", "TIME", "load for so long before measuring [0s]",
     [](settings& s, std::string_view v) { return read_time(v, s.warm_up, 0); }},
    {'r', "rate", "R",
     "requests a second, due whatever the answers do (open loop);\n"
     "without it a connection asks as soon as it may (closed loop)",
     [](settings& s, std::string_view v) -> fault {
         const std::optional<double> value = quantity(v, counts);
         if (!value || *value < 1e-3 || *value > 1e7) return "takes requests a second, 0.001 to 1e7";
         s.rate = *value;
         return {};
     }},
    {0, "poisson", "", "they are due at random, as by a crowd, and not at equal distances",
     [](settings& s, std::string_view) -> fault { return s.poisson = true, fault{}; }},
    {0, "seed", "N", "of that chance [1]",
     [](settings& s, std::string_view v) { return read_number(v, s.seed, counts, 0, any_count, "a number"); }},
    {'p', "pipeline", "N", "requests a connection may have unanswered [1]",
     [](settings& s, std::string_view v) { return read_number(v, s.pipeline, counts, 1, 1024, "1 to 1024"); }},
    {0, "per-connection", "N", "requests after which a connection is replaced; the last says close",
     [](settings& s, std::string_view v) {
         return read_number(v, s.per_connection, counts, 1, any_count, "a number");
     }},
    {0, "close", "", "--per-connection 1",
     [](settings& s, std::string_view) -> fault { return s.per_connection = 1, fault{}; }},
    {0, "sources", "N", "connect from so many addresses, 127.0.0.1 and on, in turn",
     [](settings& s, std::string_view v) { return read_number(v, s.sources, counts, 1, 65536, "1 to 65536"); }},
    {0, "read-rate", "SIZE", "each connection reads so many bytes a second",
     [](settings& s, std::string_view v) { return read_number(v, s.read_rate, sizes, 1, 1e12, "bytes a second"); }},
    {'H', "header", "FIELD", "'Name: value'; may be given several times",
     [](settings& s, std::string_view v) -> fault {
         if (!is_field(v)) return "takes 'Name: value'";
         s.request.fields.emplace_back(v);
         return {};
     }},
    {0, "browser", "", "a browser's fields, 414 bytes of head in all",
     [](settings& s, std::string_view) -> fault { return s.request.browser = true, fault{}; }},
    {'X', "method", "NAME", "[GET; POST with a body]",
     [](settings& s, std::string_view v) -> fault {
         if (v.empty() || v.find_first_of(" \t\r\n") != std::string_view::npos) return "takes a method";
         s.request.method = v;
         return {};
     }},
    {'b', "body-bytes", "SIZE", "a body of so many letters",
     [](settings& s, std::string_view v) {
         s.request.has_body = true;
         return read_number(v, s.request.body_bytes, sizes, 0, 1e9, "a size: 1000, 64k, 20M");
     }},
    {0, "expect-status", "N", "what an answer's status must be [200]",
     [](settings& s, std::string_view v) { return read_number(v, s.wanted.status, counts, 200, 999, "a status"); }},
    {0, "expect-body", "TEXT", "what an answer's body must be",
     [](settings& s, std::string_view v) -> fault { return s.wanted.body = v, fault{}; }},
    {0, "expect-file", "FILE", "the same, out of a file",
     [](settings& s, std::string_view v) { return read_file(v, s.wanted.body); }},
    {0, "expect-length", "SIZE", "how long an answer's body must be",
     [](settings& s, std::string_view v) {
         std::uint64_t n = 0;
         const fault f = read_number(v, n, sizes, 0, any_count, "a size");
         s.wanted.length = n;
         return f;
     }},
    {0, "timeout", "TIME",
     "give up what moves no byte for so long; also how long to wait\nfor answers after the end [2s]",
     [](settings& s, std::string_view v) { return read_time(v, s.timeout, 1e6); }},
};

constexpr const char* preface = R"(usage: fastserve-load [options] http://ADDRESS[:PORT]/PATH

Loads an HTTP/1.1 server on this machine (127.0.0.0/8, [::1]) and prints one JSON object.
Latency runs from the moment a request was due, not from when it could be sent: a server that
stalls is charged for all who would have come meanwhile. What timed out counts with its age, and so
does what was due and never sent.

)";

constexpr const char* explanation = R"(
TIME: 500ms, 10s, 5m; a number alone is seconds. SIZE: 1000, 64k, 20M.

The JSON object:
  url, mode ("closed", "constant", "poisson"), connections, threads, pipeline, per_connection, seed
  seconds              measured: from the end of the warm-up
  rate_wanted          requests a second; null in a closed loop
  rate_achieved        right answers a second that came while it was measured
  requests             right answers to what was due while it was measured, late ones too
  warmup_requests      right answers to what was due before
  unsent               due, but no connection was free until the end
  unfinished           sent, and still being answered when waiting ended
  p50_us p90_us p99_us p999_us max_us mean_us     latency; null without any
  errors               counts: connect, timeout, wrong_answer, early_close; from the first connection on
  errors_total
  first_wrong_answer   what was wrong with it; null
  connects             connections that were opened
  bytes_in, bytes_out  while it was measured
  cpu_user_s, cpu_system_s   of all threads while it was measured
  cpu_share            of the measured time, by the busiest thread; 1: it never waited
  cpu_shares           of each thread
  lateness_p50_us lateness_p99_us lateness_max_us   how long requests waited for the generator itself; null
  generator_was_limit  cpu_share is over 0.9, or requests were late by over a millisecond and by over half of
                       the latency, both at the 99th percentile: the run measured the generator
  interrupted          by a signal

Exit status: 0, 1 if there were errors or no answers, 2 for a mistake on the command line.
)";

void print_help() {
    std::fputs(preface, stdout);
    for (const option& o : options) {
        std::string left = o.letter == 0 ? "      " : std::string("  -") + o.letter + ", ";
        left.append("--").append(o.name);
        if (!o.value.empty()) left.append(" ").append(o.value);
        std::string help(o.help);
        if (const std::size_t at = help.find('\n'); at != std::string::npos) help.insert(at + 1, 28, ' ');
        std::printf("%-27s %s\n", left.c_str(), help.c_str());
    }
    std::fputs(explanation, stdout);
}

const option* find(std::string_view name) {
    for (const option& o : options)
        if (o.name == name) return &o;
    return nullptr;
}

const option* find(char letter) {
    for (const option& o : options)
        if (o.letter == letter) return &o;
    return nullptr;
}

// What cannot be said of one option alone.
fault complete(settings& s) {
    if (s.url.empty()) return "which URL? fastserve-load --help tells more";
    if (const fault f = read_target(s.url, s.to); !f.empty()) return f;
    if (s.sources > 0 && s.to.family() != AF_INET) return "--sources are addresses of 127.0.0.0/8, the URL's is not";
    if (s.poisson && s.rate <= 0) return "--poisson needs a --rate";
    if (s.rate * static_cast<double>(s.warm_up + s.duration) > most_requests * 1e9)
        return "--rate and --duration make more than 1e9 requests";
    if (s.threads > s.connections) return "there must be a connection for each thread";
    if (std::uint64_t{s.connections} * s.pipeline > 10'000'000) return "--connections times --pipeline is over 1e7";
    if (s.wanted.body && s.wanted.length && s.wanted.body->size() != *s.wanted.length)
        return "--expect-length is not that of --expect-body";
    if (s.request.has_body && s.request.method == "GET") s.request.method = "POST";
    if (s.request.method == "POST" || s.request.method == "PUT") s.request.has_body = true;
    s.wanted.head = s.request.method == "HEAD";
    s.request.host = s.to.host;
    s.request.path = s.to.path;
    s.usual_request = write_request(s.request, false);
    s.last_request = write_request(s.request, true);
    if (s.usual_request.empty()) return "--browser leaves no room for so long a path and fields";

    rlimit open{};
    ::getrlimit(RLIMIT_NOFILE, &open);
    open.rlim_cur = open.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &open);
    if (open.rlim_cur < s.connections + s.threads + 16)
        return "of " + std::to_string(s.connections) + " connections the limit of descriptors (ulimit -Hn) allows " +
               std::to_string(open.rlim_cur);
    return {};
}

int mistake(const fault& f) {
    std::fprintf(stderr, "fastserve-load: error: %s\n", f.c_str());
    return 2;
}

} // namespace

int read_command_line(int argc, char** argv, settings& s) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--help" || word == "-h") {
            print_help();
            return 0;
        }
        const option* known = nullptr;
        std::optional<std::string_view> value;
        if (word.starts_with("--")) {
            const std::size_t equals = word.find('=');
            known = find(word.substr(2, equals == std::string_view::npos ? equals : equals - 2));
            if (equals != std::string_view::npos) value = word.substr(equals + 1);
        } else if (word.size() > 1 && word[0] == '-') {
            known = find(word[1]);
            if (word.size() > 2) value = word.substr(2);
        } else if (s.url.empty()) {
            s.url = word;
            continue;
        } else {
            return mistake("a second URL: " + std::string(word));
        }
        if (known == nullptr) return mistake("unknown option " + std::string(word) + "; --help lists them");
        const std::string name = "--" + std::string(known->name) + ' ';
        if (known->value.empty()) {
            if (value) return mistake(name + "takes no value");
        } else if (!value) {
            if (++i == argc) return mistake(name + "needs a value");
            value = argv[i];
        }
        if (const fault f = known->read(s, value.value_or("")); !f.empty()) return mistake(name + f);
    }
    const fault f = complete(s);
    return f.empty() ? -1 : mistake(f);
}

} // namespace load
