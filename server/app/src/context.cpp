#include "application.hpp"
#include "multipart_reader.hpp"
#include "overloaded.hpp"

#include <fastserve/error.hpp>
#include <fastserve/http/chunked.hpp>
#include <fastserve/http/cookie.hpp>
#include <fastserve/http/form.hpp>
#include <fastserve/http/negotiation.hpp>
#include <fastserve/http/percent.hpp>

#include <boost/json/serializer.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace fastserve {

namespace detail {

void context::forget() noexcept {
    used = body_read = false;
    normal = {};
    failed = nullptr;
    params.clear();
    stopping.reset();
    deferred.reset();
    if (parts) std::exchange(parts, nullptr)->detach();
    if (arena_) arena_->release();
}

bool runs_on_worker(const request& q) noexcept {
    return !checked_request(q.x_).offloaded;
}

} // namespace detail

using detail::checked_request;
using detail::checked_response;

// ---- request
// -----------------------------------------------------------------------------------------------------------

http::verb request::method() const noexcept {
    return checked_request(x_).head.method;
}
std::string_view request::target() const noexcept {
    return checked_request(x_).head.target();
}
std::string_view request::path() const noexcept {
    return checked_request(x_).head.path();
}
std::string_view request::body() const noexcept {
    const detail::context& x = checked_request(x_);
    return x.route_of->streamed ? std::string_view{} : x.body;
}
std::string_view request::host() const noexcept {
    return checked_request(x_).head.host();
}
unsigned request::version_minor() const noexcept {
    return checked_request(x_).head.version_minor;
}
std::string_view request::route_name() const noexcept {
    return checked_request(x_).route_of->name;
}
bool request::peer_finished() const noexcept {
    return checked_request(x_).peer_finished.load(std::memory_order_relaxed);
}
worker& request::on() const noexcept {
    return *checked_request(x_).on_worker;
}

std::optional<std::string_view> request::find_param(std::string_view name) const {
    detail::context& x = checked_request(x_);
    const auto raw = x.params.find(name, x.matched_path());
    if (!raw || raw->find('%') == std::string_view::npos) return raw;
    char* const out = x.allocate(raw->size());
    const auto size = http::percent_decode(*raw, out); // the path would have been refused if this could fail
    return std::string_view(out, size.value_or(0));
}

std::string_view request::param(std::string_view name) const {
    return find_param(name).value_or(std::string_view{});
}

result<std::string_view> request::query(std::string_view key) const {
    detail::context& x = checked_request(x_);
    const auto raw = http::find_form_value(x.head.query(), key);
    if (!raw) return make_error_code(errc::missing);
    if (raw->find_first_of("%+") == std::string_view::npos) return *raw;
    char* const out = x.allocate(raw->size());
    const auto size = http::form_decode(*raw, out);
    if (!size) return make_error_code(errc::bad_encoding);
    return std::string_view(out, *size);
}

std::optional<std::string_view> request::field(std::string_view name) const noexcept {
    return checked_request(x_).head.find(name);
}

std::string_view field_values::iterator::operator*() const noexcept {
    return of_->value(*line_);
}

field_values::iterator& field_values::iterator::operator++() noexcept {
    line_ = of_->next(*line_);
    return *this;
}

field_values request::fields(std::string_view name) const noexcept {
    const http::head& head = checked_request(x_).head;
    return field_values({&head, head.first(name)});
}

std::optional<std::string_view> request::accepts(std::span<const std::string_view> types) const noexcept {
    const auto chosen = http::media_preferences(types, checked_request(x_).head).choose();
    if (!chosen) return std::nullopt;
    return types[*chosen];
}

std::optional<std::string_view> request::trailer(std::string_view name) const noexcept {
    const detail::context& x = checked_request(x_);
    // How much of it is here before its end depends on how the bytes were cut.
    if (x.body_open || x.body_waits || (x.route_of->streamed && !x.body.empty())) return std::nullopt;
    return http::find_trailer(x.request_trailers, name);
}

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
    return http::find_cookie(checked_request(x_).head, name);
}

address request::peer() const {
    return checked_request(x_).peer.to_address();
}

std::stop_token request::stop() const {
    detail::context& x = checked_request(x_);
    if (!x.stopping) {
        x.used = true;
        x.stopping.emplace();
        if (x.orphaned) x.stopping->request_stop();
    }
    return x.stopping->get_token();
}

// ---- response
// ----------------------------------------------------------------------------------------------------------

namespace {

constexpr http::ready_line text_line("Content-Type", "text/plain; charset=utf-8");
constexpr http::ready_line html_line("Content-Type", "text/html; charset=utf-8");
constexpr http::ready_line json_line("Content-Type", "application/json");

void check(http::errc e, std::string_view name) {
    if (e == http::errc::ok) return;
    // Without the value: it may be the peer's.
    throw std::invalid_argument("response field " + std::string(name.substr(0, 64)) + ": " +
                                std::string(http::message_of(e)));
}

bool is_content_type(std::string_view name) noexcept {
    constexpr std::string_view lower = "content-type";
    return name.size() == lower.size() && std::equal(name.begin(), name.end(), lower.begin(), [](char a, char b) {
               return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
           });
}

// The response, as long as it is not on its way.
http::response& open_response(detail::context& x) {
    if (checked_response(x).head_sent) [[unlikely]]
        throw std::logic_error("the head of the response is sent: it cannot be changed any more");
    return x.response;
}

// The same, about to get a body of that type.
http::response& with_type(detail::context& x, std::string_view type) {
    http::response& r = open_response(x);
    if (!x.typed) check(r.content_type(type), "Content-Type");
    return r;
}
http::response& with_type(detail::context& x, const http::ready_line& line) {
    http::response& r = open_response(x);
    if (!x.typed) r.content_type(line);
    return r;
}

} // namespace

response& response::status(int code) {
    http::response& r = open_response(x_);
    if (code == 101 || !r.status(code)) throw std::invalid_argument("response status outside 200 to 999");
    return *this;
}

int response::status() const noexcept {
    return checked_response(x_).response.status();
}

response& response::set(std::string_view name, std::string_view value) {
    check(open_response(x_).set(name, value), name);
    if (is_content_type(name)) x_.typed = true;
    return *this;
}

response& response::add(std::string_view name, std::string_view value) {
    check(open_response(x_).add(name, value), name);
    if (is_content_type(name)) x_.typed = true;
    return *this;
}

response& response::set_cookie(std::string_view name, std::string_view value, const cookie_options& o) {
    http::response& r = open_response(x_);
    http::set_cookie cookie{.name = name,
                            .value = value,
                            .max_age = o.max_age,
                            .expires = {},
                            .domain = o.domain,
                            .path = o.path,
                            .secure = o.secure,
                            .http_only = o.http_only,
                            .same_site = o.same_site,
                            .partitioned = o.partitioned};
    if (o.expires) cookie.expires = std::chrono::floor<std::chrono::seconds>(*o.expires).time_since_epoch().count();
    char line[http::longest_set_cookie];
    const http::written_cookie written = http::write_set_cookie(cookie, line);
    if (written.error != http::cookie_errc::ok) {
        std::string fault = "cookie";
        if (written.error != http::cookie_errc::bad_name) fault.append(" ").append(name.substr(0, 64));
        throw std::invalid_argument(fault.append(": ").append(http::message_of(written.error)));
    }
    check(r.add("Set-Cookie", {line, written.size}), "Set-Cookie");
    return *this;
}

response& response::clear_cookie(std::string_view name, const cookie_options& o) {
    cookie_options gone = o;
    gone.max_age = std::chrono::seconds(0);
    return set_cookie(name, {}, gone);
}

void response::text(std::string_view s) {
    with_type(x_, text_line).body(s);
}

void detail::lender::text(response& a, std::string_view s) {
    with_type(a.x_, text_line).lend_body(s);
}

void response::text(std::string&& s) {
    with_type(x_, text_line).body(std::move(s));
}

void response::html(std::string_view s) {
    with_type(x_, html_line).body(s);
}

void response::json(const boost::json::value& v) {
    // Straight into the storage that the body keeps.
    std::string& out = with_type(x_, json_line).body_buffer();
    boost::json::serializer s;
    s.reset(&v);
    char part[4096];
    while (!s.done()) {
        const auto piece = s.read(part, sizeof part);
        out.append(piece.data(), piece.size());
    }
}

void response::bytes(std::string&& s, std::string_view type) {
    with_type(x_, type).body(std::move(s));
}

void response::bytes(std::shared_ptr<const std::string> s, std::string_view type) {
    with_type(x_, type).body(std::move(s));
}

void response::problem(int code, std::string_view detail) {
    status(code);
    boost::json::object o;
    o["type"] = "about:blank";
    o["title"] = boost::json::string_view(http::reason(code).data(), http::reason(code).size());
    o["status"] = code;
    if (!detail.empty()) o["detail"] = boost::json::string_view(detail.data(), detail.size());
    json(std::move(o));
    check(x_.response.content_type("application/problem+json"), "Content-Type");
}

void response::redirect(std::string_view location, int code) {
    if (code != 301 && code != 302 && code != 303 && code != 307 && code != 308)
        throw std::invalid_argument("redirect with a status that is no redirection");
    set("Location", location);
    status(code);
    x_.response.no_body();
}

response& response::content_length(std::uint64_t bytes) {
    open_response(x_).content_length(bytes);
    return *this;
}

void response::trailer(std::string_view name, std::string_view value) {
    check(checked_response(x_).trailers.add(name, value), name);
}

// ---- responder
// ---------------------------------------------------------------------------------------------------------

responder response::defer() {
    detail::context& x = checked_response(x_);
    if (x.offloaded) throw std::logic_error("a blocking handler answers itself: it cannot defer");
    if (x.in_hooks) throw std::logic_error("the answer is complete: it cannot be deferred");
    if (x.makes_page) throw std::logic_error("the page of an error cannot be deferred");
    if (x.deferred) throw std::logic_error("the answer was deferred already");
    if (x.head_sent) throw std::logic_error("the answer has begun: it cannot be deferred");
    if (!x.service->may_suspend()) throw detail::overloaded("too many handlers have not finished");
    x.used = true;
    x.deferred = std::make_shared<detail::deferral>(x.on->mail(), x);
    x.deferred->deliver = [](net::worker& w, net::letter& l) noexcept {
        const std::shared_ptr<detail::deferral> d = static_cast<detail::deferral&>(l).arrived();
        d->target->service->complete(w, *d->target, d->fill);
    };
    return responder(x.deferred);
}

responder& responder::operator=(responder&& other) noexcept {
    const responder ended(std::move(*this));
    deferral_ = std::move(other.deferral_);
    return *this;
}

responder::~responder() {
    if (deferral_) complete({});
}

bool responder::complete(std::function<void(response&)> fill) {
    const auto d = std::move(deferral_);
    if (!d || !d->end(detail::deferral::state::answered)) return false;
    d->fill = std::move(fill);
    return d->send(d);
}

} // namespace fastserve
