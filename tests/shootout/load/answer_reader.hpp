#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace load {

// What every answer must be.
struct expectation {
    unsigned status = 200;
    std::optional<std::string> body{};
    std::optional<std::uint64_t> length{}; // of the body; for HEAD it is not compared
    bool head = false;                     // answers to HEAD end with their head
};

// Reads the answers of one connection as they come, in pieces of any size, and holds no more of them than a line.
// Framing is RFC 9112 6.3: no body, chunks, a length, or all until the end. What has no single meaning is malformed.
class answer_reader {
public:
    enum class outcome : std::uint8_t { more, complete, malformed };

    // `wanted` outlives the reader.
    explicit answer_reader(const expectation& wanted) : wanted_(&wanted) {}

    // Takes from the front of `in` what belongs to the answer: all of it, or up to the answer's end. Interim answers
    // are skipped. After `complete` the accessors speak of that answer until the next call; after `malformed` the
    // reader is of no use until reset().
    outcome take(std::string_view& in);

    // The peer has closed. Whether that completes an answer, as it does for one that has no other end.
    bool end();

    // Ready for the first answer of another connection.
    void reset();

    // Whether the connection can be used further.
    bool keeps_alive() const noexcept { return keep_alive_; }
    // What is wrong with an answer that is complete or malformed; empty: it is as expected. Lives as long as the
    // program.
    std::string_view wrong() const noexcept { return wrong_; }
    unsigned status() const noexcept { return status_; }

private:
    enum class state : std::uint8_t { status_line, fields, sized, chunk_size, chunk, chunk_end, trailers, until_end };

    // The next line without its end. False: it is not there yet, with `in` used up, or it is none, with `in` as it is.
    bool next_line(std::string_view& in, std::string_view& out);
    void begin();
    bool on_status_line(std::string_view line);
    bool on_field(std::string_view line);
    bool on_head_end();
    bool on_chunk_size(std::string_view line);
    void on_body(std::string_view piece);
    std::string_view take_body(std::string_view& in);
    outcome complete();
    bool malformed(std::string_view why) {
        wrong_ = why;
        return false;
    }
    void differs(std::string_view why) {
        if (wrong_.empty()) wrong_ = why;
    }

    const expectation* wanted_;
    std::string line_; // the begun part of one that is not complete
    bool line_used_ = false;
    state state_ = state::status_line;
    bool keep_alive_ = true, chunked_ = false, done_ = true;
    unsigned status_ = 0;
    std::size_t head_bytes_ = 0;
    std::optional<std::uint64_t> length_{};
    std::uint64_t left_ = 0, body_bytes_ = 0;
    std::string_view wrong_{};
};

} // namespace load
