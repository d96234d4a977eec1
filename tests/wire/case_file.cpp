#include "case_file.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace wire {
namespace {

namespace json = boost::json;

// One character, one octet.
std::string octets(std::string_view utf8) {
    std::string out;
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        auto c = static_cast<unsigned char>(utf8[i]);
        if (c >= 0x80) {
            if (c > 0xc3) throw std::runtime_error("a character above U+00FF");
            c = static_cast<unsigned char>(c << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3f));
        }
        out += static_cast<char>(c);
    }
    return out;
}

std::string octets(const json::value& what) {
    if (what.is_string()) return octets(std::string_view(what.get_string()));
    // What the server says of a file: nobody serves files here.
    if (what.is_object()) return "\"known\"";
    const json::array& parts = what.as_array();
    std::string out;
    if (parts.size() == 2 && parts[0].is_int64()) {
        const std::string part = octets(parts[1]);
        for (std::int64_t n = parts[0].get_int64(); n > 0; --n) out += part;
        return out;
    }
    for (const json::value& part : parts) out += octets(part);
    return out;
}

json::value read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
}

// What fastserve is held to: the rule's own wish, or else what it allows.
const json::value* wanted(const json::object& rule, std::string_view key) {
    if (const json::value* want = rule.if_contains("want"))
        if (const json::value* found = want->as_object().if_contains(key)) return found;
    return rule.at("allow").as_object().if_contains(key);
}

void add_cases(const std::string& file, const json::object& rule, std::vector<wire_case>& out) {
    std::string before, behind;
    if (const json::value* around = rule.if_contains("around")) {
        before = octets(around->as_array().at(0));
        behind = octets(around->as_array().at(1));
    }
    for (const auto& [id, given] : rule.at("cases").as_object()) {
        wire_case c;
        c.id = std::string(id);
        c.file = file;
        const json::object* const how = given.if_object();
        c.send = before + octets(how ? how->at("send") : given) + behind;
        if (how && how->contains("then")) c.then = octets(how->at("then"));
        c.half_close = how && how->contains("half_close");
        c.waits = wanted(rule, "waits") != nullptr;
        c.may_be_silent = wanted(rule, "silent") != nullptr;
        c.unannounced = wanted(rule, "unannounced") != nullptr;
        if (const json::value* status = wanted(rule, "status"))
            for (const json::value& one : status->as_array()) c.status.push_back(json::value_to<int>(one));
        out.push_back(std::move(c));
    }
}

} // namespace

std::vector<wire_case> load_cases(const std::string& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::vector<wire_case> cases;
    for (const auto& path : files) {
        const json::value rules = read(path);
        for (const json::value& rule : rules.as_array()) add_cases(path.stem().string(), rule.as_object(), cases);
    }
    return cases;
}

} // namespace wire
