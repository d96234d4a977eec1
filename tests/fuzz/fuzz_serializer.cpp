// Whatever a handler puts into a response, its head reads back as exactly what was accepted: no name or value reaches
// the line before it, the line behind it, or the body.
//
// Input: lines, each an instruction: a letter, then what the letter wants.
#include "fuzz.hpp"

#include <fastserve/http/serializer.hpp>

#include <optional>
#include <string>
#include <utility>

namespace {

using namespace fastserve::http;

struct line {
    std::string name, value;
    bool operator==(const line&) const = default;
};
using lines = std::vector<line>;

// ---- the grammar, once more

std::string low(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return out;
}
bool is_name(std::string_view text) {
    constexpr std::string_view tchar = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return !text.empty() && text.find_first_not_of(tchar) == text.npos;
}
bool is_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return u == '\t' || (u >= ' ' && u != 0x7f);
    });
}
std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}
bool frames(const std::string& name) {
    return name == "content-length" || name == "transfer-encoding" || name == "connection";
}

// Takes field lines apart up to the empty one, which must end the text.
lines read_lines(std::string_view text) {
    lines out;
    for (;;) {
        const std::size_t end = text.find("\r\n");
        fuzz::require(end != text.npos, "a line ends");
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(end + 2);
        if (whole.empty()) break;
        const std::size_t colon = whole.find(':');
        fuzz::require(colon != whole.npos && is_name(whole.substr(0, colon)), "a line has a name");
        fuzz::require(is_text(whole.substr(colon + 1)), "a value has no control characters");
        out.push_back({std::string(whole.substr(0, colon)), trimmed(whole.substr(colon + 1))});
    }
    fuzz::require(text.empty(), "a section ends with its empty line");
    return out;
}

// A head: the status, and its lines.
lines read_head(std::string_view text, int status) {
    const std::string wanted = "HTTP/1.1 " + std::to_string(status) + ' ' + std::string(reason(status)) + "\r\n";
    fuzz::require(text.starts_with(wanted), "a status line");
    return read_lines(text.substr(wanted.size()));
}

// Writes into memory of exactly the bound.
template <class Write>
std::string written(std::size_t bound, Write write) {
    const auto memory = std::make_unique_for_overwrite<char[]>(bound);
    char* const end = write(memory.get());
    fuzz::require(end >= memory.get() && static_cast<std::size_t>(end - memory.get()) <= bound, "a bound holds");
    return {memory.get(), end};
}

// ---- the fields that were accepted

class model {
public:
    // Says what the answer must be.
    bool add(std::string_view name, std::string_view value, bool replaces) {
        if (!is_name(name) || frames(low(name)) || !is_text(value)) return false;
        if (replaces) remove(name);
        all_.push_back({std::string(name), trimmed(value)});
        return true;
    }
    bool remove(std::string_view name) {
        return std::erase_if(all_, [&](const line& l) { return low(l.name) == low(name); }) != 0;
    }
    std::optional<std::string> get(std::string_view name) const {
        for (const line& l : all_)
            if (low(l.name) == low(name)) return l.value;
        return std::nullopt;
    }
    const lines& all() const { return all_; }

private:
    lines all_;
};

constexpr std::int64_t some_time = 784'111'777;

class session {
public:
    session() { templates_.refresh(some_time); }

    void run(fuzz::input& in) {
        while (!in.empty()) {
            const char what = static_cast<char>(in.byte());
            instruct(what, in);
        }
        check_response();
        check_block();
    }

private:
    void instruct(char what, fuzz::input& in) {
        switch (what) {
        case 's':
        case 'a': field(what == 's', in.until(':'), in.until('\n')); break;
        case 'r': remove(in.until('\n')); break;
        case 't': {
            const std::string_view value = in.until('\n');
            const bool right = model_.add("Content-Type", value, true);
            fuzz::require((response_.content_type(value) == errc::ok) == right, "a type is taken if it is a value");
            break;
        }
        case 'b': {
            const std::string_view name = in.until(':'), value = in.until('\n');
            const bool right = block_model_.add(name, value, false);
            fuzz::require((block_.add(name, value) == errc::ok) == right, "a block takes what is well formed");
            break;
        }
        case 'x': {
            const std::string_view name = in.until(':');
            check_error(static_cast<int>(in.word()) % 1100, name, in.until('\n'));
            break;
        }
        case 'n': {
            const std::string_view name = in.until('\n');
            const bool right =
                name.size() <= response_templates::longest_server_name && is_text(name) && trimmed(name) == name;
            fuzz::require(templates_.server_name(name) == right, "a server name is a value");
            if (right) server_ = name;
            break;
        }
        case 'S': {
            const int status = static_cast<int>(in.word()) - 100;
            if (response_.status(status)) status_ = status;
            break;
        }
        case 'B': response_.body(in.until('\n')); break;
        case 'Z': response_.stream(); break;
        case 'L': response_.content_length(in.word() * 65'537ULL * 65'537ULL); break;
        case 'C': response_.close(), closes_ = true; break;
        case 'R':
            response_.reset();
            model_ = {};
            status_ = 200;
            closes_ = false;
            break;
        case 'c':
            context_ = {.head_request = in.byte() % 2 == 1,
                        .version_minor = static_cast<std::uint8_t>(in.byte() % 2),
                        .keep_alive = in.byte() % 2 == 1};
            break;
        default: break;
        }
    }

    void field(bool replaces, std::string_view name, std::string_view value) {
        if (low(name) == "connection") {
            const bool right = low(value) == "close";
            const errc e = replaces ? response_.set(name, value) : response_.add(name, value);
            fuzz::require((e == errc::ok) == right, "Connection can only be closed");
            closes_ = closes_ || right;
            return;
        }
        const std::string lower = low(name);
        const bool single = lower == "date" || lower == "server" || lower == "content-type";
        const bool right = model_.add(name, value, replaces || single);
        const errc e = replaces ? response_.set(name, value) : response_.add(name, value);
        fuzz::require((e == errc::ok) == right, "a field is taken if it is well formed");
        fuzz::require(right || e == errc::bad_field_name || e == errc::bad_field_value, "or it is said why not");
        const auto got = response_.get(name);
        fuzz::require(got.has_value() == model_.get(name).has_value() && (!got || *got == *model_.get(name)),
                      "and found");
    }

    void remove(std::string_view name) {
        if (low(name) == "connection") {
            fuzz::require(response_.remove(name) == closes_, "close can be taken back");
            closes_ = false;
            return;
        }
        fuzz::require(response_.remove(name) == model_.remove(name), "a field is removed if it is there");
        fuzz::require(!response_.has(name), "and then it is not");
    }

    void check_response() {
        const answer_plan plan = plan_answer(response_, context_);
        const std::string head =
            written(head_bound(response_), [&](char* out) { return write_head(out, response_, plan, templates_); });
        lines expected = common();
        expected.insert(expected.end(), model_.all().begin(), model_.all().end());
        if (plan.says_close || plan.says_keep_alive || plan.says_upgrade) {
            std::string options = plan.says_upgrade ? "Upgrade" : "";
            for (const auto& [said, option] :
                 {std::pair(plan.says_close, "close"), {plan.says_keep_alive, "keep-alive"}})
                if (said) options += (options.empty() ? "" : ", ") + std::string(option);
            expected.push_back({"Connection", options});
        }
        if (plan.says_length) expected.push_back({"Content-Length", std::to_string(plan.length)});
        if (plan.says_chunked) expected.push_back({"Transfer-Encoding", "chunked"});
        fuzz::require(response_.status() == status_, "the status is the one that was taken");
        fuzz::require(read_head(head, status_) == expected, "a head says what was set, and nothing else");

        // RFC 9112 6: how the body ends is said once, and not where there is none.
        fuzz::require(!(plan.says_length && plan.says_chunked), "one framing");
        fuzz::require(!plan.body_follows || !context_.head_request, "HEAD has no body");
        if (status_ == 101 || status_ == 204 || status_ == 304)
            fuzz::require(!plan.body_follows && !plan.says_chunked, "nor have these");
        if (status_ == 101 || status_ == 204) fuzz::require(!plan.says_length, "nor a length");
        fuzz::require(context_.version_minor == 1 || !plan.says_chunked, "1.0 is not sent chunks");
        fuzz::require(status_ == 101 || plan.close || (!closes_ && context_.keep_alive), "it closes if it is to");
        if (plan.framing == body_framing::length && plan.body_follows && response_.kind() == body_kind::bytes)
            fuzz::require(plan.length == response_.body_view().size(), "a length is the body's");
    }

    // The lines that the serializer writes by itself.
    lines common() const {
        lines out;
        if (!server_.empty() && !model_.get("server")) out.push_back({"Server", server_});
        if (!model_.get("date")) out.push_back({"Date", "Sun, 06 Nov 1994 08:49:37 GMT"});
        return out;
    }

    void check_block() {
        const std::string interim =
            written(interim_bound(block_), [&](char* out) { return write_interim(out, 103, block_); });
        fuzz::require(read_head(interim, 103) == block_model_.all(), "an interim response has its fields");
        const std::string last =
            written(last_chunk_bytes(block_), [&](char* out) { return write_last_chunk(out, block_); });
        fuzz::require(last.starts_with("0\r\n") && read_lines(std::string_view(last).substr(3)) == block_model_.all(),
                      "trailers are what was added");
    }

    void check_error(int status, std::string_view name, std::string_view value) {
        const extra_field extra{name, value};
        const std::size_t room = error_bound(extra);
        const std::string all =
            written(room, [&](char* out) { return out + write_error(out, room, status, context_, templates_, extra); });
        if (status < 100 || status > 999) return fuzz::require(all.empty(), "no status, no answer");
        const std::size_t end = all.find("\r\n\r\n");
        fuzz::require(end != all.npos, "an error has a head");
        lines expected;
        if (!server_.empty()) expected.push_back({"Server", server_});
        expected.push_back({"Date", "Sun, 06 Nov 1994 08:49:37 GMT"});
        if (is_name(name) && !frames(low(name)) && is_text(value))
            expected.push_back({std::string(name), trimmed(value)});
        if (!context_.keep_alive) expected.push_back({"Connection", "close"});
        if (context_.keep_alive && context_.version_minor == 0) expected.push_back({"Connection", "keep-alive"});
        const bool bodiless = status < 200 || status == 204 || status == 304;
        if (!bodiless) {
            expected.push_back({"Content-Type", "text/plain"});
            expected.push_back({"Content-Length", std::to_string(reason(status).size() + 1)});
        }
        fuzz::require(read_head(all.substr(0, end + 4), status) == expected, "it says what it must");
        const std::string body = bodiless || context_.head_request ? "" : std::string(reason(status)) + "\n";
        fuzz::require(all.substr(end + 4) == body, "and has its body");
    }

    response response_;
    model model_;
    field_block block_;
    model block_model_;
    response_templates templates_;
    answer_context context_;
    std::string server_ = "fastserve";
    int status_ = 200;
    bool closes_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    session().run(in);
    return 0;
}
