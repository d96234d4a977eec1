#include <fastserve/detail/route_tree_builder.hpp>

#include <algorithm>
#include <utility>

namespace fastserve::detail {

namespace {

std::string quoted(std::string_view pattern) {
    // A pattern may be anything until it is parsed; a message stays one line of bounded length.
    constexpr std::size_t most = 200;
    std::string out = "\"";
    for (const char c : pattern.substr(0, most)) {
        const auto octet = static_cast<unsigned char>(c);
        out += octet < 0x20 || octet == 0x7F ? '?' : c;
    }
    out += pattern.size() > most ? "...\"" : "\"";
    return out;
}

registration refused(route_errc error, std::string_view pattern) {
    return {error, quoted(pattern) + ": " + std::string(message_of(error)), 0};
}

} // namespace

// Node 0 is the root, before the first segment. Leaf 0 stands for "none".
route_tree_builder::route_tree_builder() : nodes_(1), leaves_(1) {}

registration route_tree_builder::add(method_index method, std::string_view pattern, std::uint32_t id) {
    if (method > any_method) return refused(route_errc::bad_method, pattern);
    if (route_count_ == max_routes) return refused(route_errc::too_many_routes, pattern);
    route_pattern parsed;
    if (const route_errc error = parse_pattern(pattern, parsed); error != route_errc::ok)
        return refused(error, pattern);

    leaf& place = leaves_[leaf_for(parsed)];
    for (const route& other : place.routes)
        if (other.method == method)
            return {route_errc::duplicate_route,
                    quoted(pattern) + " conflicts with " + quoted(other.pattern) +
                        ": both match the same paths, and the method is registered there already",
                    other.id};

    route added{method, id, std::string(pattern), {}};
    for (pattern_segment& s : parsed.segments)
        if (s.kind != segment_kind::literal) added.names.push_back(std::move(s.text));
    place.routes.push_back(std::move(added));
    ++route_count_;
    deepest_ = std::max(deepest_, static_cast<std::uint32_t>(parsed.segments.size()));
    return {};
}

// The leaf of `pattern`, made if need be. A conflict is found at a leaf that was there, so making nodes first leaves
// nothing behind.
std::uint32_t route_tree_builder::leaf_for(const route_pattern& pattern) {
    leaf fresh{};
    std::uint32_t at = 0;
    for (std::size_t depth = 0; depth < pattern.segments.size(); ++depth) {
        const pattern_segment& segment = pattern.segments[depth];
        if (segment.kind != segment_kind::literal) fresh.depths.push_back(static_cast<std::uint8_t>(depth));
        if (segment.kind == segment_kind::tail)
            fresh.tail = true;
        else
            at = child_for(at, segment);
    }
    std::uint32_t& place = fresh.tail ? nodes_[at].tail : nodes_[at].end;
    if (place == 0) {
        leaves_.push_back(std::move(fresh));
        place = static_cast<std::uint32_t>(leaves_.size() - 1);
    }
    return place;
}

std::uint32_t route_tree_builder::child_for(std::uint32_t parent, const pattern_segment& segment) {
    const bool literal = segment.kind == segment_kind::literal;
    if (literal) {
        if (const auto found = nodes_[parent].literals.find(segment.text); found != nodes_[parent].literals.end())
            return found->second;
    } else if (nodes_[parent].parameter != 0) {
        return nodes_[parent].parameter;
    }
    const auto id = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
    if (literal)
        nodes_[parent].literals.emplace(segment.text, id);
    else
        nodes_[parent].parameter = id;
    return id;
}

// How often find() can look at `at` and what is below it: once on the way down, and once for each way that is left
// when it comes back. Only one of the literals can be taken.
std::uint32_t route_tree_builder::worst_steps(std::uint32_t at) const {
    const node& n = nodes_[at];
    std::uint32_t steps = 1;
    for (const auto& [text, child] : n.literals) steps = std::max(steps, 1 + worst_steps(child));
    if (n.parameter != 0) steps += (n.literals.empty() ? 0 : 1) + worst_steps(n.parameter);
    if (n.tail != 0 && (n.parameter != 0 || !n.literals.empty())) ++steps;
    return steps;
}

std::uint32_t route_tree_builder::add_text(route_tree& tree, std::string_view text) {
    const auto at = static_cast<std::uint32_t>(tree.text_.size());
    tree.text_.insert(tree.text_.end(), text.begin(), text.end());
    return at;
}

void route_tree_builder::add_leaf(route_tree& tree, const leaf& from) {
    route_tree::leaf to{};
    to.first = static_cast<std::uint32_t>(tree.routes_.size());
    to.parameters = static_cast<std::uint8_t>(from.depths.size());
    to.tail = from.tail;
    std::copy(from.depths.begin(), from.depths.end(), to.depths.begin());

    const route* get = nullptr;
    for (const route& r : from.routes) {
        to.methods |= r.method == any_method ? ~method_bit(method_trace) : method_bit(r.method);
        if (r.method == method_get) get = &r;
    }
    std::vector<std::pair<method_index, const route*>> answers;
    bool head = false;
    for (const route& r : from.routes) {
        answers.emplace_back(r.method, &r);
        head = head || r.method == method_head;
    }
    if (get != nullptr && !head) {
        answers.emplace_back(method_head, get);
        to.methods |= method_bit(method_head);
    }
    std::sort(answers.begin(), answers.end()); // any_method is the greatest
    for (const auto& [method, r] : answers) {
        tree.routes_.push_back({r->id, static_cast<std::uint32_t>(tree.names_.size()), method});
        for (const std::string& name : r->names) tree.names_.emplace_back(name);
    }
    tree.leaves_.push_back(to);
}

route_tree route_tree_builder::build() const {
    route_tree tree;
    tree.nodes_.resize(nodes_.size());
    std::vector<std::uint32_t> literals;
    for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
        const node& from = nodes_[id];
        route_tree::node& to = tree.nodes_[id];
        to.parameter = from.parameter;
        to.end = from.end;
        to.tail = from.tail;
        to.has_literals = !from.literals.empty();
        for (const auto& [text, child] : from.literals) {
            route_tree::node& literal = tree.nodes_[child];
            literal.parent = id;
            literal.size = static_cast<std::uint32_t>(text.size());
            literal.text = add_text(tree, text);
            literals.push_back(child);
        }
    }
    for (const leaf& l : leaves_) add_leaf(tree, l);
    // Names were views into the builder so far; they may view text_ only when it has stopped growing.
    std::vector<std::uint32_t> at;
    for (const std::string_view name : tree.names_) at.push_back(add_text(tree, name));
    for (std::size_t i = 0; i < at.size(); ++i) tree.names_[i] = {tree.text_.data() + at[i], tree.names_[i].size()};

    tree.index(literals);
    tree.deepest_ = deepest_;
    tree.worst_steps_ = worst_steps(0);
    tree.route_count_ = route_count_;
    return tree;
}

} // namespace fastserve::detail
