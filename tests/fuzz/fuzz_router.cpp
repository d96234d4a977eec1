// The router and percent-encoding, against references that are too simple to be wrong.
//
// Input: lines. Up to the first empty one each is a route: a letter for the method, then the pattern. The lines behind
// it are paths, each asked for with every method.
#include "fuzz.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>
#include <fastserve/http/percent.hpp>

#include <cctype>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace fastserve::detail;
using fastserve::http::normal_path, fastserve::http::percent_decode, fastserve::http::percent_normalise;
using strings = std::vector<std::string>;

// ---- percent-encoding (RFC 3986 2.1, 6.2.2)

bool unreserved(char c) {
    return (static_cast<unsigned char>(c) < 128 && std::isalnum(static_cast<unsigned char>(c))) || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

// What each octet of `text` stands for, and whether it was written as a triple.
std::optional<std::vector<std::pair<char, bool>>> octets(std::string_view text) {
    std::vector<std::pair<char, bool>> out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.emplace_back(text[i], false);
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        for (const char digit : text.substr(i + 1, 2))
            if (!std::isxdigit(static_cast<unsigned char>(digit))) return std::nullopt;
        const auto value = static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        if (value == '\0') return std::nullopt;
        out.emplace_back(value, true);
        i += 2;
    }
    return out;
}

std::string triple(char c) {
    char text[4];
    std::snprintf(text, sizeof text, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return text;
}

std::optional<std::string> naive_decode(std::string_view text) {
    const auto all = octets(text);
    if (!all) return std::nullopt;
    std::string out;
    for (const auto& [c, encoded] : *all) out += c;
    return out;
}

std::optional<std::string> naive_normalise(std::string_view text) {
    const auto all = octets(text);
    if (!all) return std::nullopt;
    std::string out;
    for (const auto& [c, encoded] : *all) out += encoded && !unreserved(c) ? triple(c) : std::string(1, c);
    return out;
}

template <class Function>
std::optional<std::string> run(Function function, std::string_view text) {
    fuzz::exact_copy in(text, 0, " "), out(text, 0, " ");
    const auto size = function(std::string_view(in.data(), text.size()), out.data());
    const auto size_in_place = function(std::string_view(in.data(), text.size()), in.data());
    fuzz::require(size == size_in_place, "in place it is the same");
    if (!size) return std::nullopt;
    fuzz::require(*size <= text.size(), "it never grows");
    fuzz::require(std::equal(out.data(), out.data() + *size, in.data()), "in place it is the same");
    return std::string(out.data(), *size);
}

void check_percent(std::string_view text) {
    const auto decoded = run(percent_decode, text), normal = run(percent_normalise, text);
    fuzz::require(decoded == naive_decode(text), "decoding");
    fuzz::require(normal == naive_normalise(text), "the normal form");
    if (!normal) return;
    fuzz::require(run(percent_normalise, *normal) == normal, "the normal form is its own");
    fuzz::require(run(percent_decode, *normal) == decoded, "and means the same");
}

// ---- routes

strings split(std::string_view path) {
    strings out;
    for (;;) {
        path.remove_prefix(1);
        const std::size_t slash = path.find('/');
        out.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return out;
        path.remove_prefix(slash);
    }
}

struct segment {
    char kind; // 'l', 'p' or 't': the preferred one lowest
    std::string text;
};

std::optional<segment> read_segment(const std::string& raw) {
    if (raw.starts_with('{')) {
        if (raw.find('}') != raw.size() - 1) return std::nullopt;
        std::string name = raw.substr(1, raw.size() - 2);
        const bool tail = name.ends_with("...");
        if (tail) name.resize(name.size() - 3);
        for (const char c : name)
            if (!unreserved(c) || c == '.' || c == '~') return std::nullopt;
        if (name.empty()) return std::nullopt;
        return segment{tail ? 't' : 'p', name};
    }
    std::string encoded;
    for (const char c : raw) {
        if (c != '\0' && std::string_view("{}?#").find(c) != std::string_view::npos) return std::nullopt;
        const bool stays =
            unreserved(c) || (c != '\0' && std::string_view("%!$&'()*+,;=:@").find(c) != std::string_view::npos);
        encoded += stays ? std::string(1, c) : triple(c);
    }
    const auto normal = naive_normalise(encoded);
    if (!normal) return std::nullopt;
    return segment{'l', *normal};
}

struct pattern {
    std::vector<segment> segments;

    static std::optional<pattern> read(std::string_view text) {
        if (!text.starts_with('/') || text.size() > max_pattern_octets) return std::nullopt;
        pattern out;
        strings names;
        const strings raw = split(text);
        if (raw.size() > max_route_segments) return std::nullopt;
        for (const std::string& r : raw) {
            const auto s = read_segment(r);
            if (!s || (!out.segments.empty() && out.segments.back().kind == 't')) return std::nullopt;
            if (s->kind != 'l') {
                if (std::find(names.begin(), names.end(), s->text) != names.end()) return std::nullopt;
                names.push_back(s->text);
            }
            out.segments.push_back(*s);
        }
        if (names.size() > max_route_parameters) return std::nullopt;
        return out;
    }

    // One letter a segment: of two patterns that match a path the lower rank wins.
    std::string rank() const {
        std::string out;
        for (const segment& s : segments) out += s.kind;
        return out;
    }
    // Two patterns of one shape are one place.
    std::string shape() const {
        std::string out;
        for (const segment& s : segments) out += '/' + (s.kind == 'l' ? s.text : std::string(1, '{') + s.kind);
        return out;
    }
    // The values of its parameters.
    std::optional<strings> match(const strings& path) const {
        strings values;
        for (std::size_t i = 0; i < segments.size(); ++i) {
            if (i >= path.size()) return std::nullopt;
            const segment& s = segments[i];
            if (s.kind == 'l' && s.text != path[i]) return std::nullopt;
            if (s.kind == 'p' && path[i].empty()) return std::nullopt;
            if (s.kind == 'l') continue;
            std::string value = path[i];
            if (s.kind == 't')
                for (std::size_t j = i + 1; j < path.size(); ++j) value += '/' + path[j];
            values.push_back(value);
            if (s.kind == 't') return values;
        }
        if (segments.size() != path.size()) return std::nullopt;
        return values;
    }
};

struct route {
    method_index method;
    std::uint32_t id;
    pattern what;
    std::string rank;
};

constexpr method_index method_post = 4;

method_index method_of(char letter) {
    switch (letter) {
    case 'G': return method_get;
    case 'H': return method_head;
    case 'O': return method_options;
    case '*': return any_method;
    default: return method_post;
    }
}

// 0 for its own method, 1 for HEAD by GET, 2 for any, 3 if the route is for another.
int fit(const route& r, method_index asked) {
    if (r.method == asked) return 0;
    if (asked == method_head && r.method == method_get) return 1;
    return r.method == any_method ? 2 : 3;
}

using matches = std::vector<std::pair<const route*, strings>>;

// The routes whose pattern matches, whatever their method.
matches match_all(const std::vector<route>& routes, std::string_view path) {
    matches all;
    if (!path.starts_with('/')) return all;
    const strings cut = split(path);
    for (const route& r : routes)
        if (auto values = r.what.match(cut)) all.emplace_back(&r, std::move(*values));
    return all;
}

void check_path(const route_tree& tree, const matches& all, method_index method, std::string_view path) {
    const route* best = nullptr;
    const strings* best_values = nullptr;
    std::uint64_t allowed = 0;
    for (const auto& [r, values] : all) {
        if (fit(*r, method) == 3) {
            allowed |= method_bit(r->method) | method_bit(method_options);
            if (r->method == method_get) allowed |= method_bit(method_head);
            continue;
        }
        if (best && std::pair(best->rank, fit(*best, method)) <= std::pair(r->rank, fit(*r, method))) continue;
        best = r;
        best_values = &values;
    }
    fuzz::exact_copy exact(path, route_tree::path_padding, "/a");
    const std::string_view asked(exact.data(), path.size());
    route_params params;
    const route_match m = tree.find(method, asked, params);
    fuzz::require(m.steps <= tree.worst_steps(), "the work is bounded");
    if (!best) {
        fuzz::require(m.kind == (allowed ? match_kind::method_not_allowed : match_kind::not_found), "nothing is found");
        fuzz::require(m.kind == match_kind::not_found || m.allowed == allowed, "these methods are allowed");
        fuzz::require(params.size() == 0, "nothing has no parameters");
        return;
    }
    fuzz::require(m.kind == match_kind::found && m.route == best->id, "the best route is found");
    fuzz::require(params.size() == best_values->size(), "with its parameters");
    std::size_t i = 0;
    for (const segment& s : best->what.segments) {
        if (s.kind == 'l') continue;
        fuzz::require(params.name(i) == s.text && params.value(i, asked) == (*best_values)[i], "and their values");
        fuzz::require(params.find(s.text, asked) == (*best_values)[i], "by name, too");
        ++i;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    route_tree_builder builder;
    std::vector<route> routes;
    for (std::uint32_t id = 1; !in.empty(); ++id) {
        std::string_view line = in.until('\n');
        if (line.empty()) break;
        const method_index method = method_of(line[0]);
        line.remove_prefix(1);
        const auto what = pattern::read(line);
        const registration made = builder.add(method, line, id);
        const route* same = nullptr;
        if (what)
            for (const route& r : routes)
                if (r.method == method && r.what.shape() == what->shape()) same = &r;
        fuzz::require(static_cast<bool>(made) == (what && !same), "sound patterns are taken, once");
        fuzz::require(static_cast<bool>(made) == made.detail.empty(), "what is refused is explained");
        fuzz::require(!same || made.other == same->id, "a conflict is named");
        if (made) routes.push_back({method, id, *what, what->rank()});
    }
    const route_tree tree = builder.build();
    fuzz::require(tree.route_count() == routes.size(), "all routes are there");
    while (!in.empty()) {
        const std::string_view path = in.until('\n');
        check_percent(path);
        std::string scratch(path.size(), ' ');
        const auto normal = normal_path(path, scratch.data());
        if (!normal) continue;
        const matches all = match_all(routes, *normal);
        for (const method_index method : {method_get, method_head, method_options, method_post})
            check_path(tree, all, method, *normal);
    }
    return 0;
}
