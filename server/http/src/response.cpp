#include <fastserve/http/response.hpp>

#include "field_chars.hpp"

namespace fastserve::http {

// The flag that says that a line of this name is there; for Connection, the one that stands for it.
std::uint8_t response::flag_of(std::string_view name) noexcept {
    switch (name.size()) {
    case 4:
        return equal_ignoring_case(name, "date") ? date_flag : 0;
    case 6:
        return equal_ignoring_case(name, "server") ? server_flag : 0;
    case 7:
        return equal_ignoring_case(name, "upgrade") ? upgrade_flag : 0;
    case 10:
        return equal_ignoring_case(name, "connection") ? close_flag : 0;
    case 12:
        return equal_ignoring_case(name, "content-type") ? content_type_flag : 0;
    default:
        return 0;
    }
}

errc response::close_by_field(std::string_view value) noexcept {
    if (!equal_ignoring_case(value, "close")) return errc::bad_field_value;
    close();
    return errc::ok;
}

errc response::set(std::string_view name, std::string_view value) {
    const std::uint8_t flag = flag_of(name);
    if (flag == close_flag) return close_by_field(value);
    const errc error = fields_.set(name, value);
    if (error == errc::ok) flags_ |= flag;
    return error;
}

errc response::add(std::string_view name, std::string_view value) {
    const std::uint8_t flag = flag_of(name);
    if (flag == close_flag) return close_by_field(value);
    const bool single = (flag & (date_flag | server_flag | content_type_flag)) != 0;
    const errc error = single ? fields_.set(name, value) : fields_.add(name, value);
    if (error == errc::ok) flags_ |= flag;
    return error;
}

bool response::remove(std::string_view name) noexcept {
    const std::uint8_t flag = flag_of(name);
    const bool was_there = flag == close_flag ? closes() : fields_.remove(name);
    flags_ = static_cast<std::uint8_t>(flags_ & ~flag);
    return was_there;
}

std::optional<std::string_view> response::get(std::string_view name) const noexcept {
    if (flag_of(name) == close_flag) return closes() ? std::optional<std::string_view>("close") : std::nullopt;
    return fields_.get(name);
}

void response::body(std::string_view bytes) {
    body_.assign(bytes); // before the shared body goes, which `bytes` may be a part of
    here(body_kind::bytes);
}

void response::body(std::string&& bytes) noexcept {
    body_ = std::move(bytes);
    here(body_kind::bytes);
}

void response::body(std::shared_ptr<const std::string> bytes) noexcept {
    body_.clear();
    here(body_kind::bytes);
    if (!bytes) return;
    shared_ = std::move(bytes);
    view_ = *shared_;
    flags_ |= elsewhere_flag;
}

bool response::keep_body() noexcept {
    if (!(flags_ & elsewhere_flag) || shared_) return true;
    try {
        body_.assign(view_);
    } catch (...) {
        return false;
    }
    here(body_kind::bytes);
    return true;
}

std::string& response::body_buffer() noexcept {
    body_.clear();
    here(body_kind::bytes);
    return body_;
}

void response::stream() noexcept {
    body_.clear();
    here(body_kind::stream);
}

void response::no_body() noexcept {
    body_.clear();
    here(body_kind::none);
}

// What there is of a body is in `body_`.
void response::here(body_kind k) noexcept {
    shared_.reset();
    flags_ = static_cast<std::uint8_t>(flags_ & ~elsewhere_flag);
    kind_ = k;
}

void response::release() noexcept {
    shared_.reset();
    if (body_.capacity() > retained_body_bytes) std::string().swap(body_); // assigning would keep the storage
}

} // namespace fastserve::http
