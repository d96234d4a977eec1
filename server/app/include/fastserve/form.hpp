// A form that came as the body of a request, and all values of a key in its query.
//
// Lifetime: all that is here is views into memory of the request, and good as long as its other views are. Copying is
// cheap. Thread: that of the request's handler. Nothing here allocates.
#pragma once

#include <fastserve/error.hpp>
#include <fastserve/http/form.hpp>
#include <fastserve/request.hpp>
#include <fastserve/types.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

namespace fastserve {

// The values that one name has, in the order in which they came; often one, or none:
//
//     for (const std::string_view tag : form.all("tag")) ...
class form_values {
public:
    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string_view*;
        using reference = std::string_view;

        iterator() = default;
        std::string_view operator*() const noexcept { return at_->value; }
        iterator& operator++() noexcept {
            at_ = find(rest_, at_->name);
            return *this;
        }
        iterator operator++(int) noexcept {
            const iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

    private:
        friend class form_values;

        // The first pair of that name, which it takes off `among` with all before it; null if there is none.
        static const http::form_pair* find(std::span<const http::form_pair>& among, std::string_view name) noexcept {
            while (!among.empty()) {
                const http::form_pair& first = among.front();
                among = among.subspan(1);
                if (first.name == name) return &first;
            }
            return nullptr;
        }

        std::span<const http::form_pair> rest_;
        const http::form_pair* at_ = nullptr; // null: the end
    };

    // None.
    form_values() noexcept = default;

    iterator begin() const noexcept { return begin_; }
    iterator end() const noexcept { return {}; }
    bool empty() const noexcept { return begin_ == end(); }

private:
    friend class form_data;
    friend class request;
    form_values(std::span<const http::form_pair> among, std::string_view name) noexcept {
        begin_.rest_ = among;
        begin_.at_ = iterator::find(begin_.rest_, name);
    }

    iterator begin_;
};

// The pairs of a form in the order in which they came, decoded:
//
//     const auto form = q.form();
//     if (!form) return a.problem(status_of(form.error()), form.error().message());
//     const result<int> age = form->get<int>("age");
//     for (const auto& [name, value] : *form) ...
//
// Names are compared as they are, case included. Looking for one takes time that is linear in the number of pairs,
// which limits::form_pairs bounds.
class form_data {
public:
    using pair = http::form_pair; // name and value
    using iterator = const pair*;

    // An empty one.
    form_data() noexcept = default;

    iterator begin() const noexcept { return pairs_.data(); }
    iterator end() const noexcept { return pairs_.data() + pairs_.size(); }
    std::size_t size() const noexcept { return pairs_.size(); }
    bool empty() const noexcept { return pairs_.empty(); }

    // The first value of a name; empty if it came without '='. errc::missing.
    result<std::string_view> get(std::string_view name) const {
        const form_values found = all(name);
        if (found.empty()) return detail::bad<std::string_view>(errc::missing);
        return *found.begin();
    }
    // The same as a number, bool (true, false, 1 or 0) or string: errc::malformed, out_of_range, or missing.
    template <class T>
    result<T> get(std::string_view name) const {
        const form_values found = all(name);
        if (found.empty()) return detail::bad<T>(errc::missing);
        return detail::parse_as<T>(*found.begin());
    }
    // All values of a name, which need not outlive the call.
    form_values all(std::string_view name) const noexcept { return {pairs_, name}; }

private:
    friend class request;
    explicit form_data(std::span<const pair> pairs) noexcept : pairs_(pairs) {}

    std::span<const pair> pairs_;
};

} // namespace fastserve
