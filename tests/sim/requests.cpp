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
    return out + (d.once_in(4) ? "0\r\nX-Trailer: of the request\r\n\r\n" : "0\r\n\r\n");
}

// By length or in chunks, as it comes.
std::string post(const std::string& target, std::string_view body, dice& d, bool by_length) {
    const std::string expect = d.once_in(4) ? "Expect: 100-continue\r\n" : "";
    if (by_length)
        return head("POST", target, expect + "Content-Length: " + std::to_string(body.size()) + "\r\n") +
               std::string(body);
    return head("POST", target, expect + "Transfer-Encoding: chunked\r\n") + in_chunks(body, d);
}

} // namespace

void peer::add(std::string_view wire, owed o) {
    wire_ += wire;
    o.end = wire_.size();
    const std::size_t body = wire.find("\r\n\r\n");
    o.body_at = o.end - (body == wire.npos ? 0 : wire.size() - body - 4);
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
        switch (count > 100 ? 0 : d.below(20)) {
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
        case 13:
        case 14:
        case 15:
        case 16:
        case 17:
        case 18: write_streamed(id); break;
        case 19:
            if (!d.once_in(4)) break;
            write_cut(id, false);
            return;
        case 12:
            if (!d.once_in(4)) break;
            add(get("never"), {.status = 503, .last = true, .least = route_time, .most = route_time + two_ticks});
            return;
        }
    }
}

// What handlers of bodies in pieces are asked for.
void peer::write_streamed(std::uint64_t id) {
    dice& d = dice_;
    const bool by_length = d.once_in(2);
    // Of a body that nobody wants no more than 256 KiB is dropped. If its length told that before, the answer says
    // close.
    const std::size_t large = by_length ? 300'000 : 250'000;
    const std::size_t size = d.below(!slow_ && d.once_in(20) ? large : 3'000);
    const auto ask = [&](std::string_view kind, std::size_t how, owed o) {
        const std::string body = d.once_in(16) ? "" : content(kind, id, size);
        if (o.body.empty()) o.body = body;
        o.id = id;
        add(post(numbered(kind, id) + "/" + std::to_string(how), body, d, by_length), std::move(o));
    };
    switch (d.below(6)) {
    case 0: {
        if (d.once_in(3)) {
            // Its handler is slower than the peer, and that is not the peer's fault, however long it takes.
            const std::string body = content("take", id, 0) + std::string(d.below(200), 'x');
            add(post(numbered("take", id) + "/" + std::to_string(320 + d.below(100)), body, d, by_length),
                {.status = 200, .body = body, .dawdles = true, .most = milliseconds(0), .id = id});
            break;
        }
        const std::size_t pause = d.once_in(2) ? 0 : d.below(400);
        ask("take", pause, {.status = 200, .most = milliseconds(pause == 0 ? 1 : 0)});
        break;
    }
    case 1: {
        const std::size_t way = d.below(by_length ? with_sleeps : with_length);
        ask("relay", way,
            {.status = 200,
             .trailer = (way & with_trailer) && !(way & with_length),
             .interim = (way & with_interim) != 0});
        break;
    }
    case 2: ask("part", d.below(4), {.status = 200, .may_be_last = true, .some = true}); break;
    case 3: {
        const std::string body = content("early", id, 0);
        add(post(numbered("early", id), content("early", id, size), d, by_length),
            {.status = 200, .body = body, .may_be_last = true, .most = milliseconds(6), .id = id});
        break;
    }
    case 4: ask("timed", d.below(20), {.status = 200, .most = milliseconds(2)}); break;
    default: {
        const bool to_head = d.once_in(8); // answered before its handler has ended: that must not take time
        const std::size_t way = d.below(to_head ? with_sleeps : all_ways);
        add(head(to_head ? "HEAD" : "GET",
                 numbered("pieces", id) + "/" + std::to_string(size) + "/" + std::to_string(way)),
            {.status = 200,
             .body = content("pieces", id, size),
             .to_head = to_head,
             .trailer = !to_head && (way & with_trailer) && !(way & with_length),
             .interim = (way & with_interim) != 0,
             .most = milliseconds(way & with_sleeps ? 4 * 50 : 1),
             .id = id});
    }
    }
}

// An answer that must not look whole. To an old client there is nothing but a reset to tell it.
void peer::write_cut(std::uint64_t id, bool old) {
    const std::size_t size = !slow_ && dice_.once_in(8) ? 200'000 : 100 + dice_.below(3'000);
    const std::size_t how = dice_.below(all_cuts);
    const std::string target = numbered("cut", id) + "/" + std::to_string(size) + "/" + std::to_string(how);
    const bool late = how == by_deadline;
    add(old ? "GET " + target + " HTTP/1.0\r\n\r\n" : head("GET", target),
        {.status = 200,
         .body = content("cut", id, size),
         .last = true,
         .cut = true,
         .resets = old && how != by_returning,
         .least = late ? route_time : milliseconds(0),
         .most = late ? route_time + two_ticks : milliseconds(1),
         .id = id});
}

// Answered 408, or what was answered already is cut.
void peer::write_partial_body(std::uint64_t id, const std::string& target, bool cut) {
    const std::size_t size = 1 + dice_.below(2'000), have = dice_.below(size);
    const std::string body(have, 'x');
    // Its time is what its bytes have earned.
    owed o{.status = cut ? 200 : 408,
           .body = body,
           .last = true,
           .partial = true,
           .cut = cut,
           .least = body_time,
           .most = body_time + milliseconds(have * 1000 / body_rate) + two_ticks};
    if (ending_ == ending::partial_stream) o.id = id;
    add(head("POST", target, "Content-Length: " + std::to_string(size) + "\r\n") + body, std::move(o));
}

void peer::write_ending(std::uint64_t& next_id) {
    dice& d = dice_;
    if (!owed_.empty() && owed_.back().last) {
        // Never answered. Behind what is cut it could turn the end into a reset.
        if (!owed_.back().cut) wire_ += head("GET", "/missing");
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
        switch (d.below(3)) {
        case 0:
            add("GET " + numbered("plain", id) + " HTTP/1.0\r\n\r\n",
                {.status = 200, .body = content("plain", id, 0), .last = true});
            break;
        case 1: // until the connection ends, or by its length
            add("GET " + numbered("pieces", id) + "/2000/" + std::to_string(d.below(with_sleeps)) + " HTTP/1.0\r\n\r\n",
                {.status = 200, .body = content("pieces", id, 2'000), .last = true, .id = id});
            break;
        default: write_cut(id, true);
        }
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
            {.status = 408, .last = true, .partial = true, .least = head_time, .most = head_time + two_ticks});
        break;
    }
    case ending::partial_body: write_partial_body(id, numbered("echo", id), false); break;
    case ending::partial_stream:
        if (d.once_in(2))
            write_partial_body(id, numbered("take", id) + "/0", false);
        else
            write_partial_body(id, numbered("relay", id) + "/0", true);
        break;
    case ending::stalls:
    case ending::pauses:
        if (d.once_in(2))
            add(head("GET", numbered("large", id) + "/300000"), {.status = 200, .body = content("large", id, 300'000)});
        else
            add(head("GET", numbered("pieces", id) + "/300000/0"),
                {.status = 200, .body = content("pieces", id, 300'000), .id = id});
        break;
    default: break;
    }
}

} // namespace fastserve::test
