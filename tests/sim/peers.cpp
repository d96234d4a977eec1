#include "peers.hpp"

#include <algorithm>
#include <utility>

namespace fastserve::test {

peer::peer(server& app, dice& d, std::uint64_t& next_id, const journal& j)
    : dice_(d), journal_(j), ending_(static_cast<ending>(d.below(13))) {
    faults f{.seed = d.next(), .splits = d.once_in(2)};
    if (d.once_in(2)) delays_ = f.delays = milliseconds(1 + d.below(60));
    // Who does not read for a while is asked for more than any window holds, and must then get it in time.
    const bool pausing = ending_ == ending::stalls || ending_ == ending::pauses;
    const bool narrow = !pausing && d.once_in(4), reads_slowly = !pausing && d.once_in(8);
    slow_ = narrow || reads_slowly;
    if (narrow) f.window = 64 + d.below(3'000);
    if (reads_slowly) f.read_rate = 5'000 + d.below(50'000);
    window_ = f.window;
    f.moves = d.once_in(2);
    write_requests(next_id);
    write_ending(next_id);
    if (ending_ == ending::broken) f.reset_at = d.below(wire_.size() + 1);
    if (ending_ == ending::reset) reset_at_ = d.below(wire_.size() + 1);
    client_ = std::make_unique<client>(app, f);
}

void peer::fail(std::string why) {
    if (!wrong_.empty()) return;
    static constexpr const char* names[] = {
        "idle",       "half_close",   "reset",        "broken",         "says_close", "old",   "garbage",
        "large_body", "partial_head", "partial_body", "partial_stream", "stalls",     "pauses"};
    const std::size_t begin = got_ == 0 ? 0 : owed_[got_ - 1].end;
    wrong_ = std::string(names[static_cast<int>(ending_)]) + " peer, answer " + std::to_string(got_) + " of " +
             std::to_string(owed_.size()) + " (" + wire_.substr(begin, wire_.find(" HTTP/", begin) - begin) + "), at " +
             std::to_string(client_->now().count()) + " ms: " + std::move(why);
}

bool peer::send_some() {
    // What is behind the head of a partial request must come in its time.
    const std::size_t left = wire_.size() - sent_;
    const bool in_time = !owed_.empty() && owed_.back().begun.count() >= 0;
    std::size_t size = in_time || dice_.once_in(3) ? left : 1 + dice_.below(left);
    const auto next = std::find_if(owed_.begin(), owed_.end(), [this](const owed& o) { return o.end > sent_; });
    const bool dawdles = next != owed_.end() && next->dawdles;
    if (dawdles) // a body in four pieces at most: in more, unlucky ones are slower than a body may be
        size = sent_ < next->body_at
                   ? next->body_at - sent_
                   : std::min<std::size_t>(next->end - sent_, 1 + (next->end - next->body_at) / 4 + dice_.below(40));
    else if (next != owed_.end() && !in_time && dice_.once_in(4)) // one request, and the connection is idle
        size = next->end - sent_;
    const milliseconds now = client_->now();
    const std::size_t before = sent_;
    sent_ += size;
    std::size_t begin = 0;
    for (owed& o : owed_) {
        if (o.begun.count() < 0 && begin < sent_) o.begun = now;
        if (o.sent.count() < 0 && o.end <= sent_) o.sent = now;
        begin = o.end;
    }
    client_->write(std::string_view(wire_).substr(before, size));
    return dawdles;
}

void peer::act() {
    collect();
    const milliseconds now = client_->now();
    if (now < wait_until_ || ended_ || !wrong_.empty()) return;
    if (ending_ == ending::reset && sent_ >= reset_at_) {
        ended_ = true;
        client_->reset();
        return;
    }
    if (sent_ < wire_.size()) {
        if ((ending_ == ending::stalls || ending_ == ending::pauses) && paused_.count() < 0 && dice_.once_in(2)) {
            client_->pause();
            paused_ = now;
            stalled_ = true; // before the request whose answer fits no window
        }
        const bool dawdled = send_some();
        // Between pieces it takes less time than any deadline allows, whatever it was in the middle of.
        if (dawdled || dice_.once_in(2)) wait_until_ = now + milliseconds(dice_.below(200));
    } else if (ending_ == ending::half_close) {
        ended_ = true;
        client_->finish_sending();
    } else if (paused_.count() < 0 && (ending_ == ending::stalls || ending_ == ending::pauses)) {
        client_->pause();
        paused_ = now;
    } else if (ending_ == ending::pauses && now >= paused_ + milliseconds(dice_.below(2'000))) {
        ended_ = true;
        client_->resume();
    }
    collect();
}

void peer::rest() {
    if (ending_ == ending::pauses) client_->resume();
    collect();
}

void peer::drain(milliseconds cut_at) {
    collect();
    drain_at_ = client_->now();
    cut_at_ = cut_at;
    arrived_ = sent_ - client_->held_back();
}

// Between requests connections close, and a request that was on its way then meets nobody, which breaks the connection.
// Whoever's request had begun to arrive before gets its answer, unless that takes longer than the grace.
bool peer::lost_in_drain() const noexcept {
    if (drain_at_.count() < 0) return false;
    if (client_->now() >= cut_at_) return true;
    if (client_->broken()) return arrived_ < sent_;
    return arrived_ <= (got_ == 0 ? 0 : owed_[got_ - 1].end);
}

void peer::watch() {
    collect();
}

bool peer::done() const noexcept {
    return !wrong_.empty() || (ended_ && (over_ || (sent_ == wire_.size() && got_ == owed_.size())));
}

void peer::collect() {
    if (!wrong_.empty()) return;
    check_progress();
    while (got_ < owed_.size() && !over_) {
        const owed& o = owed_[got_];
        const auto r = client_->try_read(o.to_head);
        if (r)
            check(*r);
        else if (o.cut && client_->closed() && !forgiven() && !lost_in_drain())
            check_cut();
        else
            break;
        if (!wrong_.empty()) return;
        last_got_ = client_->now();
        ++got_;
        ++answers_;
    }
    const bool closed = client_->closed();
    // With a reset, answers before it that are still on their way are lost, too.
    const bool reset = client_->broken() && !owed_.empty() && owed_.back().resets;
    const bool excused = closed && (reset || lost_in_drain());
    if (over_ && !client_->received().empty()) fail("bytes after the last answer: " + std::string(client_->received()));
    if (excused && !over_ && got_ < owed_.size()) {
        over_ = true;
        client_->consume(client_->received().size()); // the beginning of an answer, at most
    }
    if (got_ == owed_.size() && !client_->received().empty() && !forgiven())
        fail("bytes that nobody asked for: " + std::string(client_->received().substr(0, 200)));
    const bool may_break = excused || forgiven() || ending_ == ending::stalls;
    if (client_->broken() && !may_break) fail("the connection was broken");
    if (closed && !over_ && got_ < owed_.size() && !may_break) fail("closed with an answer owed");
    // It is over when all has been read that will come.
    if ((over_ || got_ == owed_.size()) && closed) ended_ = true;
}

void peer::check(const reply& r) {
    const owed& o = owed_[got_];
    const bool closes = r.field("Connection") == "close";
    over_ = o.last || closes;
    if (r.status != o.status) return fail("status " + std::to_string(r.status) + ", not " + std::to_string(o.status));
    if (o.cut) return fail("what was cut looks whole: " + r.raw);
    const std::string body = o.some ? o.body.substr(0, r.body.size()) : o.body;
    if (o.status == 200 && !o.to_head && r.body != body)
        return fail("body \"" + r.body.substr(0, 40) + "\" of " + std::to_string(r.body.size()) + ", not \"" +
                    body.substr(0, 40) + "\" of " + std::to_string(body.size()));
    if (std::count(r.interim.begin(), r.interim.end(), 103) != o.interim) return fail("not the interim response");
    if (o.trailer ? r.trailers != decltype(r.trailers){{"X-Id", std::to_string(*o.id)}} : !r.trailers.empty())
        return fail("not the trailers of its handler");
    if (o.begun.count() < 0) return fail("an answer before its request");
    if (o.last && o.status != 503 && !closes) return fail("the last one without close");
    const bool drains = drain_at_.count() >= 0;
    if (closes && !o.last && !o.may_be_last && !drains) return fail("it says close");
    if (!closes && drains && o.begun > drain_at_) return fail("it does not say close while the server drains");
    check_time(r.raw.size());
}

// Of an answer that breaks off, all that will come has come.
void peer::check_cut() {
    const owed& o = owed_[got_];
    std::string_view raw = client_->received();
    const std::size_t size = raw.size(), end = raw.find("\r\n\r\n");
    over_ = true;
    if (o.begun.count() < 0) return fail("cut before its request");
    if (client_->broken() != o.resets) return fail(o.resets ? "cut without a reset" : "reset");
    if (end == raw.npos) {
        if (!o.resets) fail("cut in its head");
    } else {
        const std::string_view head = raw.substr(0, end);
        raw.remove_prefix(end + 4);
        std::string body(raw);
        if (head.find("chunked") != head.npos) {
            body.clear();
            while (!raw.empty()) {
                const std::size_t digits = raw.find("\r\n");
                if (digits == raw.npos) break;
                const std::size_t chunk = std::stoul(std::string(raw.substr(0, digits)), nullptr, 16);
                if (chunk == 0) return fail("what was cut has an end");
                body += raw.substr(std::min(raw.size(), digits + 2)).substr(0, chunk);
                raw.remove_prefix(std::min(raw.size(), digits + 2 + chunk + 2));
            }
        }
        if (!head.starts_with("HTTP/1.1 200 ") || !o.body.starts_with(body)) return fail("cut, and something else");
    }
    client_->consume(size);
    check_time(size);
}

void peer::check_time(std::size_t size) {
    const owed& o = owed_[got_];
    const auto ms = [](milliseconds t) { return std::to_string(t.count()) + " ms"; };
    if (o.most.count() == 0 || slow_ || paused_.count() >= 0 || forgiven()) return;
    // Its time began when its request had come and those before were answered.
    const milliseconds now = client_->now();
    const milliseconds ready = std::max(o.sent.count() < 0 ? now : o.sent, last_got_);
    if (now < (o.partial ? o.begun : o.sent) + o.least) return fail("too early: " + ms(now - o.begun));
    // A large answer needs several windows, and each its way.
    const auto ways = static_cast<int>(2 + size / (32 * 1024));
    if (now > ready + o.most + ways * delays_) return fail("too late: " + ms(now - ready) + ", not " + ms(o.most));
}

// Neither side is ahead of the other by more than what lies between them: a handler that does not read holds its peer
// back, a peer that does not read its handler.
void peer::check_progress() {
    if (got_ == owed_.size() || !owed_[got_].id) return;
    const owed& o = owed_[got_];
    const auto found = journal_.requests.find(*o.id);
    if (found == journal_.requests.end()) return;
    const progress& p = found->second;
    const std::size_t received = std::min(sent_ - client_->held_back(), o.end);
    if (p.runs && received > o.body_at && received - o.body_at > p.read + largest_piece)
        fail("the server took " + std::to_string(received - o.body_at) + " of a body, its handler " +
             std::to_string(p.read));
    if (p.read > o.end - o.body_at) fail("more was read than sent");
    if (!o.to_head && !client_->closed() && p.written > client_->received().size() + window_)
        fail("a handler wrote " + std::to_string(p.written) + ", and " + std::to_string(client_->received().size()) +
             " came");
}

void peer::check_end() {
    if (ending_ == ending::stalls) {
        // What had not left when it stopped reading never does; what had may still be on its way to it.
        client_->resume();
        collect();
        if (got_ == owed_.size() && stalled_) fail("all answers, though it did not read for longer than it may");
        return;
    }
    collect();
    if (!wrong_.empty() || forgiven()) return;
    if (drain_at_.count() >= 0 && slow_) return; // it is still reading
    if (!client_->closed()) return fail("it is still open");
    if (got_ < owed_.size() && !over_) return fail("an answer is owed");
}

} // namespace fastserve::test
