// A handler that takes its request's body, and sends its response's, in pieces: one step of it at a time.
#pragma once

#include "machine_answers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fuzz {

using machine_test::driver;
using machine_test::pattern;

constexpr std::size_t largest_body = 50'000; // of an answer

// Streamed routes: /echo sends back what it gets as it comes, /piece sends it in the end and N bytes more, with their
// length if the query is long enough to be odd, and /none does the same with a status that has no body.
inline bool in_pieces(std::string_view path) {
    return path == "/echo" || path == "/piece" || path == "/none";
}

class piece_handler {
public:
    explicit piece_handler(driver& d) : driver_(d) {}
    piece_handler(const piece_handler&) = delete;
    piece_handler& operator=(const piece_handler&) = delete;

    // Its request is driver::waiting.
    void begin(promise& p) {
        promise_ = &p;
        const machine_test::exchange& x = *driver_.waiting;
        echoes_ = x.head.path() == "/echo";
        p.status = x.head.path() == "/none" ? 204 : 200;
        tail_ = echoes_ ? 0 : x.head.query().size() * 977 % largest_body;
        says_length_ = x.head.query().size() % 2 != 0 && !echoes_;
        out_.clear();
        sent_ = 0;
        at_end_ = begun_ = false;
        pieces_ = driver_.pieces.size();
        mark_ = std::size_t(-1);
    }
    bool works() const { return promise_ != nullptr; }
    // Its piece, or its interim answer, is not out yet.
    bool busy() const { return driver_.written == mark_; }

    // What is next. Where nothing disturbs it, this alone decides what its peer gets.
    void next() {
        if (busy()) return;
        if (echoes_ && sent_ != out_.size()) return write(largest_body);
        if (!at_end_) return read();
        if (!begun_ || sent_ != out_.size()) return write(largest_body);
        finish();
    }
    void read() {
        if (busy()) return;
        promise_->asked = true;
        give_up();
        driver_.want_body();
        settle();
    }
    // At most `most` of what there is, maybe nothing.
    void write(std::size_t most) {
        if (busy() || (says_length_ && !at_end_)) return; // it does not know the length yet
        machine_test::exchange& x = *driver_.waiting;
        const std::size_t size = std::min(most, out_.size() - sent_);
        if (!begun_) {
            begun_ = promise_->in_pieces = true;
            if (says_length_ && at_end_) {
                promise_->length = out_.size();
                x.response.content_length(out_.size());
            }
            x.response.status(promise_->status);
            x.response.set("X-Id", id);
        }
        lent_ = std::make_unique_for_overwrite<char[]>(size); // a sanitizer sees where it ends, and when it is gone
        lent_size_ = size;
        std::memcpy(lent_.get(), out_.data() + sent_, size);
        promise_->body.append(out_, sent_, size);
        sent_ += size;
        mark_ = driver_.written;
        give_up();
        driver_.write({lent_.get(), size});
        settle();
    }
    void interim() {
        if (busy() || begun_) return;
        ++promise_->interims;
        mark_ = driver_.written;
        give_up();
        driver_.interim(103);
        settle();
    }
    // The end, be all said and read or not.
    void finish() {
        if (busy()) return;
        promise& p = *std::exchange(promise_, nullptr);
        machine_test::exchange& x = *driver_.waiting;
        if (begun_) {
            p.sum = std::to_string(sent_);
            x.trailers.add("X-Sum", p.sum);
            p.cut = p.length && *p.length != sent_ && !p.head_request && !p.bodiless();
        } else {
            p.body = "early";
            x.response.status(p.status);
            x.response.set("X-Id", id);
            x.response.body(p.body);
        }
        driver_.finish();
    }
    // It throws.
    void fail() {
        if (busy()) return;
        if (begun_) {
            driver_.waiting->broken = true;
            promise& p = *std::exchange(promise_, nullptr);
            p.cut = true;
            return driver_.finish();
        }
        promise_->status = 500;
        finish();
    }

    // After each event: a piece may have come or gone, and the connection with them.
    void settle() {
        if (!promise_) return;
        const bool lost = driver_.waiting == nullptr;
        if (lent_ && (lost || !busy())) {
            std::memset(lent_.get(), '!', lent_size_);
            lent_.reset();
        }
        if (lost) {
            std::exchange(promise_, nullptr)->cut = true;
            ++losses;
            return;
        }
        if (driver_.pieces.size() == pieces_) return;
        require(driver_.pieces.size() == ++pieces_, "it gets what it asked for, once");
        const std::string& piece = driver_.pieces.back();
        out_ += piece;
        if (!piece.empty() || at_end_) return; // who asks again is told again
        at_end_ = true;
        out_ += pattern(tail_);
    }

    std::string id;         // of its request
    std::size_t losses = 0; // of connections

private:
    // It has asked in vain so far, and does something else.
    void give_up() {
        if (driver_.m.reading()) driver_.give_up();
    }

    driver& driver_;
    promise* promise_ = nullptr;
    bool echoes_ = false, says_length_ = false, at_end_ = false, begun_ = false;
    std::size_t tail_ = 0, sent_ = 0, pieces_ = 0;
    std::string out_; // all there is to send by now
    std::size_t mark_ = std::size_t(-1);
    std::unique_ptr<char[]> lent_;
    std::size_t lent_size_ = 0;
};

} // namespace fuzz
