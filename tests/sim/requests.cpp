// What peers send, and what they are owed for it.
#include "peers.hpp"

#include <algorithm>
#include <utility>

namespace fastserve::test {

std::string content(std::string_view kind, std::uint64_t id, std::size_t size) {
    std::string s = std::string(kind) + " " + std::to_string(id) + " ";
    s.resize(std::max(size, s.size()), static_cast<char>('a' + id % 26));
    return s;
}

namespace {

std::string head(std::string_view method, const std::string& target, std::string_view fields = "") {
    return std::string(method) + " " + target + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

std::string numbered(std::string_view kind, std::uint64_t id) {
    std::string target("/");
    target += kind;
    target += '/';
    return target += std::to_string(id);
}

std::string in_chunks(std::string_view body, dice& d) {
    std::string out;
    while (!body.empty()) {
        const std::size_t size = 1 + d.below(body.size());
        char hex[20];
        out.append(hex, static_cast<std::size_t>(std::snprintf(hex, sizeof hex, "%zx", size)));
        out.append("\r\n").append(body.substr(0, size)).append("\r\n");
        body.remove_prefix(size);
    }
    return out + "0\r\n\r\n";
}

} // namespace

void peer::add(std::string_view wire, owed o) {
    wire_ += wire;
    o.end = wire_.size();
    owed_.push_back(std::move(o));
}

void peer::write_requests(std::uint64_t& next_id) {
    dice& d = dice_;
    // Now and then so many that it is asked where its packets arrive.
    const std::size_t count = d.once_in(40) ? 150 : d.below(6);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t id = next_id++;
        const std::size_t size = std::size_t{1} << d.below(!slow_ && d.once_in(30) ? 19 : 12);
        const auto get = [&](std::string_view kind) { return head("GET", numbered(kind, id)); };
        switch (count > 100 ? 0 : d.below(13)) {
        default: add(get("plain"), {.status = 200, .body = content("plain", id, 0)}); break;
        case 1: add(head("HEAD", numbered("plain", id)), {.status = 200, .to_head = true}); break;
        case 2:
            add(head("GET", numbered("large", id) + "/" + std::to_string(size)),
                {.status = 200, .body = content("large", id, size)});
            break;
        case 3: {
            const std::string body = content("echo", id, d.below(3'000));
            add(head("POST", numbered("echo", id), "Content-Length: " + std::to_string(body.size()) + "\r\n") + body,
                {.status = 200, .body = body});
            break;
        }
        case 4: {
            const std::string body = content("echo", id, d.below(3'000));
            add(head("POST", numbered("echo", id), "Transfer-Encoding: chunked\r\n") + in_chunks(body, d),
                {.status = 200, .body = body});
            break;
        }
        case 5: {
            const milliseconds time(d.below(400));
            add(head("GET", numbered("sleep", id) + "/" + std::to_string(time.count())),
                {.status = 200, .body = content("sleep", id, 0), .least = time, .most = time + milliseconds(1)});
            break;
        }
        case 6: add(get("blocking"), {.status = 200, .body = content("blocking", id, 0)}); break;
        case 7: add(get("offload"), {.status = 200, .body = content("offload", id, 0)}); break;
        case 8:
            add(get("deferred"),
                {.status = id % 4 == 0 ? 500 : 200, .body = content("deferred", id, 0), .most = milliseconds(0)});
            break;
        case 9: add(get("throws"), {.status = 500}); break;
        case 10: add(get("missing"), {.status = 404}); break;
        case 11: {
            const std::string body = content("slow", id, d.below(300));
            add(head("POST", numbered("slow", id),
                     "Expect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
                    body,
                {.status = 200, .body = body, .least = milliseconds(30), .most = milliseconds(31)});
            break;
        }
        case 12:
            if (!d.once_in(4)) break;
            add(get("never"), {.status = 503, .last = true, .least = route_time, .most = route_time + two_ticks});
            return;
        }
    }
}

void peer::write_ending(std::uint64_t& next_id) {
    dice& d = dice_;
    if (!owed_.empty() && owed_.back().last) {
        wire_ += head("GET", "/missing"); // never answered
        if (ending_ != ending::reset && ending_ != ending::broken) ending_ = ending::idle;
        return;
    }
    const std::uint64_t id = next_id++;
    switch (ending_) {
    case ending::says_close:
        add(head("GET", numbered("plain", id), "Connection: close\r\n"),
            {.status = 200, .body = content("plain", id, 0), .last = true});
        // Who goes on after its own close may be reset, and lose the answer (RFC 9112 9.6): the server closes at once
        // unless it has seen more by then.
        rude_ = d.once_in(2);
        if (rude_) wire_ += head("GET", "/missing") + std::string(d.below(20'000), 'x');
        break;
    case ending::old:
        add("GET " + numbered("plain", id) + " HTTP/1.0\r\n\r\n",
            {.status = 200, .body = content("plain", id, 0), .last = true});
        break;
    case ending::garbage:
        add("GARBAGE\r\n\r\n", {.status = 400, .last = true});
        wire_ += std::string(d.below(20'000), 'x');
        break;
    case ending::large_body:
        add(head("POST", numbered("echo", id), "Content-Length: " + std::to_string(largest_body + 1) + "\r\n"),
            {.status = 413, .last = true});
        wire_ += std::string(d.below(largest_body), 'x');
        break;
    case ending::partial_head: {
        const std::string whole = head("GET", numbered("plain", id), "X-Field: value\r\n");
        add(whole.substr(0, 1 + d.below(whole.size() - 1)),
            {.status = 408, .last = true, .least = head_time, .most = head_time + two_ticks});
        break;
    }
    case ending::partial_body: {
        const std::size_t size = 1 + d.below(2'000), have = d.below(size);
        // Its time is what its bytes have earned.
        add(head("POST", numbered("echo", id), "Content-Length: " + std::to_string(size) + "\r\n") +
                std::string(have, 'x'),
            {.status = 408,
             .last = true,
             .least = body_time,
             .most = body_time + milliseconds(have * 1000 / body_rate) + two_ticks});
        break;
    }
    case ending::stalls:
    case ending::pauses:
        add(head("GET", numbered("large", id) + "/300000"), {.status = 200, .body = content("large", id, 300'000)});
        break;
    default: break;
    }
}

} // namespace fastserve::test
