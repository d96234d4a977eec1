#include <fastserve/http/event_stream.hpp>

#include <cstddef>

namespace fastserve::http {
namespace {

bool is_line(std::string_view text) noexcept {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// A line of the field for each line of the text. The blank behind the colon is the format's: a reader takes one away.
void append_lines(std::string& out, std::string_view field, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        out.append(field).append(": ").append(text.substr(0, end)).append("\n");
        if (end == std::string_view::npos) return;
        text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
    }
}

} // namespace

bool append_event(std::string& out, const sse& e) {
    if (!is_line(e.event) || !is_line(e.id) || e.retry.count() < 0) return false;
    const bool heard = !e.data.empty() || !e.event.empty();
    const bool told = heard || !e.id.empty() || e.retry.count() != 0;
    if (!e.comment.empty() || !told) append_lines(out, "", e.comment);
    if (!e.event.empty()) append_lines(out, "event", e.event);
    if (!e.id.empty()) append_lines(out, "id", e.id);
    if (e.retry.count() != 0) append_lines(out, "retry", std::to_string(e.retry.count()));
    if (heard) append_lines(out, "data", e.data);
    out += '\n';
    return true;
}

} // namespace fastserve::http
