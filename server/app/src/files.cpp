#include <fastserve/files.hpp>

#include "application.hpp"
#include "context.hpp"

#include <fastserve/awaiting.hpp>
#include <fastserve/coding/media.hpp>
#include <fastserve/files/cache.hpp>
#include <fastserve/files/folder.hpp>
#include <fastserve/files/listing.hpp>
#include <fastserve/files/plan.hpp>
#include <fastserve/http/negotiation.hpp>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

// Where g++ 12 has Asio's allocation of a frame inlined it takes it for none that the frame's operator delete is for.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace fastserve::detail {

namespace {

// What is read of a file before it is sent. A peer that is slow holds so much, whatever the size of the file.
constexpr std::size_t piece_bytes = 128 * 1024;

files::folder_options folder_options_of(const files_options& o) {
    files::folder_options out;
    out.index = o.index;
    out.listing = o.listing;
    out.names.hidden = o.hidden;
    if (o.precompressed) out.precompressed = &coding::worth_coding;
    for (const files_options::rule& r : o.types) out.types.push_back({r.pattern, r.value});
    for (const files_options::rule& r : o.cache_control) out.caching.push_back({r.pattern, r.value});
    return out;
}

std::uint64_t any_number() {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
}

std::string as_directory(const http::head& h) {
    std::string where(h.path());
    where += '/';
    if (h.has_query) where.append("?").append(h.query());
    return where;
}

} // namespace

struct file_handler::site {
    site(const std::string& path, const files_options& o)
        : fallback(o.fallback), cache_options{.bytes = o.cache}, seed(any_number()) {
        if (const std::error_code e = folder.open(path.c_str(), folder_options_of(o))) {
            if (e == files::errc::bad_options)
                throw std::invalid_argument("fastserve: files of " + path + ": " + e.message());
            throw std::system_error(e, "fastserve: files of " + path);
        }
    }

    awaitable<> serve(request&, response&);

    // Of the worker that asks; made by it.
    files::cache& cache_of(const context& x) {
        std::call_once(counted, [&] { caches.resize(x.service->workers()); });
        std::unique_ptr<files::cache>& own = caches[x.on->index()];
        if (!own) own = std::make_unique<files::cache>(cache_options);
        return *own;
    }

    files::folder folder;
    const std::string fallback;
    const files::cache_options cache_options;
    const std::uint64_t seed; // nobody can guess the boundary of a multipart answer
    std::once_flag counted;                            // how many workers there are
    std::vector<std::unique_ptr<files::cache>> caches; // by worker
};

file_handler::file_handler(const std::string& folder, const files_options& o)
    : site_(std::make_shared<site>(folder, o)) {}
file_handler::~file_handler() = default;
file_handler::file_handler(file_handler&&) noexcept = default;
file_handler::file_handler(const file_handler&) = default;

// Reaches the exchange behind a request.
struct file_access {
    static context& of(request& q) noexcept { return q.x_; }
};

namespace {

// What the page of a directory may do: look as it does.
constexpr std::string_view listing_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

awaitable<> list(const files::folder& folder, files::finding at, bool top, context& x, response& a) {
    std::string page;
    const auto order = files::parse_listing_order(x.head.query());
    const files::listing_options options{.names = folder.options().names, .links = folder.links()};
    // A directory may lie on a disk that is slow, and be large.
    const files::errc failed = co_await offload(
        [&] { return files::write_listing(at.fd.get(), x.head.path(), top, order, options, page); });
    if (failed != files::errc::ok) {
        x.service->refuse(x, files::status_of(failed));
        co_return;
    }
    a.set("Content-Security-Policy", listing_policy);
    a.set("Cache-Control", "no-cache");
    a.set("X-Content-Type-Options", "nosniff");
    x.response.content_type("text/html; charset=utf-8");
    x.response.body(std::move(page));
}

// True: all of it is on its way.
awaitable<bool> send_range(int fd, http::byte_range range, std::string& buffer, response& a) {
    std::uint64_t at = range.first, left = range.size;
    while (left != 0) {
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes));
        buffer.resize(wanted);
        const files::read_result got = co_await offload([&] { return files::read_at(fd, at, buffer); });
        if (got.size != wanted) co_return false; // it has shrunk, or the disk failed: the peer must notice
        const error_code failed = co_await a.write(buffer);
        if (failed) co_return false;
        at += wanted;
        left -= wanted;
    }
    co_return true;
}

awaitable<> send_pieces(const files::plan& p, int fd, response& a) {
    a.content_length(p.length());
    std::string buffer;
    for (std::size_t i = 0; i < p.pieces(); ++i) {
        const files::piece piece = p[i];
        if (!piece.text.empty()) {
            const error_code failed = co_await a.write(piece.text);
            if (failed) co_return;
        }
        const bool whole = co_await send_range(fd, piece.range, buffer, a);
        if (!whole) co_return; // before what was announced: the connection is cut
    }
}

} // namespace

awaitable<> file_handler::site::serve(request& q, response& a) {
    context& x = file_access::of(q);
    const files::coding_order codings{http::coding_preferences(x.head)};
    files::cache& cache = cache_of(x);
    const std::uint64_t now_ms = net::worker::clock_ms();
    const std::string_view below = x.params.value(x.params.size() - 1, x.matched_path());

    files::cached hit = cache.find(folder, below, codings, now_ms);
    if (hit.at.what == files::found::nothing && files::status_of(hit.at.error) == 404 && !fallback.empty())
        hit = cache.find(folder, fallback, codings, now_ms);
    switch (hit.at.what) {
    case files::found::nothing: x.service->refuse(x, files::status_of(hit.at.error)); co_return;
    case files::found::redirect: a.redirect(as_directory(x.head), 308); co_return;
    case files::found::directory: co_await list(folder, std::move(hit.at), below.empty(), x, a); co_return;
    case files::found::file: break;
    }

    const files::plan p(x.head, hit.at.content, std::time(nullptr), seed);
    p.write_to(x.response);
    x.typed = true;
    a.set("X-Content-Type-Options", "nosniff");
    if (p.pieces() == 0) co_return; // HEAD, 304, 412, 416
    if (!hit.bytes) {
        co_await send_pieces(p, hit.at.fd.get(), a);
    } else if (p.status() == 200) {
        x.response.body(std::move(hit.bytes));
    } else {
        std::string& body = x.response.body_buffer();
        for (std::size_t i = 0; i < p.pieces(); ++i)
            body.append(p[i].text).append(*hit.bytes, p[i].range.first, p[i].range.size);
    }
}

// The routes own the handler, which outlives what it has begun.
awaitable<> file_handler::operator()(request& q, response& a) const {
    return site_->serve(q, a);
}

void redirect_to_directory(request& q, response& a) {
    a.redirect(as_directory(file_access::of(q).head), 308);
}

} // namespace fastserve::detail
