// Every bound that fastserve keeps, with its default, in one place.
//
// The struct is what a user sets; the table below is what the flags, the documentation and the boundary tests are made
// of. A limit is enforced by the object that holds the thing it bounds: the parser counts fields, the machine counts
// body bytes, the server counts connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace fastserve::http {

struct limits {
    // The head of a request (RFC 9112 2 to 5).
    std::uint64_t head_bytes = 16 * 1024;
    std::uint64_t head_fields = 100;
    std::uint64_t target_bytes = 8 * 1024;

    // The body (RFC 9112 6 and 7).
    std::uint64_t body_bytes = 4 * 1024 * 1024;
    std::uint64_t chunk_line_bytes = 256;
    std::uint64_t chunk_overhead_bytes = 16 * 1024;
    std::uint64_t trailer_bytes = 4 * 1024;
    std::uint64_t trailer_fields = 32;
    std::uint64_t form_pairs = 1000;

    // One turn of one connection.
    std::uint64_t turn_requests = 128;
    std::uint64_t output_bytes = 128 * 1024;

    // The connection and the server. Zero: no limit.
    std::uint64_t connections = 65'536;
    std::uint64_t connections_per_peer = 0;
    std::uint64_t requests_per_connection = 0;
    std::uint64_t suspended_exchanges = 65'536;

    // Time. Zero: no limit.
    std::chrono::milliseconds connection_age{0};
    std::chrono::milliseconds head_timeout{10'000};
    std::chrono::milliseconds body_grace{5'000};
    std::uint64_t body_rate = 1024;
    std::chrono::milliseconds write_stall{30'000};
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds handler_timeout{0};
};

enum class limit_unit : std::uint8_t { bytes, count, bytes_per_second, milliseconds };

// One row a limit. Exactly one of `number` and `time` is set.
struct limit_row {
    std::string_view name; // the flag without its dashes: "head-bytes"
    std::uint64_t limits::*number;
    std::chrono::milliseconds limits::*time;
    limit_unit unit;
    std::uint64_t least; // the smallest value that makes sense; 0 where 0 means "no limit"
    std::uint64_t most;
    std::string_view help;

    // The value in `l`, in the row's unit.
    constexpr std::uint64_t get(const limits& l) const noexcept {
        return number ? l.*number : static_cast<std::uint64_t>((l.*time).count());
    }
    constexpr void set(limits& l, std::uint64_t value) const noexcept {
        if (number)
            l.*number = value;
        else
            l.*time = std::chrono::milliseconds(static_cast<std::int64_t>(value));
    }
};

inline constexpr std::uint64_t no_most = std::uint64_t{1} << 40;
inline constexpr std::uint64_t a_day_in_ms = 86'400'000;

inline constexpr limit_row limit_table[] = {
    {"head-bytes", &limits::head_bytes, nullptr, limit_unit::bytes, 128, 1024 * 1024,
     "request line and fields together; more is answered 431"},
    {"head-fields", &limits::head_fields, nullptr, limit_unit::count, 1, 4096, "field lines of a head; more is 431"},
    {"target-bytes", &limits::target_bytes, nullptr, limit_unit::bytes, 1, 1024 * 1024,
     "request target; a longer one is 414"},
    {"body-bytes", &limits::body_bytes, nullptr, limit_unit::bytes, 0, no_most,
     "request body unless its route says otherwise; more is 413"},
    {"chunk-line-bytes", &limits::chunk_line_bytes, nullptr, limit_unit::bytes, 16, 64 * 1024,
     "size and extensions of one chunk; more is 400"},
    {"chunk-overhead-bytes", &limits::chunk_overhead_bytes, nullptr, limit_unit::bytes, 16, no_most,
     "chunk extensions of one body in all; more is 413"},
    {"trailer-bytes", &limits::trailer_bytes, nullptr, limit_unit::bytes, 2, 1024 * 1024,
     "trailer section of a chunked body; more is 431"},
    {"trailer-fields", &limits::trailer_fields, nullptr, limit_unit::count, 0, 4096,
     "field lines of a trailer section; more is 431"},
    {"form-pairs", &limits::form_pairs, nullptr, limit_unit::count, 1, 65'536,
     "pairs of a form that its handler asks for; more is an error, for which 413 is the answer"},
    {"turn-requests", &limits::turn_requests, nullptr, limit_unit::count, 1, 65'536,
     "pipelined requests answered before other connections get their turn"},
    {"output-bytes", &limits::output_bytes, nullptr, limit_unit::bytes, 4096, no_most,
     "unsent answers of one connection before it is no longer read; above 128k it has no effect"},
    {"max-connections", &limits::connections, nullptr, limit_unit::count, 1, (1 << 24) - 1,
     "open connections; further ones are answered 503, or wait"},
    {"connections-per-peer", &limits::connections_per_peer, nullptr, limit_unit::count, 0, no_most,
     "open connections of one address, IPv6 by /64; 0: no limit"},
    {"requests-per-connection", &limits::requests_per_connection, nullptr, limit_unit::count, 0, no_most,
     "requests of a connection before it is closed; 0: no limit"},
    {"suspended-exchanges", &limits::suspended_exchanges, nullptr, limit_unit::count, 1, (1 << 24) - 1,
     "requests whose handler has not finished; further ones are answered 503"},
    {"connection-age", nullptr, &limits::connection_age, limit_unit::milliseconds, 0, 365 * a_day_in_ms,
     "age at which a connection is closed after its answer; 0: no limit"},
    {"head-timeout", nullptr, &limits::head_timeout, limit_unit::milliseconds, 0, a_day_in_ms,
     "from the first byte of a head to its last; later is 408"},
    {"body-grace", nullptr, &limits::body_grace, limit_unit::milliseconds, 0, a_day_in_ms,
     "time a body has before body-rate is asked of it"},
    {"body-rate", &limits::body_rate, nullptr, limit_unit::bytes_per_second, 0, no_most,
     "least average rate of a body; slower is 408"},
    {"write-stall", nullptr, &limits::write_stall, limit_unit::milliseconds, 0, a_day_in_ms,
     "time without progress after which a peer that does not read is dropped"},
    {"idle-timeout", nullptr, &limits::idle_timeout, limit_unit::milliseconds, 0, a_day_in_ms,
     "time a connection may wait between requests"},
    {"handler-timeout", nullptr, &limits::handler_timeout, limit_unit::milliseconds, 0, a_day_in_ms,
     "time a handler has unless its route says otherwise; later is 503; 0: no limit"},
};

} // namespace fastserve::http
