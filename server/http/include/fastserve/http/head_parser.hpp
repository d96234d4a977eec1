// The parser of request heads (RFC 9112 2 to 6): strict, zero-copy, resumable.
#pragma once

#include <fastserve/http/error.hpp>
#include <fastserve/http/head.hpp>
#include <fastserve/http/limits.hpp>

#include <cstddef>
#include <cstdint>

namespace fastserve::http {

enum class parse_status : std::uint8_t { need_more, complete, error };

// Bytes behind the data handed to head_parser::parse that must be readable (their value does not matter).
inline constexpr std::size_t parse_padding = 64;

// Parses one head, in one call or in several as its bytes arrive.
//
// The verdict is that of the shortest prefix that no continuation can mend (or that completes the head), so it does not
// depend on how the bytes were split into calls, and an error is reported with the byte that causes it.
//
// Small and trivially copyable: one lives in each exchange. Nothing allocates, throws or blocks. One thread at a
// time; different parsers are independent.
class head_parser {
public:
    // Makes ready for the next head.
    void reset() noexcept { *this = head_parser(); }

    // `data` is the first byte of the head in every call for it (the bytes may have moved between calls), `size` how
    // many there are now; bytes may follow the head. [data, data + size + parse_padding) must be readable. `out` must
    // be the same head in every call, with its storage set. A resumed call costs time in proportion to the new bytes.
    //
    // complete: out is filled, out.size says where the body starts; reset() before the next head.
    // error: error() says what, status_of(error()) how to answer; the connection cannot go on.
    parse_status parse(const char* data, std::size_t size, head& out, const limits& bounds) noexcept;

    // What was wrong, once parse returned parse_status::error; errc::ok before.
    errc error() const noexcept { return error_; }

    // True if a byte of the head itself has come (empty lines before it do not count): from then on its deadline runs,
    // and an end of the stream cuts a request short.
    bool started() const noexcept { return state_ != state::empty_lines && state_ != state::empty_line_lf; }

private:
    enum class state : std::uint8_t {
        empty_lines,
        empty_line_lf,
        method,
        target,
        version,
        line_start,
        name,
        value,
        line_lf,
        last_lf,
        failed,
        complete,
    };

    parse_status fail(errc e) noexcept;
    bool walk(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept;
    errc step(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept;
    errc step_start(const char* data, std::uint32_t size, head& out) noexcept;
    errc step_target(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept;
    errc step_version(const char* data, std::uint32_t size, head& out) noexcept;
    errc step_fields(const char* data, std::uint32_t size, head& out, const limits& bounds) noexcept;

    std::uint32_t at_ = 0;   // bytes examined
    std::uint32_t mark_ = 0; // where the current part (method, target, line) began
    std::uint32_t colon_ = 0;
    std::uint32_t count_ = 0; // field lines taken
    state state_ = state::empty_lines;
    errc error_ = errc::ok;
    std::uint8_t progress_ = 0; // within the version, a percent triple, or the number of empty lines
};
static_assert(sizeof(head_parser) <= 40);

// The instruction sets a scan of the head can use. All give the same answers.
enum class scan_level : std::uint8_t { scalar, sse2, ssse3, avx2, avx512, neon };

// True if this program and this machine can run it.
bool supported(scan_level level) noexcept;

// The best one of this machine is chosen at the first parse. These two are for tests and benchmarks: `use` switches the
// whole process (any thread; parses that run finish as they began) and returns false if the level is not supported.
scan_level current_scan_level() noexcept;
bool use(scan_level level) noexcept;

} // namespace fastserve::http
