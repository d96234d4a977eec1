#include <fastserve/http/percent.hpp>

namespace fastserve::http {

namespace {

constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// The octet that the triple at in[at] stands for; 0, which is never a valid answer, when there is none or it is NUL.
constexpr char triple_at(std::string_view in, std::size_t at) noexcept {
    if (in.size() - at < 3) return '\0';
    const int high = hex_value(in[at + 1]);
    const int low = hex_value(in[at + 2]);
    return high < 0 || low < 0 ? '\0' : static_cast<char>(high * 16 + low);
}

} // namespace

std::optional<std::size_t> percent_decode(std::string_view in, char* out) noexcept {
    std::size_t size = 0;
    for (std::size_t at = 0; at < in.size(); ++at) {
        char c = in[at];
        if (c == '%') {
            c = triple_at(in, at);
            if (c == '\0') return std::nullopt;
            at += 2;
        }
        out[size++] = c;
    }
    return size;
}

std::optional<std::size_t> percent_normalise(std::string_view in, char* out) noexcept {
    std::size_t size = 0;
    for (std::size_t at = 0; at < in.size(); ++at) {
        if (in[at] != '%') {
            out[size++] = in[at];
            continue;
        }
        const char c = triple_at(in, at);
        if (c == '\0') return std::nullopt;
        at += 2;
        if (is_unreserved(c)) {
            out[size++] = c;
        } else {
            out[size++] = '%';
            out[size++] = hex_digits[static_cast<unsigned char>(c) >> 4];
            out[size++] = hex_digits[static_cast<unsigned char>(c) & 15];
        }
    }
    return size;
}

} // namespace fastserve::http
