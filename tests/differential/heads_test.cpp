// Asks our parser and two others about heads made at random, and explains every disagreement by a rule, or fails.
//
//     differential_heads COUNT [SEED]
#include "heads.hpp"
#include "rivals.hpp"
#include "rules.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <tuple>

namespace {

using namespace differential;

std::string printable(std::string_view text) {
    std::string s;
    for (const char c : text) {
        char hex[8];
        const auto u = static_cast<unsigned char>(c);
        std::snprintf(hex, sizeof hex, "\\x%02x", unsigned{u});
        s += c == '\r' ? "\\r" : c == '\n' ? "\\n\n    " : u < ' ' || u > '~' ? std::string(hex) : std::string(1, c);
    }
    return s;
}

// What two accounts of an accepted head differ in; nothing if in nothing.
std::string_view difference(const account& ours, const account& theirs) {
    if (ours.size != theirs.size) return "size";
    if (ours.method != theirs.method) return "method";
    if (ours.target != theirs.target) return "target";
    if (ours.minor != theirs.minor) return "version";
    if (ours.fields != theirs.fields) return "fields";
    if (ours.chunked != theirs.chunked) return "chunked";
    if (ours.length != theirs.length) return "length";
    if (ours.keep_alive != theirs.keep_alive) return "keep-alive";
    return {};
}

struct tally {
    std::size_t heads = 0, accepted = 0, wrong = 0;
    // Verdict, rule, section; by rival.
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t[2]> rules;

    void note(std::string_view text, const account& ours, const account& theirs, rival who) {
        if (!ours.accepted && !theirs.accepted) return;
        explanation e;
        std::string_view verdict;
        std::string_view what;
        if (!ours.accepted) {
            verdict = "we refuse";
            if (ours.failed) e = why_stricter(text.substr(0, theirs.size), ours);
        } else if (!theirs.accepted) {
            verdict = "it refuses";
            if (theirs.failed) e = why_accepted(text, who, theirs.reason);
        } else {
            what = difference(ours, theirs);
            if (what.empty()) return;
            verdict = "it reads";
            e = why_different(text.substr(0, ours.size), who, what);
        }
        if (!e.rule.empty()) {
            ++rules[{verdict, e.rule, e.section}][static_cast<unsigned>(who)];
            return;
        }
        if (++wrong > 5) return;
        std::printf("unexplained: %s accepts=%d (%s), we accept=%d (%s) %.*s\n    %s\n",
                    who == rival::beast ? "Beast" : "http-parser", theirs.accepted, theirs.reason.c_str(),
                    ours.accepted, ours.reason.c_str(), static_cast<int>(what.size()), what.data(),
                    printable(text).c_str());
    }

    void print() const {
        std::printf("%-12s %-48s %-28s %10s %12s\n", "", "rule", "", "Beast", "http-parser");
        for (const auto& [key, counts] : rules) {
            const auto& [verdict, rule, section] = key;
            std::printf("%-12s %-48s %-28s %10zu %12zu\n", std::string(verdict).c_str(), std::string(rule).c_str(),
                        std::string(section).c_str(), counts[0], counts[1]);
        }
    }
};

} // namespace

int main(int count, char** arguments) {
    if (count < 2) {
        std::fprintf(stderr, "usage: %s COUNT [SEED]\n", arguments[0]);
        return 2;
    }
    const std::uint64_t heads = std::strtoull(arguments[1], nullptr, 10);
    const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : std::random_device{}();
    head_source source(seed);
    tally t;
    for (; t.heads < heads; ++t.heads) {
        const std::string text = source.next();
        const account ours = ask_fastserve(text);
        t.accepted += ours.accepted;
        t.note(text, ours, ask_beast(text), rival::beast);
        t.note(text, ours, ask_http_parser(text), rival::http_parser);
    }
    t.print();
    std::printf("%zu heads accepted by us\n", t.accepted);
    // A generator whose heads are all refused, or all accepted, would prove nothing.
    if (t.accepted < t.heads / 10 || t.accepted > t.heads * 9 / 10) ++t.wrong;
    std::printf("tried %zu wrong %zu seed %llu\n", t.heads, t.wrong, static_cast<unsigned long long>(seed));
    return t.wrong != 0;
}
