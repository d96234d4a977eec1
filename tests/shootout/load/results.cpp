#include "results.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace load {

namespace {

class json_object {
public:
    void add(std::string_view name, const std::string& value) {
        text_.append(text_.size() == 1 ? "" : ", ").append(quoted(name)).append(": ").append(value);
    }
    void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
    void add(std::string_view name, bool value) { add(name, std::string(value ? "true" : "false")); }
    void add(std::string_view name, double value) { add(name, number(value)); }
    void add_text(std::string_view name, std::string_view value) { add(name, quoted(value)); }
    void add_null(std::string_view name) { add(name, std::string("null")); }

    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", value);
        return text;
    }

    std::string close() && { return std::move(text_) + '}'; }

private:
    static std::string quoted(std::string_view text) {
        std::string out(1, '"');
        for (const char c : text) {
            if (c == '"' || c == '\\') out += '\\';
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
            // What is no ASCII may be no UTF-8 either.
            out += c >= ' ' && c <= '~' ? std::string(1, c) : std::string(escape);
        }
        return out + '"';
    }

    std::string text_ = "{";
};

void add_quantiles(json_object& json, const std::string& prefix, const histogram& h, bool all) {
    const auto add = [&](const char* name, double nanoseconds) {
        if (h.count() == 0)
            json.add_null(prefix + name);
        else
            json.add(prefix + name, nanoseconds / 1e3);
    };
    add("p50_us", static_cast<double>(h.quantile(0.5)));
    if (all) add("p90_us", static_cast<double>(h.quantile(0.9)));
    add("p99_us", static_cast<double>(h.quantile(0.99)));
    if (all) add("p999_us", static_cast<double>(h.quantile(0.999)));
    add("max_us", static_cast<double>(h.max()));
    if (all) add("mean_us", h.mean());
}

} // namespace

void results::merge(const results& other) {
    latency.merge(other.latency);
    lateness.merge(other.lateness);
    requests += other.requests;
    warm_up_requests += other.warm_up_requests;
    answers_in_time += other.answers_in_time;
    unsent += other.unsent;
    unfinished += other.unfinished;
    connects += other.connects;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += other.errors[i];
    if (first_wrong_answer.empty()) first_wrong_answer = other.first_wrong_answer;
    measured = std::max(measured, other.measured);
    user += other.user;
    system += other.system;
    cpu_shares.insert(cpu_shares.end(), other.cpu_shares.begin(), other.cpu_shares.end());
    interrupted |= other.interrupted;
}

std::uint64_t results::errors_total() const noexcept {
    return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0});
}

bool generator_was_limit(double cpu_share, std::uint64_t lateness_p99, std::uint64_t latency_p99) noexcept {
    return cpu_share > 0.9 || (lateness_p99 > 1'000'000 && lateness_p99 > latency_p99 / 2);
}

std::string to_json(const settings& s, const results& r) {
    const double seconds = static_cast<double>(r.measured) / 1e9;
    double busiest = 0;
    std::string shares;
    for (const double share : r.cpu_shares) {
        busiest = std::max(busiest, share);
        shares.append(shares.empty() ? "" : ", ").append(json_object::number(share));
    }
    json_object errors;
    for (std::size_t i = 0; i < error_names.size(); ++i) errors.add(error_names[i], r.errors[i]);

    json_object json;
    json.add_text("url", s.url);
    json.add_text("mode", s.rate <= 0 ? "closed" : s.poisson ? "poisson" : "constant");
    json.add("connections", std::uint64_t{s.connections});
    json.add("threads", std::uint64_t{s.threads});
    json.add("pipeline", std::uint64_t{s.pipeline});
    json.add("per_connection", s.per_connection);
    json.add("seed", s.seed);
    json.add("seconds", seconds);
    s.rate > 0 ? json.add("rate_wanted", s.rate) : json.add_null("rate_wanted");
    json.add("rate_achieved", seconds > 0 ? static_cast<double>(r.answers_in_time) / seconds : 0.0);
    json.add("requests", r.requests);
    json.add("warmup_requests", r.warm_up_requests);
    json.add("unsent", r.unsent);
    json.add("unfinished", r.unfinished);
    add_quantiles(json, "", r.latency, true);
    json.add("errors", std::move(errors).close());
    json.add("errors_total", r.errors_total());
    r.first_wrong_answer.empty() ? json.add_null("first_wrong_answer")
                                 : json.add_text("first_wrong_answer", r.first_wrong_answer);
    json.add("connects", r.connects);
    json.add("bytes_in", r.bytes_in);
    json.add("bytes_out", r.bytes_out);
    json.add("cpu_user_s", static_cast<double>(r.user) / 1e9);
    json.add("cpu_system_s", static_cast<double>(r.system) / 1e9);
    json.add("cpu_share", busiest);
    json.add("cpu_shares", '[' + shares + ']');
    add_quantiles(json, "lateness_", r.lateness, false);
    json.add("generator_was_limit", generator_was_limit(busiest, r.lateness.quantile(0.99), r.latency.quantile(0.99)));
    json.add("interrupted", r.interrupted);
    return std::move(json).close();
}

} // namespace load
