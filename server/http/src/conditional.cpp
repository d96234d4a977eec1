#include <fastserve/http/conditional.hpp>

#include <fastserve/http/date.hpp>
#include <fastserve/http/head.hpp>

#include "value_reader.hpp"

namespace fastserve::http {
namespace {

// The tag that `text` begins with (etagc: visible ASCII without '"', and 8-bit bytes), which is cut off it.
std::optional<entity_tag> take_tag(std::string_view& text) noexcept {
    entity_tag tag;
    std::size_t begin = 0;
    if (text.starts_with("W/")) {
        tag.weak = true;
        begin = 2;
    }
    if (begin >= text.size() || text[begin] != '"') return std::nullopt;
    for (std::size_t i = begin + 1; i < text.size(); ++i) {
        if (text[i] == '"') {
            tag.opaque = text.substr(begin, i + 1 - begin);
            text.remove_prefix(i + 1);
            return tag;
        }
        if (is_blank(text[i]) || !is(text[i], value_char)) break;
    }
    return std::nullopt;
}

using comparison = bool (*)(const entity_tag&, const entity_tag&) noexcept;

// True when one line of the field is "*" and there is something, or a tag in one of them equals that of what there is.
bool matches(const head& request, field name, const validators& current, comparison equal) noexcept {
    const auto present = parse_entity_tag(current.etag);
    bool found = false;
    request.each(name, [&](std::string_view line) {
        if (!current.exists || found) return;
        if (trim(line) == "*") {
            found = true;
            return;
        }
        if (!present) return;
        for (value_reader in(line); !found && in.begin_member(); in.skip_member()) {
            std::string_view rest = in.rest();
            const auto tag = take_tag(rest);
            if (!tag) continue;
            in = value_reader(rest);
            found = in.ends_member() && equal(*tag, *present);
        }
    });
    return found;
}

bool has_one_line(const head& request, field name) noexcept {
    return request.has(name) && !((request.repeated >> static_cast<unsigned>(name)) & 1);
}

std::optional<std::int64_t> date_in(const head& request, field name, std::int64_t now) noexcept {
    if (!has_one_line(request, name)) return std::nullopt;
    return parse_date(trim(*request.find(name)), now);
}

bool is_range_applicable(const head& request, const validators& current, std::int64_t now) noexcept {
    if (request.method != verb::get || !has_one_line(request, field::range)) return false;
    if (!request.has(field::if_range)) return true;
    if (!has_one_line(request, field::if_range)) return false;
    if (const auto tag = parse_entity_tag(trim(*request.find(field::if_range)))) {
        const auto present = parse_entity_tag(current.etag);
        return present && strong_equal(*tag, *present);
    }
    // The very date that was sent, not a later one (RFC 9110 13.1.5).
    const auto date = date_in(request, field::if_range, now);
    return date && current.strong_date && date == current.last_modified;
}

} // namespace

std::optional<entity_tag> parse_entity_tag(std::string_view text) noexcept {
    const auto tag = take_tag(text);
    return tag && text.empty() ? tag : std::nullopt;
}

condition_verdict evaluate_conditions(const head& request, const validators& current, std::int64_t now) noexcept {
    const verb method = request.method;
    // They select and change no representation (RFC 9110 13.2.1).
    if (method == verb::connect || method == verb::options || method == verb::trace) return {};
    const bool reads = method == verb::get || method == verb::head;

    if (request.has(field::if_match)) {
        if (!matches(request, field::if_match, current, strong_equal)) return {precondition::failed, false};
    } else if (const auto date = date_in(request, field::if_unmodified_since, now); date && current.last_modified) {
        if (*current.last_modified > *date) return {precondition::failed, false};
    }

    if (request.has(field::if_none_match)) {
        if (matches(request, field::if_none_match, current, weak_equal))
            return {reads ? precondition::not_modified : precondition::failed, false};
    } else if (const auto date = date_in(request, field::if_modified_since, now);
               reads && date && current.last_modified) {
        if (*current.last_modified <= *date) return {precondition::not_modified, false};
    }

    return {precondition::proceed, current.exists && is_range_applicable(request, current, now)};
}

} // namespace fastserve::http
