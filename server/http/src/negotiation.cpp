#include <fastserve/http/negotiation.hpp>

#include <fastserve/http/head.hpp>

#include "value_reader.hpp"

#include <algorithm>

namespace fastserve::http {
namespace {

constexpr weight most = 1000;

// Every weight is read to the end of its token, so that "0.5x" is none.
std::optional<weight> parse_weight(std::string_view text) noexcept {
    unsigned value = 0;
    if (text.starts_with('0') || text.starts_with('1')) {
        value = text.front() == '1' ? most : 0;
        text.remove_prefix(1);
        if (text.empty()) return static_cast<weight>(value);
    } else if (text.size() < 2) {
        return std::nullopt; // "." alone
    }
    if (text.front() != '.' || text.size() > 4) return std::nullopt;
    unsigned unit = 100;
    for (const char c : text.substr(1)) {
        if (c < '0' || c > '9') return std::nullopt;
        value += unit * static_cast<unsigned>(c - '0');
        unit /= 10;
    }
    if (value > most) return std::nullopt;
    return static_cast<weight>(value);
}

// ---- media types

struct parameter {
    std::string_view name;
    std::string_view value; // with quotes and escapes, if it has any; empty if there is none
};

// Behind the name of a media range, or behind another parameter: the next one, if there is one. False at the end, or at
// what is none.
bool next_parameter(value_reader& in, parameter& out) noexcept {
    for (;;) {
        in.skip_blanks();
        if (!in.take(';')) return false;
        in.skip_blanks();
        out.name = in.token();
        if (!out.name.empty()) break;
    }
    out.value = {};
    const value_reader at_sign = in;
    if (in.take('=')) {
        out.value = in.sees('"') ? in.quoted_string() : in.token();
        if (out.value.empty()) {
            in = at_sign; // where no member ends
            return false;
        }
    }
    return true;
}

// The characters of a value, with or without quotes.
class value_text {
public:
    explicit value_text(std::string_view value) noexcept : rest_(value), quoted_(value.starts_with('"')) {
        if (quoted_) rest_ = rest_.substr(1, rest_.size() - 2);
    }
    // Negative at the end.
    int next() noexcept {
        if (rest_.empty()) return -1;
        if (quoted_ && rest_.front() == '\\') rest_.remove_prefix(1);
        const auto c = static_cast<unsigned char>(lower(rest_.front()));
        rest_.remove_prefix(1);
        return c;
    }

private:
    std::string_view rest_;
    bool quoted_;
};

bool equal_values(std::string_view a, std::string_view b) noexcept {
    value_text left(a), right(b);
    for (;;) {
        const int c = left.next();
        if (c != right.next()) return false;
        if (c < 0) return true;
    }
}

bool has_parameter(std::string_view parameters, const parameter& wanted) noexcept {
    value_reader in(parameters);
    for (parameter p; next_parameter(in, p);)
        if (equal_ignoring_case(p.name, wanted.name) && equal_values(p.value, wanted.value)) return true;
    return false;
}

struct media_range {
    std::string_view type, subtype;
    std::string_view parameters; // as they stand in the field, those before the weight
    weight q = most;
};

// False if what `in` is at is none; `in` is then somewhere within.
bool read_range(value_reader& in, media_range& out) noexcept {
    out.type = in.token();
    if (out.type.empty() || !in.take('/')) return false;
    out.subtype = in.token();
    if (out.subtype.empty() || (out.type == "*" && out.subtype != "*")) return false;
    const std::string_view behind = in.rest();
    const auto before = [&behind](const value_reader& at) {
        return behind.substr(0, behind.size() - at.rest().size());
    };
    bool weighted = false;
    value_reader last = in;
    for (parameter p; next_parameter(in, p); last = in) {
        // What stands behind the weight was once an extension of the field (RFC 7231 5.3.2) and needed no value.
        if (weighted) continue;
        if (p.value.empty()) return false;
        if (p.name != "q" && p.name != "Q") continue;
        const auto q = parse_weight(p.value);
        if (!q) return false;
        out.parameters = before(last);
        out.q = *q;
        weighted = true;
    }
    if (!weighted) out.parameters = before(in);
    return in.ends_member();
}

// How precisely `range` names what has that name and those parameters; 0 when it does not.
std::uint32_t precision_of(const media_range& range, std::string_view name, std::string_view parameters) noexcept {
    std::uint32_t precision = 1U << 16;
    if (range.type != "*") {
        const std::string_view type = name.substr(0, name.find('/'));
        if (!equal_ignoring_case(type, range.type)) return 0;
        precision = 2U << 16;
        if (range.subtype != "*") {
            if (!equal_ignoring_case(name.substr(std::min(type.size() + 1, name.size())), range.subtype)) return 0;
            precision = 3U << 16;
        }
    }
    value_reader in(range.parameters);
    for (parameter p; next_parameter(in, p);) {
        if (!has_parameter(parameters, p)) return 0;
        if ((precision & 0xffff) != 0xffff) ++precision;
    }
    return precision;
}

} // namespace

// ---- codings

coding_preferences::coding_preferences(const head& of) noexcept {
    of.each(field::accept_encoding, [this](std::string_view line) { add(line); });
}

void coding_preferences::add(std::string_view field_value) noexcept {
    value_reader in(field_value);
    for (; in.begin_member(); in.skip_member()) {
        const std::string_view name = in.token();
        std::optional<weight> q = most;
        in.skip_blanks();
        if (in.take(';')) {
            in.skip_blanks();
            q = (in.take('q') || in.take('Q')) && in.take('=') ? parse_weight(in.token()) : std::nullopt;
        }
        if (name.empty() || !q || !in.ends_member()) continue;
        if (name == "*")
            note(content_coding_count, *q);
        else if (const auto coding = find_content_coding(name))
            note(static_cast<std::size_t>(*coding), *q);
    }
}

void coding_preferences::note(std::size_t index, weight q) noexcept {
    weight& kept = weights_[index];
    kept = kept == unset ? q : std::max(kept, q);
}

weight coding_preferences::of(content_coding c) const noexcept {
    const weight own = weights_[static_cast<std::size_t>(c)], any = weights_[content_coding_count];
    if (own != unset) return own;
    if (any != unset) return any;
    return c == content_coding::identity ? 1 : 0;
}

std::optional<content_coding> coding_preferences::choose(std::span<const content_coding> offers) const noexcept {
    std::optional<content_coding> best;
    weight best_weight = 0;
    const auto consider = [&](content_coding c) {
        const weight q = of(c);
        if (q <= best_weight) return;
        best = c;
        best_weight = q;
    };
    for (const content_coding c : offers) consider(c);
    consider(content_coding::identity);
    return best;
}

// ---- media types, again

media_preferences::media_preferences(std::span<const std::string_view> offers) noexcept
    : count_(std::min(offers.size(), most_offers)) {
    for (std::size_t i = 0; i < count_; ++i) {
        const std::string_view name = offers[i].substr(0, offers[i].find(';'));
        candidates_[i].name = trim(name);
        candidates_[i].parameters = offers[i].substr(name.size());
    }
}

media_preferences::media_preferences(std::span<const std::string_view> offers, const head& of) noexcept
    : media_preferences(offers) {
    of.each(field::accept, [this](std::string_view line) { add(line); });
}

void media_preferences::add(std::string_view field_value) noexcept {
    value_reader in(field_value);
    for (; in.begin_member(); in.skip_member()) {
        media_range range;
        if (!read_range(in, range)) continue;
        told_ = true;
        for (candidate& c : std::span(candidates_).first(count_)) {
            const std::uint32_t precision = precision_of(range, c.name, c.parameters);
            if (precision == 0 || precision < c.precision) continue;
            c.q = precision == c.precision ? std::max(c.q, range.q) : range.q;
            c.precision = precision;
        }
    }
}

weight media_preferences::of(std::size_t offer) const noexcept {
    if (offer >= count_) return 0;
    return told_ ? candidates_[offer].q : most;
}

std::optional<std::size_t> media_preferences::choose() const noexcept {
    std::optional<std::size_t> best;
    weight best_weight = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const weight q = of(i);
        if (q <= best_weight) continue;
        best = i;
        best_weight = q;
    }
    return best;
}

} // namespace fastserve::http
