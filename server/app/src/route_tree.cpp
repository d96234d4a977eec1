#include <fastserve/detail/route_tree.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fastserve::detail {

static_assert(std::endian::native == std::endian::little, "the loads below put the first octet lowest");

namespace {

constexpr std::uint32_t word = 8;

std::uint64_t load(const char* p) noexcept {
    std::uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// One bit for each of the 64 octets at `p` that is a slash, the first lowest.
std::uint64_t slashes(const char* p) noexcept {
    std::uint64_t bits = 0;
#if defined(__SSE2__)
    for (unsigned i = 0; i < 4; ++i) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('/')));
        bits |= static_cast<std::uint64_t>(static_cast<unsigned>(found)) << 16 * i;
    }
#else
    constexpr std::uint64_t low7 = 0x7F7F7F7F7F7F7F7F;
    for (unsigned i = 0; i < 8; ++i) {
        const std::uint64_t t = load(p + word * i) ^ 0x2F2F2F2F2F2F2F2F;
        const std::uint64_t zero = ~(((t & low7) + low7) | t | low7); // 0x80 where an octet of t is 0
        bits |= (zero >> 7) * 0x0102040810204080 >> 56 << word * i;   // gathers the eight bits
    }
#endif
    return bits;
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

} // namespace

// A path, cut at its slashes.
struct route_tree::segmented {
    std::string_view whole;
    std::uint32_t count; // of segments; cut off at one more than the longest pattern has
    std::array<std::uint32_t, max_route_segments + 2> starts; // [count] is where one more would start

    segmented(std::string_view path, std::uint32_t most) noexcept;

    const char* begin(std::uint32_t i) const noexcept { return whole.data() + starts[i]; }
    std::uint32_t size(std::uint32_t i) const noexcept { return starts[i + 1] - 1 - starts[i]; }
};

// `most` is at most max_route_segments + 1.
route_tree::segmented::segmented(std::string_view path, std::uint32_t most) noexcept : whole(path), count(0) {
    const auto size = static_cast<std::uint32_t>(path.size());
    for (std::uint32_t block = 0; block < size && count < most; block += 64) {
        // All bits of a block before any of them is used: one loop over bits ends in one mispredicted branch.
        std::uint64_t bits = slashes(path.data() + block);
        if (size - block < 64) bits &= (std::uint64_t{1} << (size - block)) - 1;
        for (; bits != 0 && count < most; bits &= bits - 1)
            starts[count++] = block + static_cast<std::uint32_t>(std::countr_zero(bits)) + 1;
    }
    // When it was cut off, the last one goes to the end of the path; no pattern is long enough to look at it.
    starts[count] = size + 1;
}

struct route_tree::segment {
    std::uint64_t low;
    std::uint64_t high;
    std::uint32_t size;
    const char* octets; // the whole of it, for those longer than two words

    // What stands behind it is masked out: up to the end of a path's padding there is something to load.
    segment(const segmented& path, std::uint32_t i) noexcept
        : low(load(path.begin(i)) & mask(path.size(i))),
          high(load(path.begin(i) + word) & mask(std::max(path.size(i), word) - word)), size(path.size(i)),
          octets(path.begin(i)) {}

    // Of the octets before `end`, at most a word. Without a branch: sizes of segments cannot be predicted.
    static std::uint64_t mask(std::uint32_t end) noexcept {
        const std::uint32_t nibbles = 4 * std::min(end, word);
        return ~(~std::uint64_t{0} << nibbles << nibbles); // in two steps, for it may be the whole word
    }

    // The parent comes last and cheaply, so that hashes of segments do not wait for the walk.
    std::uint64_t hash(std::uint64_t seed, std::uint32_t parent) const noexcept {
        const std::uint64_t last = load(octets + std::max(size, word) - word) & mask(size);
        std::uint64_t h = fold(low ^ seed, high ^ 0x9E3779B97F4A7C15 ^ size) + last * 0xD6E8FEB86659FD93;
        for (std::uint32_t at = 2 * word; at + word < size; at += word) // only of those longer than three words
            h = fold(h ^ load(octets + at), 0xD6E8FEB86659FD93);
        return (h + parent) * 0x9E3779B97F4A7C15;
    }
};

inline std::uint32_t route_tree::literal_child(std::uint32_t parent, const segment& s) const noexcept {
    const std::uint64_t hash = s.hash(seed_, parent);
    const std::size_t wrap = slots_.size() - 1;
    const std::size_t home = hash >> shift_;
    for (std::size_t probe = 0; probe < max_probes; ++probe) {
        const std::uint32_t candidate = slots_[(home + probe) & wrap];
        if (candidate == 0) return 0;
        const node& n = nodes_[candidate];
        if (n.low == s.low && n.high == s.high && n.parent == parent && n.size == s.size &&
            (s.size <= 2 * word || std::memcmp(text_.data() + n.text, s.octets, s.size) == 0))
            return candidate;
    }
    return 0;
}

// `l` has a route for `method`.
inline std::uint32_t route_tree::accept(const leaf& l, method_index method, const segmented& path,
                                        route_params& params) const noexcept {
    const route* r = &routes_[l.first];
    while (r->method != method && r->method != any_method) ++r;
    for (std::size_t i = 0; i < l.parameters; ++i)
        params.extents_[i] = {path.starts[l.depths[i]], path.size(l.depths[i])};
    if (l.tail) {
        auto& rest = params.extents_[l.parameters - 1];
        rest.size = static_cast<std::uint32_t>(path.whole.size()) - rest.offset;
    }
    params.names_ = {names_.data() + r->names, l.parameters};
    return r->id;
}

route_match route_tree::find(method_index method, std::string_view path, route_params& params) const noexcept {
    params.clear();
    route_match result;
    if (nodes_.empty() || !path.starts_with('/') || path.size() > std::numeric_limits<std::uint32_t>::max() - 64)
        return result;
    method = std::min(method, any_method);
    const segmented cut(path, deepest_ + 1);

    // What is left to try at a node when the way taken there comes to nothing. One entry a depth at most.
    enum class attempt : std::uint8_t { literal, parameter, tail };
    struct pending {
        std::uint32_t node;
        std::uint8_t depth;
        attempt next;
    };
    std::array<pending, max_route_segments + 1> left;
    std::size_t left_count = 0;

    std::uint32_t at = 0;
    std::uint32_t depth = 0;
    attempt next = attempt::literal;
    std::uint64_t allowed = 0;
    for (;;) {
        ++result.steps;
        const node& here = nodes_[at];
        std::uint32_t ended = here.end;
        if (depth < cut.count) {
            std::uint32_t child = 0;
            if (next == attempt::literal && here.has_literals) child = literal_child(at, segment(cut, depth));
            if (child != 0) {
                if ((here.parameter | here.tail) != 0)
                    left[left_count++] = {at, static_cast<std::uint8_t>(depth), attempt::parameter};
            } else if (next != attempt::tail && here.parameter != 0 && cut.size(depth) != 0) {
                child = here.parameter;
                if (here.tail != 0) left[left_count++] = {at, static_cast<std::uint8_t>(depth), attempt::tail};
            }
            if (child != 0) {
                at = child;
                ++depth;
                next = attempt::literal;
                continue;
            }
            ended = here.tail;
        }
        const leaf& l = leaves_[ended];
        if ((l.methods >> method & 1) != 0) {
            result.kind = match_kind::found;
            result.route = accept(l, method, cut, params);
            return result;
        }
        allowed |= l.methods;
        if (left_count == 0) break;
        const pending& back = left[--left_count];
        at = back.node;
        depth = back.depth;
        next = back.next;
    }
    if (allowed != 0) {
        result.kind = match_kind::method_not_allowed;
        result.allowed = allowed | method_bit(method_options);
    }
    return result;
}

// Puts the literal child `id` into the hash table; false when every slot it may have is taken.
bool route_tree::place(std::uint32_t id) {
    node& n = nodes_[id];
    const std::string text = '/' + std::string(text_.data() + n.text, n.size) + std::string(path_padding, '\0');
    const segmented cut(std::string_view(text).substr(0, n.size + 1), 1);
    const segment s(cut, 0);
    n.low = s.low;
    n.high = s.high;
    const std::uint64_t hash = s.hash(seed_, n.parent);
    for (std::size_t probe = 0; probe < max_probes; ++probe) {
        std::uint32_t& candidate = slots_[((hash >> shift_) + probe) & (slots_.size() - 1)];
        if (candidate == 0) {
            candidate = id;
            return true;
        }
    }
    return false;
}

// Fills slots_: at most a quarter full, so that what is no literal mostly finds an empty slot, with another seed and
// then twice the size until every literal is within max_probes.
void route_tree::index(std::span<const std::uint32_t> literals) {
    constexpr int seeds_a_size = 4;
    for (std::size_t size = std::bit_ceil(std::max(4 * literals.size(), 4 * max_probes));; size *= 2) {
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        for (int i = 0; i < seeds_a_size; ++i) {
            seed_ = fold(seed_ + 1, 0xD6E8FEB86659FD93);
            slots_.assign(size, 0);
            if (std::all_of(literals.begin(), literals.end(), [this](std::uint32_t id) { return place(id); })) return;
        }
    }
}

} // namespace fastserve::detail
