// The decoder of chunked bodies: whole, cut anywhere and byte by byte, in place or not, it says and gives the same.
//
// Input: one byte with the number of cuts (low bits) and a choice of limits, two bytes a cut, the coded body and what
// follows it.
#include "fuzz.hpp"

#include <fastserve/http/chunked.hpp>

#include <cstring>
#include <string>

namespace {

namespace http = fastserve::http;
using http::decode_status;

struct outcome {
    decode_status status = decode_status::need_more;
    http::errc error = http::errc::ok;
    std::size_t consumed = 0;
    std::string body, trailers;
    bool operator==(const outcome&) const = default;
};

// One body, fed piece by piece.
class reader {
public:
    reader(const http::limits& bounds, std::uint64_t most, bool in_place)
        : decoder_(bounds, most), in_place_(in_place) {}

    void feed(std::string_view piece) {
        if (seen_.status != decode_status::need_more) return;
        fuzz::exact_copy copy(piece, 0, " ");
        std::size_t consumed = 0;
        if (in_place_) {
            const auto r = decoder_.decode(copy.data(), piece.size());
            fuzz::require(r.produced <= r.consumed && r.consumed <= piece.size(), "no more comes out than goes in");
            seen_.status = r.status;
            seen_.body.append(copy.data(), r.produced);
            trailers_ += r.trailers;
            consumed = r.consumed;
        } else {
            do {
                const auto r = decoder_.next(copy.data() + consumed, piece.size() - consumed);
                fuzz::require(r.consumed != 0 || r.status != decode_status::need_more || piece.empty(), "it goes on");
                seen_.status = r.status;
                seen_.body += r.data;
                trailers_ += r.trailers;
                consumed += r.consumed;
            } while (seen_.status == decode_status::need_more && consumed < piece.size());
        }
        fuzz::require(seen_.status != decode_status::need_more || consumed == piece.size(), "it takes all it can");
        seen_.consumed += consumed;
    }

    outcome finish() {
        seen_.error = decoder_.error();
        fuzz::require((seen_.status == decode_status::error) == (seen_.error != http::errc::ok), "an error has a name");
        fuzz::require((seen_.status == decode_status::done) == decoder_.done(), "done is done");
        if (seen_.status == decode_status::done) seen_.trailers = trailers_;
        return seen_;
    }

private:
    http::chunked_decoder decoder_;
    std::string trailers_;
    bool in_place_;
    outcome seen_;
};

outcome read(std::string_view text, const std::vector<std::size_t>& cuts, bool in_place, const http::limits& bounds,
             std::uint64_t most) {
    reader r(bounds, most, in_place);
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
        const std::size_t end = std::min(cut, text.size());
        r.feed(text.substr(begin, end - begin));
        begin = end;
    }
    r.feed(text.substr(begin));
    return r.finish();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const unsigned options = in.byte();
    auto cuts = fuzz::take_cuts(options, in);
    http::limits bounds;
    if (options & 8) bounds.chunk_line_bytes = 16;
    if (options & 16) bounds.chunk_overhead_bytes = 24;
    if (options & 32) bounds.trailer_bytes = 40;
    if (options & 64) bounds.trailer_fields = 2;
    const std::uint64_t most = options & 128 ? 20 : bounds.body_bytes;
    const std::string_view text = in.rest();

    const outcome whole = read(text, {}, true, bounds, most);
    fuzz::require(whole.body.size() <= most, "a body is no larger than it may be");
    fuzz::require(whole.trailers.empty() || whole.trailers.ends_with("\r\n"), "trailers are whole lines");
    fuzz::require(read(text, {}, false, bounds, most) == whole, "decode and next agree");
    for (const bool in_place : {true, false}) {
        fuzz::require(read(text, cuts, in_place, bounds, most) == whole, "pieces give what the whole gives");
        if (text.size() > 512) continue;
        std::vector<std::size_t> bytes(text.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = i + 1;
        fuzz::require(read(text, bytes, in_place, bounds, most) == whole, "so do bytes");
    }
    if (whole.status == decode_status::done) {
        // Coded again, it is read again.
        std::string again;
        if (!whole.body.empty()) {
            char digits[24];
            std::snprintf(digits, sizeof digits, "%zx\r\n", whole.body.size());
            again = digits + whole.body + "\r\n";
        }
        again += "0\r\n" + whole.trailers + "\r\n";
        const outcome second = read(again, cuts, true, bounds, most);
        fuzz::require(second.status == decode_status::done && second.body == whole.body &&
                          second.trailers == whole.trailers && second.consumed == again.size(),
                      "what was read can be written and read");
    }
    return 0;
}
