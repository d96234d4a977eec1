// From the path of a request to a name below a folder: what is taken is what a reading by the rules takes, it leads
// nowhere but down, and its URL, written anew, leads there again.
//
// Input: which hidden names are served, then the path.
#include "fuzz.hpp"

#include <fastserve/files/media_types.hpp>
#include <fastserve/files/path.hpp>

#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>

namespace {

using namespace fastserve::files;

std::optional<std::string> decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (text.size() - i < 3 || !std::isxdigit(static_cast<unsigned char>(text[i + 1])) ||
                !std::isxdigit(static_cast<unsigned char>(text[i + 2])))
                return std::nullopt;
            c = static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
            i += 2;
        }
        if (c == '\0') return std::nullopt;
        out += c;
    }
    return out;
}

struct reading {
    errc error = errc::ok;
    std::string text;
    bool directory = true;
};

reading naive(std::string_view path, const path_rules& rules) {
    reading out;
    std::vector<std::string_view> names;
    while (!path.empty()) {
        names.push_back(path.substr(0, path.find('/')));
        path.remove_prefix(names.back().size());
        out.directory = !path.empty();
        if (!path.empty()) path.remove_prefix(1);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].size() > 3 * longest_name) return {errc::no_such_name, "", true};
        const auto name = decode(names[i]);
        if (!name) return {errc::bad_encoding, "", true};
        if (name->empty() || *name == "." || *name == ".." || name->find('/') != name->npos ||
            name->find('\\') != name->npos || name->size() > longest_name)
            return {errc::no_such_name, "", true};
        if (i != 0) out.text += '/';
        out.text += *name;
        if (out.text.size() > longest_path) return {errc::no_such_name, "", true};
        const bool well_known = i == 0 && rules.well_known && *name == ".well-known";
        if ((*name)[0] == '.' && !rules.hidden && !well_known) return {errc::hidden, "", true};
    }
    return out;
}

// Every octet in a triple, but for the slashes between names.
std::string encode(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '/') {
            out += c;
            continue;
        }
        char triple[4];
        std::snprintf(triple, sizeof triple, "%%%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += triple;
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const unsigned options = in.byte();
    const path_rules rules{.hidden = (options & 1) != 0, .well_known = (options & 2) == 0};
    const std::string_view text = in.rest();
    fuzz::exact_copy copy(text, 0, " ");
    const local_path path({copy.data(), text.size()}, rules);

    const reading wanted = naive(text, rules);
    fuzz::require(path.error() == wanted.error, "taken or not, and why");
    fuzz::require(path.text() == wanted.text, "the name");
    fuzz::require(std::string_view(path.c_str()) == (wanted.text.empty() ? "." : wanted.text), "the name in C");
    if (path.error() != errc::ok) return 0;
    fuzz::require(path.names_directory() == wanted.directory, "a directory is meant or not");

    // Nowhere but down.
    const std::string framed = "/" + std::string(path.text()) + "/";
    for (const char* never : {"//", "/./", "/../"})
        fuzz::require(framed.find(never) == framed.npos || framed == "//", "no name leads up");
    fuzz::require(framed.find('\\') == framed.npos && framed.find('\0') == framed.npos, "no name is two");

    std::string url = encode(path.text());
    if (path.names_directory() && !url.empty()) url += '/';
    const local_path again(url, rules);
    fuzz::require(again.error() == errc::ok && again.text() == path.text() &&
                      again.names_directory() == path.names_directory(),
                  "its URL leads there again");

    // What the type is made of is a part of the last name.
    const std::string_view extension = extension_of(path.text());
    fuzz::require(path.text().ends_with(extension) && extension.find('/') == extension.npos, "the extension is within");
    fuzz::require(!media_type_of(path.text()).empty(), "there is always a type");
    return 0;
}
