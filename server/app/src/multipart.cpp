#include <fastserve/multipart.hpp>

#include "application.hpp"
#include "multipart_reader.hpp"
#include "new_file.hpp"

#include <fastserve/awaiting.hpp>
#include <fastserve/http/safe_filename.hpp>

#include <utility>

namespace fastserve {

namespace detail {

namespace {

// Small pieces are collected: a trip to the offload pool costs more than copying them.
constexpr std::size_t collected = 16 * 1024;

// A file that ends on the offload pool, also when it was not completed: to give up a large one takes a while.
class file_on_pool {
public:
    explicit file_on_pool(multipart_reader::handle of) : of_(std::move(of)), file_(std::make_shared<new_file>()) {}
    file_on_pool(const file_on_pool&) = delete;
    file_on_pool& operator=(const file_on_pool&) = delete;
    ~file_on_pool() {
        offload_pool* const pool = of_->pool();
        if (!pool || !file_->is_open()) return;
        try {
            pool->submit([ended = std::move(file_)](bool) {});
        } catch (...) { // no memory: it has ended here
        }
    }
    new_file* operator->() const noexcept { return file_.get(); }

private:
    multipart_reader::handle of_;
    std::shared_ptr<new_file> file_;
};

// Spelled out, because a result<std::string> could be made of many things.
result<std::string> no_text(const boost::system::error_code& why) {
    return {boost::system::in_place_error, why};
}

bool is_component(std::string_view name) noexcept {
    return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos;
}

} // namespace

// ---- what has come

offload_pool* multipart_reader::pool() const noexcept {
    return of_ ? &of_->service->offload() : nullptr;
}

multipart_reader::step multipart_reader::take() noexcept {
    step s = decoder_.next(rest_);
    rest_.remove_prefix(s.consumed);
    if (s.event == http::multipart_event::need_more && whole_) s = decoder_.finish();
    return s;
}

error_code multipart_reader::give(const result<chunk>& piece) noexcept {
    if (!piece) return piece.error();
    rest_ = piece->bytes;
    whole_ = piece->empty();
    return {};
}

error_code multipart_reader::refusal(const handle& self, std::uint64_t number) noexcept {
    if (number != self->number_) return make_error_code(errc::past);
    if (!self->of_) return make_error_code(errc::disconnected);
    static_cast<void>(checked_request(*self->of_));
    if (self->busy_) return make_error_code(errc::busy);
    return {};
}

// ---- operations

awaitable<result<part>> multipart_reader::next(context& of, http::multipart_limits l) {
    context& x = checked_request(of);
    if (!x.route_of->streamed) co_return make_error_code(errc::not_streamed);
    if (!x.parts) {
        if (x.body_read) co_return make_error_code(errc::taken);
        auto made = std::make_shared<multipart_reader>(x, l);
        const auto type = x.head.find(http::field::content_type);
        const http::multipart_errc failed = made->decoder_.start(type.value_or(std::string_view{}));
        if (failed != http::multipart_errc::ok) co_return make_error_code(failed);
        x.parts = std::move(made);
    }
    const handle self = x.parts;
    if (self->busy_) co_return make_error_code(errc::busy);
    const turn now(self);
    ++self->number_;
    for (;;) {
        const step s = self->take();
        switch (s.event) {
        case http::multipart_event::need_more: {
            const result<chunk> more = co_await read_body(x, true);
            const error_code failed = self->give(more);
            if (failed) co_return failed;
            break;
        }
        case http::multipart_event::part:
            self->open_ = true;
            co_return part(self, self->number_, self->decoder_.head());
        case http::multipart_event::data: break; // of the part before, which was not read to its end
        case http::multipart_event::part_end: self->open_ = false; break;
        case http::multipart_event::end: co_return part();
        case http::multipart_event::error: co_return make_error_code(self->decoder_.error());
        }
    }
}

awaitable<result<chunk>> multipart_reader::piece(multipart_reader& self) {
    while (self.open_) {
        if (!self.of_) co_return make_error_code(errc::disconnected);
        const step s = self.take();
        switch (s.event) {
        case http::multipart_event::need_more: {
            const result<chunk> more = co_await read_body(*self.of_, true);
            const error_code failed = self.give(more);
            if (failed) co_return failed;
            break;
        }
        case http::multipart_event::data: co_return chunk{s.data};
        case http::multipart_event::error: co_return make_error_code(self.decoder_.error());
        default: self.open_ = false; break; // its end
        }
    }
    co_return chunk{};
}

awaitable<result<chunk>> multipart_reader::read(handle self, std::uint64_t number) {
    if (!self) co_return chunk{};
    const error_code refused = refusal(self, number);
    if (refused) co_return refused;
    const turn now(self);
    const result<chunk> got = co_await piece(*self);
    co_return got;
}

awaitable<result<std::string>> multipart_reader::text(handle self, std::uint64_t number, std::size_t most) {
    std::string all;
    if (!self) co_return good(std::move(all));
    const error_code refused = refusal(self, number);
    if (refused) co_return no_text(refused);
    const turn now(self);
    for (;;) {
        const result<chunk> got = co_await piece(*self);
        if (!got) co_return no_text(got.error());
        if (got->empty()) co_return good(std::move(all));
        if (got->bytes.size() > most - all.size()) co_return no_text(make_error_code(errc::too_large));
        all += got->bytes;
    }
}

awaitable<result<saved_file>> multipart_reader::save(handle self, std::uint64_t number, std::string directory,
                                                     std::string name, bool beside) {
    if (!self) co_return make_error_code(errc::past);
    if (!is_component(name)) co_return make_error_code(errc::malformed);
    const error_code refused = refusal(self, number);
    if (refused) co_return refused;
    const turn now(self);
    const file_on_pool file(self);
    std::string before;    // collected, and not written yet
    std::string_view last; // the piece behind it
    std::uint64_t bytes = 0;
    const auto write_out = [&] {
        error_code failed = file->is_open() ? error_code() : file->open(directory);
        if (!failed) failed = file->write(before);
        if (!failed) failed = file->write(last);
        return failed;
    };
    for (;;) {
        const result<chunk> got = co_await piece(*self);
        if (!got) co_return got.error();
        last = got->bytes;
        if (last.empty()) break;
        bytes += last.size();
        if (last.size() <= collected - before.size()) {
            before += last;
            continue;
        }
        const error_code failed = co_await offload(write_out);
        if (failed) co_return failed;
        before.clear();
    }
    const error_code failed = co_await offload([&] {
        const error_code unwritten = write_out();
        if (unwritten) return unwritten;
        return beside ? file->publish_beside(name) : file->publish(name);
    });
    if (failed) co_return failed;
    if (!directory.ends_with('/')) directory += '/';
    co_return saved_file{directory + name, bytes};
}

} // namespace detail

// ---- what users call

part::part(std::shared_ptr<detail::multipart_reader> of, std::uint64_t number, const http::part_head& head) noexcept
    : of_(std::move(of)), number_(number), head_(head) {}

awaitable<result<part>> request::next_part() {
    const detail::context& x = checked_request(x_);
    http::multipart_limits l;
    l.total_bytes = x.route_of->max_body ? *x.route_of->max_body : x.service->settings().limits.body_bytes;
    return next_part(l);
}

awaitable<result<part>> request::next_part(const http::multipart_limits& l) {
    return detail::multipart_reader::next(x_, l);
}

awaitable<result<chunk>> part::read() {
    return detail::multipart_reader::read(of_, number_);
}

awaitable<result<std::string>> part::text(std::size_t most) {
    return detail::multipart_reader::text(of_, number_, most);
}

awaitable<result<saved_file>> part::save(std::string directory) {
    std::string name(head_.safe_filename);
    if (name.empty()) name = http::safe_filename(head_.name);
    return detail::multipart_reader::save(of_, number_, std::move(directory), std::move(name), true);
}

awaitable<result<saved_file>> part::save_as(std::string directory, std::string file_name) {
    return detail::multipart_reader::save(of_, number_, std::move(directory), std::move(file_name), false);
}

} // namespace fastserve
