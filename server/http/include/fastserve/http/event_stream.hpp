// Server-sent events as bytes: the format text/event-stream (HTML Standard, 9.2.5 and 9.2.6).
//
// Any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace fastserve::http {

// One event. Views must be good while it is written. Text is UTF-8, which is not looked at: where it is none, a browser
// reads U+FFFD.
struct sse {
    // What listeners get. Of several lines, whose ends (CRLF, LF or CR) they find as LF.
    std::string_view data{};
    std::string_view event{};          // the type they listen for; empty: "message"
    std::string_view id{};             // the browser names the last one when it connects again; empty: the one before
    std::chrono::milliseconds retry{}; // how long it waits until then; zero: as before
    std::string_view comment{};        // for nobody
};

// Appends the lines of an event, and the empty one that ends it. One with neither data nor type reaches no listener: it
// sets id and retry, or is a comment; an empty one is a comment without text.
//
// False, with `out` as it was, if type or id have CR, LF or NUL in them, or if `retry` is negative. Throws
// std::bad_alloc, with a part of the event appended.
bool append_event(std::string& out, const sse& e);

} // namespace fastserve::http
