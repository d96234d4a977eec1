#include "route_scope.hpp"

#include "route_table.hpp"

#include <fastserve/detail/route_pattern.hpp>

#include <stdexcept>
#include <utility>

namespace fastserve::detail {

namespace {

std::string joined(std::string_view group, std::string_view own) {
    std::string all(group);
    if (!group.empty() && !own.empty()) all += '.';
    all += own;
    return all;
}

route_options completed(const route_options& own, const route_options& defaults) {
    route_options o = own;
    if (!o.body) o.body = defaults.body;
    if (!o.max_body) o.max_body = defaults.max_body;
    if (!o.deadline) o.deadline = defaults.deadline;
    if (!o.max_in_flight) o.max_in_flight = defaults.max_in_flight;
    return o;
}

[[noreturn]] void refuse(std::string_view what, std::string_view in, std::string_view why) {
    std::string message = "fastserve: \"";
    message += what;
    if (!in.empty()) message.append("\" in the group \"").append(in);
    message += "\": ";
    throw std::invalid_argument(message.append(why));
}

} // namespace

route_scope::route_scope(const route_scope& around, std::string_view prefix, const route_options& defaults)
    : table_(around.table_), around_(&around), prefix_(around.prefix_), name_(joined(around.name_, defaults.name)),
      defaults_(completed(defaults, around.defaults_)) {
    defaults_.name = {};
    if (prefix.empty()) return;
    const auto refused = [&](std::string_view why) { refuse(prefix, around.prefix_, why); };
    if (prefix.front() != '/') refused("the prefix of a group starts with '/'");
    if (prefix.back() == '/') refused("the prefix of a group does not end with '/', which its routes begin with");
    prefix_ += prefix;
    route_pattern whole;
    if (const route_errc e = parse_pattern(prefix_, whole); e != route_errc::ok) refused(message_of(e));
    if (whole.segments.back().kind == segment_kind::tail) refused(message_of(route_errc::tail_not_last));
}

void route_scope::add(std::optional<http::verb> method, std::string_view pattern, std::unique_ptr<handler> h,
                      const route_options& own) const {
    if (!prefix_.empty() && !pattern.empty() && pattern.front() != '/')
        refuse(pattern, prefix_, message_of(route_errc::no_leading_slash));
    route_options o = completed(own, defaults_);
    const std::string name = own.name.empty() ? std::string() : joined(name_, own.name);
    o.name = name;
    table_.add(method, prefix_ + std::string(pattern), std::move(h), o, used());
}

void route_scope::use(std::shared_ptr<middleware> m) {
    table_.expect_open();
    used_.push_back(std::move(m));
}

middleware_list route_scope::used() const {
    middleware_list all;
    if (around_) all = around_->used();
    all.insert(all.end(), used_.begin(), used_.end());
    return all;
}

route_scope& route_scope::inner(std::string_view prefix, const route_options& defaults) const {
    return table_.group(*this, prefix, defaults);
}

} // namespace fastserve::detail
