// The decoder of multipart/form-data: whole, cut anywhere and byte by byte, it gives the same parts and says the same;
// what it gave is within its limits, and can be written and read again.
//
// Input: one byte with the number of cuts (low bits) and a choice of limits, two bytes a cut, the Content-Type up to
// LF, the body.
#include "fuzz.hpp"

#include <fastserve/http/multipart.hpp>
#include <fastserve/http/safe_filename.hpp>

#include <optional>
#include <string>

namespace {

namespace http = fastserve::http;
using http::multipart_errc;
using http::multipart_event;

struct part {
    std::string name, type, lines, data;
    std::optional<std::string> filename;
    bool ended = false;
    bool operator==(const part&) const = default;
};

struct outcome {
    multipart_errc error = multipart_errc::ok;
    std::vector<part> parts;
    bool operator==(const outcome&) const = default;
};

class reader {
public:
    explicit reader(const http::multipart_limits& bounds) : decoder_(bounds) {}

    multipart_errc start(std::string_view type) { return decoder_.start(type); }

    void feed(std::string_view piece) {
        if (decoder_.error() != multipart_errc::ok) return;
        fuzz::exact_copy copy(piece, 0, " ");
        for (std::string_view rest(copy.data(), piece.size());;) {
            const auto step = decoder_.next(rest);
            fuzz::require(step.consumed <= rest.size(), "no more is taken than is there");
            rest.remove_prefix(step.consumed);
            if (step.event == multipart_event::error) return;
            if (step.event == multipart_event::need_more) {
                fuzz::require(rest.empty(), "it takes all it can");
                return;
            }
            take(step);
        }
    }

    outcome finish() {
        const auto step = decoder_.finish();
        seen_.error = decoder_.error();
        fuzz::require((step.event == multipart_event::end) == (seen_.error == multipart_errc::ok),
                      "an error has a name");
        for (std::size_t i = 0; i < seen_.parts.size(); ++i)
            fuzz::require(seen_.parts[i].ended || (i + 1 == seen_.parts.size() && seen_.error != multipart_errc::ok),
                          "a part ends before another begins");
        return seen_;
    }

private:
    void take(const http::multipart_decoder::step& step) {
        const bool inside = !seen_.parts.empty() && !seen_.parts.back().ended;
        if (step.event == multipart_event::part) {
            fuzz::require(!inside, "parts do not nest");
            const http::part_head& h = decoder_.head();
            seen_.parts.push_back({std::string(h.name), std::string(h.content_type), std::string(h.lines), {}, {}});
            fuzz::require(h.filename.has_value() != h.safe_filename.empty(),
                          "a file has a safe name, and nothing else");
            if (!h.filename) return;
            seen_.parts.back().filename = *h.filename;
            fuzz::require(h.safe_filename.size() <= http::safe_filename_bytes &&
                              h.safe_filename.find_first_of("/\\\r\n") == std::string_view::npos &&
                              h.safe_filename[0] != '.' && http::safe_filename(h.safe_filename) == h.safe_filename,
                          "a safe name is safe");
            return;
        }
        fuzz::require(inside, "data and ends belong to a part");
        if (step.event == multipart_event::part_end) {
            seen_.parts.back().ended = true;
        } else {
            fuzz::require(step.event == multipart_event::data && !step.data.empty(), "there are no other events");
            seen_.parts.back().data += step.data;
        }
    }

    http::multipart_decoder decoder_;
    outcome seen_;
};

outcome read(std::string_view type, std::string_view text, const std::vector<std::size_t>& cuts,
             const http::multipart_limits& bounds) {
    reader r(bounds);
    const multipart_errc e = r.start(type);
    std::size_t begin = 0;
    for (const std::size_t cut : cuts) {
        const std::size_t end = std::min(cut, text.size());
        r.feed(text.substr(begin, end - begin));
        begin = end;
    }
    r.feed(text.substr(begin));
    const outcome o = r.finish();
    fuzz::require(e == multipart_errc::ok || (o.error == e && o.parts.empty()), "nothing comes of a bad Content-Type");
    return o;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const unsigned options = in.byte();
    const auto cuts = fuzz::take_cuts(options, in);
    http::multipart_limits bounds;
    if (options & 8) bounds.parts = 2;
    if (options & 16) bounds.head_bytes = 60, bounds.head_fields = 2;
    if (options & 32) bounds.field_bytes = 7, bounds.file_bytes = 11;
    if (options & 64) bounds.name_bytes = 3, bounds.filename_bytes = 5;
    if (options & 128) bounds.preamble_bytes = bounds.epilogue_bytes = 9, bounds.total_bytes = 300;
    const std::string_view type = in.until('\n');
    const std::string_view text = in.rest();

    const outcome whole = read(type, text, {}, bounds);
    fuzz::require(read(type, text, cuts, bounds) == whole, "pieces give what the whole gives");
    if (text.size() <= 512) {
        std::vector<std::size_t> bytes(text.size());
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = i + 1;
        fuzz::require(read(type, text, bytes, bounds) == whole, "so do bytes");
    }
    fuzz::require(whole.parts.size() <= bounds.parts, "there are no more parts than may be");
    for (const part& p : whole.parts) {
        fuzz::require(p.data.size() <= (p.filename ? bounds.file_bytes : bounds.field_bytes), "nor bytes");
        fuzz::require(p.name.size() <= bounds.name_bytes, "nor bytes of a name");
        fuzz::require(!p.filename || p.filename->size() <= bounds.filename_bytes, "nor of a file's");
    }
    if (whole.error == multipart_errc::ok) {
        std::string_view boundary;
        fuzz::require(http::find_boundary(type, boundary) == multipart_errc::ok, "a boundary was found");
        const std::string delimiter = "\r\n--" + std::string(boundary);
        std::string again;
        for (const part& p : whole.parts) {
            fuzz::require(("\r\n" + p.data).find(delimiter) == std::string::npos, "data holds no delimiter");
            again += delimiter + "\r\n" + p.lines + "\r\n" + p.data;
        }
        again += delimiter + "--";
        bounds.total_bytes += 2 + 2 * whole.parts.size(); // written so, there is more CRLF
        fuzz::require(read(type, again, cuts, bounds) == whole, "what was read can be written and read");
    }
    return 0;
}
