#include "rules.hpp"

#include <fastserve/http/verb.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <limits>

namespace differential {
namespace {

using fastserve::http::errc, fastserve::http::find_verb, fastserve::http::verb;
using strings = std::vector<std::string>;

constexpr std::string_view digits = "0123456789", hex = "0123456789abcdefABCDEF",
                           letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string low(std::string_view text) {
    std::string s(text);
    for (char& c : s)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return s;
}
std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}
bool only(std::string_view text, std::string_view more, bool alnum = true) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        if (c == '\0') return false;
        return (alnum && (letters.find(c) != letters.npos || digits.find(c) != digits.npos)) ||
               more.find(c) != more.npos;
    });
}
bool is_number(std::string_view text) {
    return !text.empty() && only(text, digits, false);
}
bool is_token(std::string_view text) {
    return !text.empty() && only(text, "!#$%&'*+-.^_`|~");
}

strings split(std::string_view text, char at) {
    strings parts;
    for (;;) {
        const std::size_t end = text.find(at);
        parts.emplace_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}
strings members(std::string_view list) {
    strings all;
    for (const std::string& part : split(list, ',')) all.push_back(low(trimmed(part)));
    return all;
}

// A head cut at its LFs, whatever stands before them.
struct outline {
    std::size_t empty_lines = 0;
    bool bad_line_end = false; // an LF without CR, or a CR without LF
    std::string first;
    std::string method, target, version; // as far as the first line has them
    strings lines;
    std::vector<std::pair<std::string, std::string>> fields; // names in lower case

    explicit outline(std::string_view text) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            bad_line_end |= text[i] == '\n' && (i == 0 || text[i - 1] != '\r');
            bad_line_end |= text[i] == '\r' && i + 1 < text.size() && text[i + 1] != '\n';
        }
        for (std::string& line : split(text, '\n')) {
            if (line.ends_with('\r')) line.pop_back();
            if (first.empty() && line.empty()) {
                ++empty_lines;
                continue;
            }
            if (first.empty()) {
                first = line;
                continue;
            }
            if (line.empty()) break;
            lines.push_back(line);
            const std::size_t colon = line.find(':');
            if (colon != line.npos)
                fields.emplace_back(low(std::string_view(line).substr(0, colon)),
                                    trimmed(std::string_view(line).substr(colon + 1)));
        }
        const strings parts = split(first, ' ');
        method = parts[0];
        if (parts.size() > 1) target = parts[1];
        if (parts.size() > 2) version = parts[2];
    }

    strings values(std::string_view name) const {
        strings all;
        for (const auto& [n, value] : fields)
            if (n == name) all.push_back(value);
        return all;
    }
    bool old() const { return version == "HTTP/1.0"; }
};

bool percent_sound(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%' && (text.size() - i < 3 || !only(text.substr(i + 1, 2), hex, false))) return false;
    return true;
}

bool host_sound(std::string_view text) {
    std::string_view host = text, port;
    const std::size_t colon = text.find(':', text.starts_with('[') ? std::min(text.find(']'), text.size()) : 0);
    if (colon != text.npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
    }
    if (!only(port, digits, false)) return false;
    if (!host.starts_with('[')) return !host.empty() && only(host, "-._~!$&'()*+,;=%") && percent_sound(host);
    if (!host.ends_with(']')) return false;
    const std::string inside(host.substr(1, host.size() - 2));
    in6_addr ignored;
    if (inet_pton(AF_INET6, inside.c_str(), &ignored) == 1 && inside.find('\0') == inside.npos) return true;
    const std::size_t dot = inside.find('.');
    return dot != inside.npos && dot > 1 && (inside[0] | 32) == 'v' && only(inside.substr(1, dot - 1), hex, false) &&
           dot + 1 < inside.size() && only(inside.substr(dot + 1), "-._~!$&'()*+,;=:");
}

// What is wrong with a target, if something is.
explanation judge_target(const outline& o) {
    const std::string& t = o.target;
    if (!only(t, "-._~:/?[]@!$&'()*+,;=%")) return {"a byte that no URI has", "RFC 3986 2"};
    if (!percent_sound(t)) return {"'%' without two hexadecimal digits", "RFC 3986 2.1"};
    if (o.method == "CONNECT") {
        const std::size_t colon = t.rfind(':');
        if (!host_sound(t) || colon == t.npos || !is_number(t.substr(colon + 1)))
            return {"CONNECT without host and port", "RFC 9112 3.2.3"};
        return {};
    }
    if (t.starts_with('/')) return {};
    if (t == "*") return o.method == "OPTIONS" ? explanation{} : explanation{"'*' without OPTIONS", "RFC 9112 3.2.4"};
    const std::string lower = low(t);
    const std::size_t scheme = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
    if (scheme == 0) return {"neither a path nor an http URI", "RFC 9112 3.2"};
    const std::string authority = t.substr(scheme, t.find_first_of("/?", scheme) - scheme);
    if (authority.find('@') != authority.npos) return {"user information in a target", "RFC 9110 4.2.4"};
    if (!host_sound(authority)) return {"a target whose host is none", "RFC 3986 3.2.2"};
    return {};
}

explanation judge_length(const outline& o) {
    for (const std::string& value : o.values("content-length")) {
        if (!is_number(value)) return {"Content-Length is no number", "RFC 9112 6.3"};
        const std::size_t zeros = std::min(value.find_first_not_of('0'), value.size());
        const std::string number = value.substr(zeros);
        const std::string most = std::to_string(std::numeric_limits<std::uint64_t>::max());
        if (number.size() > most.size() || (number.size() == most.size() && number > most))
            return {"Content-Length beyond 64 bits", "RFC 9110 8.6"};
    }
    return {};
}

// The faults of single lines, in any of them.
template <class Wrong>
bool some_line(const outline& o, Wrong wrong) {
    return std::any_of(o.lines.begin(), o.lines.end(), wrong);
}

} // namespace

explanation why_stricter(std::string_view text, const account& ours) {
    const outline o(text);
    const auto if_so = [](bool holds, std::string_view rule, std::string_view section) {
        return holds ? explanation{rule, section} : explanation{};
    };
    const strings parts = split(o.first, ' ');
    switch (ours.error) {
    case errc::bad_line_end: return if_so(o.bad_line_end, "a lone CR or LF", "RFC 9112 2.2");
    case errc::bad_request_line:
        if (o.empty_lines > 8) return {"more than 8 empty lines in front", "RFC 9112 2.2, a limit of ours"};
        return if_so(parts.size() != 3 || o.bad_line_end || o.method.empty() || o.target.empty(),
                     "not three words and two spaces", "RFC 9112 3");
    case errc::bad_method: return if_so(!is_token(o.method), "a method that is no token", "RFC 9110 9.1");
    case errc::unknown_method:
        return if_so(is_token(o.method) && (o.method.size() > 32 || find_verb(o.method) == verb::unknown),
                     "a method that is not known (501)", "RFC 9110 9.1");
    case errc::bad_target: return judge_target(o);
    case errc::bad_version:
        return if_so(parts.size() != 3 || o.version.size() != 8 || !o.version.starts_with("HTTP/") ||
                         !is_number(o.version.substr(5, 1)) || o.version[6] != '.' || !is_number(o.version.substr(7)) ||
                         o.bad_line_end,
                     "not HTTP/digit.digit", "RFC 9112 2.3");
    case errc::unsupported_version:
        return if_so(!o.version.starts_with("HTTP/1."), "another major version (505)", "RFC 9110 2.5");
    case errc::obsolete_fold:
        return if_so(some_line(o, [](const std::string& l) { return l[0] == ' ' || l[0] == '\t'; }), "a folded line",
                     "RFC 9112 5.2");
    case errc::bad_field_name:
        if (some_line(o, [](const std::string& l) {
                const auto c = l.find(':');
                return c != l.npos && c > 0 && (l[c - 1] == ' ' || l[c - 1] == '\t');
            }))
            return {"white space before a colon", "RFC 9112 5.1"};
        return if_so(
            some_line(
                o, [](const std::string& l) { return l.find(':') == l.npos || !is_token(l.substr(0, l.find(':'))); }),
            "a field name that is no token", "RFC 9110 5.1");
    case errc::bad_field_value:
        return if_so(some_line(o,
                               [](const std::string& l) {
                                   return std::any_of(l.begin(), l.end(), [](char c) {
                                       const auto u = static_cast<unsigned char>(c);
                                       return (u < ' ' && u != '\t') || u == 0x7f;
                                   });
                               }),
                     "a control character in a value", "RFC 9110 5.5");
    case errc::missing_host: return if_so(!o.old() && o.values("host").empty(), "no Host", "RFC 9112 3.2");
    case errc::duplicate_host: return if_so(o.values("host").size() > 1, "two Hosts", "RFC 9112 3.2");
    case errc::bad_host: {
        const strings hosts = o.values("host");
        if (hosts.size() == 1 && hosts[0].empty())
            return if_so(o.target[0] != '/' && o.target != "*", "an empty Host beside a target with one",
                         "RFC 9112 3.2");
        return if_so(hosts.size() == 1 && !host_sound(hosts[0]), "a Host that is none", "RFC 3986 3.2.2");
    }
    case errc::bad_content_length: return judge_length(o);
    case errc::duplicate_content_length:
        return if_so(o.values("content-length").size() > 1, "two Content-Lengths", "RFC 9112 6.3");
    case errc::length_and_chunked:
        return if_so(!o.values("content-length").empty() && !o.values("transfer-encoding").empty(),
                     "Content-Length beside Transfer-Encoding", "RFC 9112 6.1");
    case errc::bad_transfer_encoding:
    case errc::unknown_transfer_coding: {
        const strings codings = o.values("transfer-encoding");
        if (o.old() && !codings.empty()) return {"Transfer-Encoding in 1.0", "RFC 9112 6.1"};
        if (codings.size() > 1) return {"two lines of Transfer-Encoding", "RFC 9112 6.1, stricter"};
        if (codings.size() != 1) return {};
        const strings all = members(codings[0]);
        if (ours.error == errc::unknown_transfer_coding)
            return if_so(all.size() > 1 && all.back() == "chunked", "a coding before chunked (501)", "RFC 9112 6.1");
        return if_so(all.back() != "chunked" || all.size() > 1, "chunked is not the last coding, or not once",
                     "RFC 9112 6.3");
    }
    case errc::expectation_failed: {
        bool unknown = false;
        for (const std::string& value : o.values("expect"))
            for (const std::string& member : members(value)) unknown |= !member.empty() && member != "100-continue";
        return if_so(unknown && !o.old(), "an expectation that is not known (417)", "RFC 9110 10.1.1");
    }
    default: return {};
    }
}

explanation why_accepted(std::string_view text, rival who, std::string_view reason) {
    const outline o(text);
    if (who == rival::beast) {
        if (reason == "bad method" && o.empty_lines > 0) return {"empty lines in front are skipped", "RFC 9112 2.2"};
        if (reason == "bad version" && o.version.starts_with("HTTP/1.") && o.version > "HTTP/1.1")
            return {"a higher minor version is 1.1", "RFC 9110 6.2"};
        if (reason == "bad value")
            for (const char* name : {"connection", "proxy-connection"})
                for (const std::string& value : o.values(name))
                    for (const std::string& member : members(value))
                        if (!member.empty() && !is_token(member))
                            return {"an odd Connection option is passed over", "RFC 9110 7.6.1"};
        return {};
    }
    if (reason == "HPE_INVALID_CONTENT_LENGTH")
        for (const std::string& value : o.values("content-length"))
            if (value.find("1844674407370955") != value.npos) return {"Content-Length up to 2^64 - 1", "RFC 9110 8.6"};
    const std::string_view field = reason == "HPE_INVALID_CONTENT_LENGTH"      ? "content-length:"
                                   : reason == "HPE_INVALID_TRANSFER_ENCODING" ? "transfer-encoding:"
                                                                               : "";
    if (!field.empty() &&
        some_line(o, [field](const std::string& l) { return low(l).starts_with(field) && l.find('\t') != l.npos; }))
        return {"HTAB is white space, too", "RFC 9110 5.6.3"};
    if (reason == "HPE_INVALID_TRANSFER_ENCODING" || reason == "HPE_UNEXPECTED_CONTENT_LENGTH")
        for (const auto& [name, value] : o.fields)
            if (name.starts_with("transfer-encoding") && is_token(name.substr(17)))
                return {"a name that goes on is another name", "RFC 9110 5.1"};
    if (reason == "HPE_INVALID_METHOD" && find_verb(o.method) != verb::unknown)
        return {"a method that it does not know", "RFC 9110 9.1"};
    return {};
}

explanation why_different(std::string_view text, rival who, std::string_view what) {
    const outline o(text);
    if (what == "version" && o.version > "HTTP/1.1") return {"a higher minor version is 1.1", "RFC 9110 6.2"};
    if (what != "keep-alive") return {};
    strings options;
    for (const std::string& value : o.values("connection"))
        for (const std::string& option : members(value)) options.push_back(option);
    const auto is = [](std::string_view wanted) {
        return [wanted](const std::string& option) { return option == wanted; };
    };
    const bool close = std::any_of(options.begin(), options.end(), is("close"));
    const bool keep_alive = std::any_of(options.begin(), options.end(), is("keep-alive"));
    if (close && keep_alive && o.old()) return {"close counts more than keep-alive", "RFC 9112 9.3"};
    if (!o.values("proxy-connection").empty()) return {"Proxy-Connection means nothing", "RFC 9112 C.2.2"};
    if (who != rival::http_parser) return {};
    if (some_line(o, [](const std::string& l) { return low(l).starts_with("connection:") && l.find('\t') != l.npos; }))
        return {"HTAB is white space, too", "RFC 9110 5.6.3"};
    if (std::any_of(options.begin(), options.end(), is("")))
        return {"empty members of a list are skipped", "RFC 9110 5.6.1.2"};
    for (const std::string& option : options)
        if (!is_token(option)) return {"an odd Connection option is passed over", "RFC 9110 7.6.1"};
    for (const std::string& option : options)
        for (const std::string_view known : {"close", "keep-alive", "upgrade"})
            if (option != known && known.starts_with(option))
                return {"an option that another begins with is over", "RFC 9110 7.6.1"};
    return {};
}

} // namespace differential
