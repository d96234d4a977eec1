#include "application.hpp"

#include <fastserve/detail/percent.hpp>

#include <boost/json/serializer.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <stdexcept>

namespace fastserve {

namespace detail {

void context::forget() noexcept {
    used = false;
    normal = {};
    params.clear();
    stopping.reset();
    deferred.reset();
    if (arena_) arena_->release();
}

} // namespace detail

// ---- request
// -----------------------------------------------------------------------------------------------------------

http::verb request::method() const noexcept {
    return x_.head.method;
}
std::string_view request::target() const noexcept {
    return x_.head.target();
}
std::string_view request::path() const noexcept {
    return x_.head.path();
}
std::string_view request::body() const noexcept {
    return x_.body;
}
std::string_view request::host() const noexcept {
    return x_.head.host();
}
unsigned request::version_minor() const noexcept {
    return x_.head.version_minor;
}
std::string_view request::route_name() const noexcept {
    return x_.route_of ? x_.route_of->name : std::string_view{};
}
bool request::peer_finished() const noexcept {
    return x_.peer_finished;
}
worker& request::on() const noexcept {
    return *x_.on_worker;
}

std::string_view request::param(std::string_view name) const {
    const auto raw = x_.params.find(name, x_.matched_path());
    if (!raw) return {};
    if (raw->find('%') == std::string_view::npos) return *raw;
    char* const out = x_.allocate(raw->size());
    const auto size = detail::percent_decode(*raw, out);
    return size ? std::string_view(out, *size) : std::string_view{};
}

result<std::string_view> request::query(std::string_view key) const {
    const auto decode = [this](std::string_view raw) -> std::optional<std::string_view> {
        if (raw.find_first_of("%+") == std::string_view::npos) return raw;
        char* const out = x_.allocate(raw.size());
        std::replace_copy(raw.begin(), raw.end(), out, '+', ' ');
        const auto size = detail::percent_decode({out, raw.size()}, out);
        if (!size) return std::nullopt;
        return std::string_view(out, *size);
    };
    std::string_view rest = x_.head.query();
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const auto name = decode(pair.substr(0, equals));
        if (!name || *name != key) continue;
        const auto value = decode(equals == pair.size() ? std::string_view{} : pair.substr(equals + 1));
        if (!value) return std::make_error_code(std::errc::illegal_byte_sequence);
        return *value;
    }
    return std::make_error_code(std::errc::invalid_argument);
}

std::optional<std::string_view> request::field(std::string_view name) const noexcept {
    return x_.head.find(name);
}

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    x_.head.each(http::field::cookie, [&](std::string_view rest) {
        while (!found && !rest.empty()) {
            std::string_view pair = rest.substr(0, rest.find(';'));
            rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
            while (pair.starts_with(' ') || pair.starts_with('\t')) pair.remove_prefix(1);
            const std::size_t equals = pair.find('=');
            if (equals != std::string_view::npos && pair.substr(0, equals) == name) found = pair.substr(equals + 1);
        }
    });
    return found;
}

address request::peer() const {
    return x_.peer.to_address();
}

std::stop_token request::stop() const {
    if (!x_.stopping) {
        x_.used = true;
        x_.stopping.emplace();
        if (x_.orphaned) x_.stopping->request_stop();
    }
    return x_.stopping->get_token();
}

// ---- response
// ----------------------------------------------------------------------------------------------------------

namespace {

void check(http::errc e, std::string_view name) {
    if (e == http::errc::ok) return;
    // Without the value: it may be the peer's.
    throw std::invalid_argument("response field " + std::string(name.substr(0, 64)) + ": " +
                                std::string(http::message_of(e)));
}

void type_unless_set(http::response& r, std::string_view type) {
    if (r.fields().size() == 0 || !r.has("Content-Type")) check(r.content_type(type), "Content-Type");
}

constexpr std::string_view text_type = "text/plain; charset=utf-8";

} // namespace

response& response::status(int code) {
    if (!x_.response.status(code)) throw std::invalid_argument("response status outside 200 to 999");
    return *this;
}

int response::status() const noexcept {
    return x_.response.status();
}

response& response::set(std::string_view name, std::string_view value) {
    check(x_.response.set(name, value), name);
    return *this;
}

response& response::add(std::string_view name, std::string_view value) {
    check(x_.response.add(name, value), name);
    return *this;
}

void response::text(std::string_view s) {
    type_unless_set(x_.response, text_type);
    x_.response.body(s);
}

void response::text(std::string&& s) {
    type_unless_set(x_.response, text_type);
    x_.response.body(std::move(s));
}

void response::html(std::string_view s) {
    type_unless_set(x_.response, "text/html; charset=utf-8");
    x_.response.body(s);
}

void response::json(const boost::json::value& v) {
    type_unless_set(x_.response, "application/json");
    // Straight into the storage that the body keeps.
    std::string& out = x_.response.body_buffer();
    boost::json::serializer s;
    s.reset(&v);
    char part[4096];
    while (!s.done()) {
        const auto piece = s.read(part, sizeof part);
        out.append(piece.data(), piece.size());
    }
}

void response::bytes(std::string&& s, std::string_view type) {
    type_unless_set(x_.response, type);
    x_.response.body(std::move(s));
}

void response::bytes(std::shared_ptr<const std::string> s, std::string_view type) {
    type_unless_set(x_.response, type);
    x_.response.body(std::move(s));
}

void response::problem(int code, std::string_view detail) {
    status(code);
    boost::json::object o;
    o["type"] = "about:blank";
    o["title"] = boost::json::string_view(http::reason(code).data(), http::reason(code).size());
    o["status"] = code;
    if (!detail.empty()) o["detail"] = boost::json::string_view(detail.data(), detail.size());
    json(std::move(o));
    set("Content-Type", "application/problem+json");
}

void response::redirect(std::string_view location, int code) {
    if (code != 301 && code != 302 && code != 303 && code != 307 && code != 308)
        throw std::invalid_argument("redirect with a status that is no redirection");
    status(code);
    set("Location", location);
    x_.response.no_body();
}

// ---- responder
// ---------------------------------------------------------------------------------------------------------

namespace {

// The answer of a responder on its way to the worker.
struct completion : net::letter {
    std::shared_ptr<detail::deferral> from;
    std::function<void(response&)> fill;
};

} // namespace

responder response::defer() {
    if (x_.route_of && x_.route_of->handler->kind == detail::handler_kind::blocking)
        throw std::logic_error("a blocking handler answers itself: it cannot defer");
    if (!x_.deferred) {
        x_.used = true;
        x_.deferred = std::make_shared<detail::deferral>(x_.on->mail(), x_);
    }
    return responder(x_.deferred);
}

responder& responder::operator=(responder&& other) noexcept {
    responder ended(std::move(*this));
    deferral_ = std::move(other.deferral_);
    return *this;
}

responder::~responder() {
    if (deferral_)
        complete([](response& r) {
            r.status(500);
            r.text("Internal Server Error\n");
        });
}

bool responder::complete(std::function<void(response&)> fill) {
    const auto d = std::move(deferral_);
    if (!d) return false;
    auto c = std::make_unique<completion>();
    c->from = d;
    c->fill = std::move(fill);
    c->deliver = [](net::worker& w, net::letter& l) noexcept {
        const std::unique_ptr<completion> self(static_cast<completion*>(&l));
        detail::context& x = *self->from->target;
        x.service->complete(w, x, self->fill);
    };
    if (!d->end(detail::deferral::state::answered)) return false;
    if (!d->mail->post(*c)) return false;
    (void)c.release();
    return true;
}

} // namespace fastserve
