// Forms and queries: pairs are those that a plain cut at every '&' gives, decoded by a reference that is too simple to
// be wrong; in place and apart, and by name.
//
// Input: a byte that says how many pairs there may be, then the text.
#include "fuzz.hpp"

#include <fastserve/http/form.hpp>

#include <cctype>
#include <optional>
#include <string>

namespace {

using namespace fastserve::http;

std::optional<std::string> naive_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i] == '+' ? ' ' : text[i];
        if (c == '%') {
            const std::string digits(text.substr(i + 1, 2));
            if (digits.size() != 2) return std::nullopt;
            for (const char d : digits)
                if (!std::isxdigit(static_cast<unsigned char>(d))) return std::nullopt;
            c = static_cast<char>(std::stoi(digits, nullptr, 16));
            i += 2;
        }
        if (c == '\0') return std::nullopt;
        out += c;
    }
    return out;
}

struct expectation {
    std::optional<std::string> name, value;
    std::string raw_value;
};

std::vector<expectation> naive_pairs(std::string text) {
    std::vector<expectation> out;
    for (text += '&'; !text.empty();) {
        const std::string pair = text.substr(0, text.find('&'));
        text.erase(0, pair.size() + 1);
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const std::string value = equals == pair.npos ? "" : pair.substr(equals + 1);
        out.push_back({naive_decode(pair.substr(0, equals)), naive_decode(value), value});
    }
    return out;
}

void check(form_reader form, const std::vector<expectation>& expected, std::size_t most) {
    form_pair p;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const form_status status = form.next(p);
        if (i == most) {
            fuzz::require(status == form_status::too_many, "no more than may be");
            return;
        }
        const expectation& e = expected[i];
        fuzz::require(status == (e.name && e.value ? form_status::pair : form_status::malformed), "well formed or not");
        fuzz::require(p.name == e.name.value_or(""), "the name");
        fuzz::require(p.value == (e.name ? e.value.value_or("") : ""), "the value");
    }
    fuzz::require(form.next(p) == form_status::end, "the end");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const std::size_t most = in.byte();
    const std::string_view text = in.rest();
    const std::vector<expectation> expected = naive_pairs(std::string(text));
    fuzz::require(count_form_pairs(text) == expected.size(), "the count");

    fuzz::exact_copy copy(text, 0, " "), room(text, 0, "~");
    const std::string_view field(copy.data(), text.size());
    for (std::size_t i = 0; i < expected.size() && i < 16; ++i) {
        const std::string name = expected[i].name.value_or("none");
        const auto first =
            std::find_if(expected.begin(), expected.end(), [&](const auto& e) { return e.name == name; });
        const auto found = find_form_value(field, name);
        fuzz::require(found.has_value() == (first != expected.end()), "there is one of that name");
        if (found) fuzz::require(*found == first->raw_value, "the first one");
    }
    check(form_reader(field, room.data(), most), expected, most);
    fuzz::require(field == text, "the text stays");
    check(form_reader(field, copy.data(), most), expected, most);
    return 0;
}
