#include <fastserve/form.hpp>

#include "application.hpp"

#include <fastserve/http/content_coding.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>

namespace fastserve {

using detail::checked_request;

namespace {

// Of that media type, whatever its parameters (RFC 9110 8.3.1).
bool is_of_type(std::string_view content_type, std::string_view lower_type) noexcept {
    std::string_view found = content_type.substr(0, content_type.find(';'));
    while (found.ends_with(' ') || found.ends_with('\t')) found.remove_suffix(1);
    return std::equal(found.begin(), found.end(), lower_type.begin(), lower_type.end(), [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
    });
}

// Whether the body is a form as it stands: one that is compressed is none.
bool has_form(const http::head& head) noexcept {
    const auto type = head.find(http::field::content_type);
    if (!type || !is_of_type(*type, "application/x-www-form-urlencoded")) return false;
    const auto coding = head.find(http::field::content_encoding);
    return !coding || http::find_content_coding(*coding) == http::content_coding::identity;
}

// What a form_reader of `text` needs.
char* room_for(detail::context& x, std::string_view text) {
    return text.find_first_of("%+") == std::string_view::npos ? nullptr : x.allocate(text.size());
}

http::form_pair* pairs_for(detail::context& x, std::size_t count) {
    return std::pmr::polymorphic_allocator<http::form_pair>(&x.arena()).allocate(count);
}

} // namespace

result<form_data> request::form() const {
    detail::context& x = checked_request(x_);
    if (x.route_of->streamed) return make_error_code(errc::not_whole);
    if (!has_form(x.head)) return make_error_code(errc::wrong_type);
    const std::string_view text = x.body;
    const std::size_t count = http::count_form_pairs(text);
    if (count == 0) return form_data();
    if (count > x.service->settings().limits.form_pairs) return make_error_code(errc::too_many);
    http::form_reader reader(text, room_for(x, text), count);
    http::form_pair* const pairs = pairs_for(x, count);
    for (std::size_t i = 0; i != count; ++i) {
        http::form_pair p;
        if (reader.next(p) != http::form_status::pair) return make_error_code(errc::bad_encoding);
        std::construct_at(pairs + i, p);
    }
    return form_data({pairs, count});
}

result<form_values> request::queries(std::string_view key) const {
    detail::context& x = checked_request(x_);
    const std::string_view text = x.head.query();
    if (!http::find_form_value(text, key)) return form_values();
    char* const room = room_for(x, text);
    // Twice: to count them, and to keep them. False: one of them cannot be decoded.
    const auto each = [&](auto&& take) {
        http::form_reader reader(text, room, text.size());
        for (http::form_pair p;;) {
            const http::form_status s = reader.next(p);
            if (s == http::form_status::end) return true;
            if (p.name != key) continue;
            if (s != http::form_status::pair) return false;
            take(p);
        }
    };
    std::size_t count = 0;
    if (!each([&](const http::form_pair&) { ++count; })) return make_error_code(errc::bad_encoding);
    http::form_pair* const pairs = pairs_for(x, count);
    http::form_pair* last = pairs;
    each([&](const http::form_pair& p) { std::construct_at(last++, p); });
    return form_values({pairs, count}, key);
}

} // namespace fastserve
