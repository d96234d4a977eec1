#include "help.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fastserve::cli {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t flag_columns = 32;

// Appends `text` word by word, in lines that begin at flag_columns.
void append_wrapped(std::string& out, std::string_view text) {
    std::size_t column = flag_columns;
    for (bool first = true; !text.empty(); first = false) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        if (!first && column + 1 + word.size() > columns) {
            out.append("\n").append(flag_columns, ' ');
            column = flag_columns;
        } else if (!first) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
    }
}

// How many letters must be added, dropped, replaced or swapped with their neighbour to make one from the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before.swap(row);
        row.swap(next);
    }
    return row[b.size()];
}

} // namespace

std::string help_formatter::make_usage(const CLI::App*, std::string name) const {
    return "usage: " + name + " [options] [FOLDER]\n\n";
}

std::string help_formatter::make_group(std::string group, bool is_positional,
                                       std::vector<const CLI::Option*> options) const {
    std::string out = group + ":\n";
    for (const CLI::Option* o : options) out += make_option(o, is_positional);
    return out;
}

std::string help_formatter::make_option(const CLI::Option* o, bool) const {
    std::string out = "  " + o->get_name(false, true);
    if (!o->get_type_name().empty()) out += ' ' + o->get_type_name();
    if (out.size() + 2 > flag_columns)
        out.append("\n").append(flag_columns, ' ');
    else
        out.append(flag_columns - out.size(), ' ');
    std::string text = o->get_description();
    if (!o->get_default_str().empty()) text += " [" + o->get_default_str() + ']';
    append_wrapped(out, text);
    return out + '\n';
}

std::string unknown_argument(const CLI::App& app, std::string_view argument) {
    if (!argument.starts_with('-'))
        return "unexpected argument '" + std::string(argument) + "'; every option begins with --";
    const std::string_view name = argument.substr(0, argument.find('='));
    std::string line = "unknown option " + std::string(name);
    std::string nearest;
    std::size_t least = std::max<std::size_t>(2, name.size() / 4) + 1;
    for (const CLI::Option* o : app.get_options()) {
        for (const std::string& known : o->get_lnames()) {
            const std::size_t edits = edits_between(name, "--" + known);
            if (edits >= least) continue;
            least = edits;
            nearest = "--" + known;
        }
    }
    return line + (nearest.empty() ? "; fastserve --help lists them" : "; did you mean " + nearest + '?');
}

} // namespace fastserve::cli
