// What the requests of one connection are promised, and a peer's reading of what it got.
#pragma once

#include "fuzz.hpp"

#include "../http/machine_site.hpp"

#include <charconv>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

// What a handler has said so far, for a request that was routed.
struct promise {
    std::string target; // of the request
    int status = 0;     // 0: nothing yet
    std::string body;
    bool head_request = false;
    unsigned version_minor = 1;
    bool expects = false; // 100 Continue
    bool asked = false;   // for its body, or it comes as a whole
    // In pieces: the head is out, and `body` is what was sent.
    bool in_pieces = false;
    std::optional<std::size_t> length; // that was announced
    unsigned interims = 0;
    bool cut = false; // it broke off, or lost its connection
    std::string sum;  // of the trailer

    bool bodiless() const { return status == 204 || status == 304; }
};

// An answer as a peer got it.
struct answered {
    unsigned id = 0; // of the request, in the order of routing; 0: the machine's own answer
    int status = 0;
    std::string body;
    std::string sum;
    bool cut = false;
    bool operator==(const answered&) const = default;
};

// Takes the answers that the peer got apart, and compares them with what was promised.
class wire_reader {
public:
    // `whole`: nothing of them may be missing.
    wire_reader(std::string_view wire, const std::deque<promise>& promises, bool whole)
        : left_(wire), promises_(promises), whole_(whole) {
        while (!left_.empty() && read_one()) {
        }
    }

    std::vector<answered> all;

private:
    // False: it is not whole.
    bool read_one() {
        const std::size_t end = left_.find("\r\n\r\n");
        if (end == left_.npos) {
            require(!whole_, "an answer is whole");
            return false;
        }
        require(!last_, "nothing comes behind the last answer");
        const std::string_view head = left_.substr(0, end + 2);
        left_.remove_prefix(end + 4);
        require(head.starts_with("HTTP/1.1 ") && head.size() > 13 && head[12] == ' ', "an answer begins an answer");
        const int status = std::stoi(std::string(head.substr(9, 3)));
        return status < 200 ? interim(status) : final(status, head);
    }

    bool interim(int status) {
        require(all.size() < promises_.size(), "it belongs to a request");
        const promise& p = promises_[all.size()];
        require(p.version_minor != 0, "whose client knows of it");
        if (status == 100)
            require(p.expects && p.asked && ++continued_ == 1, "100 goes to who waits for it, once");
        else
            require(status == 103 && ++interims_ <= p.interims, "and was sent by its handler");
        return true;
    }

    bool final(int status, std::string_view head) {
        const auto id = value_of(head, "X-Id"), length = value_of(head, "Content-Length"),
                   coding = value_of(head, "Transfer-Encoding");
        last_ = value_of(head, "Connection") == "close";
        answered a;
        a.status = status;
        if (!id) return own(std::move(a), coding ? std::nullopt : length);
        a.id = static_cast<unsigned>(std::stoul(*id));
        require(a.id == all.size() + 1, "answers keep the order of requests, from the first one on");
        require(a.id <= promises_.size(), "it answers a request");
        const promise& p = promises_[a.id - 1];
        a.cut = p.cut;
        require(p.status == status, "with its own status");
        require(interims_ == p.interims || p.version_minor == 0, "behind its interim ones");
        continued_ = interims_ = 0;

        // RFC 9112 6.
        const bool chunked = p.in_pieces && !p.length && !p.bodiless() && p.version_minor != 0;
        const bool until_close = p.in_pieces && !p.length && !p.bodiless() && p.version_minor == 0;
        require(coding == (chunked ? std::optional<std::string>("chunked") : std::nullopt), "its coding is said");
        const std::optional<std::size_t> size = p.in_pieces ? p.length : p.body.size();
        require(length == (p.bodiless() || !size ? std::nullopt : std::optional(std::to_string(*size))),
                "its length is said, if it has one");
        require(!until_close || last_, "what has no end of its own is the last");
        bool complete = true;
        if (p.head_request || p.bodiless())
            ;
        else if (chunked)
            complete = read_chunks(a);
        else
            complete = read_length(a, until_close ? left_.size() : *size);
        if (!p.head_request && !p.bodiless()) {
            require(std::string_view(p.body).starts_with(a.body), "and its own body");
            require(!(complete && chunked && p.cut), "what broke off has no end");
            require(complete || !whole_ || p.cut, "a body is whole");
            require(!complete || p.cut || (until_close && !whole_) || a.body == p.body, "and all of it");
        }
        if (p.cut) last_ = true;
        all.push_back(std::move(a));
        return complete;
    }

    bool own(answered a, std::optional<std::string> length) {
        require(last_ && a.status >= 400, "what the machine says by itself is the last word");
        require(length.has_value(), "and says its length");
        const bool complete = left_.empty() || read_length(a, std::stoull(*length)); // none to HEAD
        require(complete || !whole_, "and is whole");
        if (complete) all.push_back(std::move(a));
        return complete;
    }

    bool read_length(answered& a, std::size_t size) {
        a.body = left_.substr(0, size);
        left_.remove_prefix(a.body.size());
        return a.body.size() == size;
    }

    // RFC 9112 7.1, as this server writes it.
    bool read_chunks(answered& a) {
        for (;;) {
            const std::size_t line = left_.find("\r\n");
            if (line == left_.npos) return false;
            std::size_t size = 0;
            const auto r = std::from_chars(left_.data(), left_.data() + line, size, 16);
            require(r.ec == std::errc() && r.ptr == left_.data() + line, "a chunk begins with its size");
            left_.remove_prefix(line + 2);
            if (size == 0) break;
            a.body += left_.substr(0, size);
            if (left_.size() < size + 2) {
                require(std::string_view("\r\n").starts_with(left_.substr(std::min(size, left_.size()))),
                        "and ends with its line");
                left_ = {};
                return false;
            }
            require(left_.substr(size, 2) == "\r\n", "and ends with its line");
            left_.remove_prefix(size + 2);
        }
        constexpr std::string_view name = "X-Sum: ";
        if (left_.starts_with(name)) {
            const std::size_t line = left_.find("\r\n");
            if (line == left_.npos) return false;
            a.sum = left_.substr(name.size(), line - name.size());
            left_.remove_prefix(line + 2);
        }
        if (left_.size() < 2) return false;
        require(left_.starts_with("\r\n"), "a chunked body ends with an empty line");
        left_.remove_prefix(2);
        require(a.sum == promises_[a.id - 1].sum, "behind its own trailer");
        return true;
    }

    // The value of a field that occurs once at most.
    static std::optional<std::string> value_of(std::string_view head, std::string_view name) {
        const std::string key = "\r\n" + std::string(name) + ": ";
        const std::size_t at = head.find(key);
        if (at == head.npos) return std::nullopt;
        require(head.find(key, at + 1) == head.npos, "a field stands once");
        const std::size_t begin = at + key.size();
        return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
    }

    std::string_view left_;
    const std::deque<promise>& promises_;
    bool whole_;
    bool last_ = false;
    unsigned continued_ = 0, interims_ = 0;
};

// Whether they are the same, but for a last one that was cut: what its peer has seen of it depends on the time.
inline bool agree(std::vector<answered> a, std::vector<answered> b) {
    const auto cut = [](const std::vector<answered>& v) { return !v.empty() && v.back().cut; };
    if (cut(a) || cut(b))
        for (std::vector<answered>* v : {&a, &b})
            if (!v->empty() && (v->back().cut || v->back().id == 0)) v->pop_back();
    return a == b;
}

} // namespace fuzz
