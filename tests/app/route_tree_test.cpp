#include "../support/padded_text.hpp"

#include <fastserve/detail/route_tree.hpp>
#include <fastserve/detail/route_tree_builder.hpp>
#include <fastserve/http/percent.hpp>

#include <boost/beast/http/verb.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fastserve::detail {
namespace {

using verb = boost::beast::http::verb;
static_assert(method_get == static_cast<int>(verb::get));
static_assert(method_head == static_cast<int>(verb::head));
static_assert(method_options == static_cast<int>(verb::options));
static_assert(method_trace == static_cast<int>(verb::trace));
static_assert(last_method >= static_cast<int>(verb::unlink));
static_assert(std::is_nothrow_move_constructible_v<route_tree> && !std::is_copy_constructible_v<route_tree>);

constexpr method_index get = method_get, head = method_head, options = method_options;
constexpr auto post = static_cast<method_index>(verb::post);
constexpr auto put = static_cast<method_index>(verb::put);
constexpr auto del = static_cast<method_index>(verb::delete_);

using routes = std::initializer_list<std::pair<method_index, std::string_view>>;

// A table whose routes are numbered from 1.
route_tree table(routes list) {
    route_tree_builder builder;
    std::uint32_t id = 0;
    for (const auto& [method, pattern] : list) {
        const registration r = builder.add(method, pattern, ++id);
        EXPECT_TRUE(r) << r.detail;
    }
    return builder.build();
}

// A path as a table takes it.
test::padded_text padded(std::string_view path) {
    return test::padded_text(path, route_tree::path_padding);
}

// "3 id=7 rest=a/b" for a match, "404", or "405 2,3,7" with the allowed methods.
std::string ask(const route_tree& tree, method_index method, std::string_view path) {
    route_params params;
    const test::padded_text asked = padded(path);
    const route_match m = tree.find(method, asked, params);
    EXPECT_LE(m.steps, tree.worst_steps());
    EXPECT_EQ(m.kind == match_kind::method_not_allowed, m.allowed != 0);
    EXPECT_TRUE(m.kind == match_kind::found || params.size() == 0);
    if (m.kind == match_kind::not_found) return "404";
    if (m.kind == match_kind::method_not_allowed) {
        std::string out = "405";
        char separator = ' ';
        for (method_index i = 0; i < 64; ++i) {
            if ((m.allowed & method_bit(i)) == 0) continue;
            out += std::exchange(separator, ',') + std::to_string(i);
        }
        return out;
    }
    std::string out = std::to_string(m.route);
    for (std::size_t i = 0; i < params.size(); ++i)
        out.append(" ").append(params.name(i)).append("=").append(params.value(i, path));
    return out;
}

TEST(route_tree, an_empty_table_finds_nothing) {
    EXPECT_EQ(ask(route_tree(), get, "/"), "404");
    EXPECT_EQ(ask(route_tree_builder().build(), get, "/"), "404");
    EXPECT_EQ(ask(route_tree_builder().build(), get, "/a"), "404");
}

TEST(route_tree, literals_match_whole_paths_only) {
    const route_tree tree = table({{get, "/"}, {get, "/a"}, {get, "/a/"}, {get, "/a/b"}, {get, "/ab"}, {get, "//"}});
    EXPECT_EQ(ask(tree, get, "/"), "1");
    EXPECT_EQ(ask(tree, get, "/a"), "2");
    EXPECT_EQ(ask(tree, get, "/a/"), "3");
    EXPECT_EQ(ask(tree, get, "/a/b"), "4");
    EXPECT_EQ(ask(tree, get, "/ab"), "5");
    EXPECT_EQ(ask(tree, get, "//"), "6");
    for (const std::string_view path : {"", "*", "a", "/b", "/A", "/abc", "/a/b/", "/a/b/c", "/a//", "///", "//a"})
        EXPECT_EQ(ask(tree, get, path), "404") << path;
}

// Literals of every length around the words that they are compared in, each beside near misses.
TEST(route_tree, literals_of_every_length_are_told_apart) {
    constexpr std::size_t longest = 70;
    route_tree_builder builder;
    std::uint32_t id = 0;
    for (std::size_t size = 1; size <= longest; ++size) {
        const std::string literal = std::string("/") + std::string(size, 'x');
        ASSERT_TRUE(builder.add(get, literal, ++id));
        ASSERT_TRUE(builder.add(get, literal + "/y", ++id));
    }
    const route_tree tree = builder.build();
    for (std::size_t size = 1; size <= longest; ++size) {
        const std::string path = std::string("/") + std::string(size, 'x');
        EXPECT_EQ(ask(tree, get, path), std::to_string(2 * size - 1));
        EXPECT_EQ(ask(tree, get, path + "/y"), std::to_string(2 * size));
        for (std::size_t i = 1; i <= size; ++i) {
            std::string other = path;
            other[i] = 'z';
            EXPECT_EQ(ask(tree, get, other), "404") << other;
            EXPECT_EQ(ask(tree, get, other + "/y"), "404") << other;
        }
    }
    EXPECT_EQ(ask(tree, get, std::string("/") + std::string(longest + 1, 'x')), "404");
}

// Literals that share all but one of what is compared: first word, second word, rest, parent. The table is small and
// half full, so that most lookups that should miss meet another literal in their slot.
TEST(route_tree, literals_that_are_alike_are_told_apart) {
    constexpr std::size_t members = 16, others = 400;
    for (const std::string_view before : {"", "equal-8-", "equal-in-16-oct-", "equal-in-twenty-octet"}) {
        for (const std::string_view after : {"", "-and", "-and-a-long-end-that-is-equal"}) {
            const auto literal = [&](std::size_t i) {
                std::string out("/");
                out.append(before).append(std::to_string(100 + i)).append(after);
                return out;
            };
            route_tree_builder builder;
            for (std::size_t i = 0; i < members; ++i)
                ASSERT_TRUE(builder.add(get, literal(i), static_cast<std::uint32_t>(i)));
            const route_tree tree = builder.build();
            for (std::size_t i = 0; i < members; ++i) EXPECT_EQ(ask(tree, get, literal(i)), std::to_string(i));
            for (std::size_t i = members; i < others; ++i) EXPECT_EQ(ask(tree, get, literal(i)), "404") << literal(i);
        }
    }
    // Every parent has literals, but each a different one.
    route_tree_builder builder;
    const auto path = [](std::size_t parent, std::size_t child) {
        std::string out("/p");
        out.append(std::to_string(parent)).append("/c").append(std::to_string(child));
        return out;
    };
    for (std::size_t i = 0; i < members; ++i) ASSERT_TRUE(builder.add(get, path(i, i), static_cast<std::uint32_t>(i)));
    const route_tree tree = builder.build();
    for (std::size_t i = 0; i < members; ++i)
        for (std::size_t j = 0; j < members; ++j)
            EXPECT_EQ(ask(tree, get, path(i, j)), i == j ? std::to_string(i) : "404") << path(i, j);
}

TEST(route_tree, an_octet_zero_is_no_end) {
    const route_tree tree = table({{get, "/a"}, {get, "/b/{x}"}});
    EXPECT_EQ(ask(tree, get, std::string_view("/a\0", 3)), "404");
    EXPECT_EQ(ask(tree, get, std::string_view("/b/\0", 4)), std::string("2 x=\0", 5));
}

TEST(route_tree, a_parameter_is_one_segment_that_is_not_empty) {
    const route_tree tree = table({{get, "/users/{id}"}, {get, "/users/{id}/posts/{post}"}, {get, "/{a}/{b}/"}});
    EXPECT_EQ(ask(tree, get, "/users/7"), "1 id=7");
    EXPECT_EQ(ask(tree, get, "/users/a%2Fb"), "1 id=a%2Fb");
    EXPECT_EQ(ask(tree, get, "/users/7/posts/19"), "2 id=7 post=19");
    EXPECT_EQ(ask(tree, get, "/users/7/"), "3 a=users b=7");
    for (const std::string_view path : {"/users", "/users/", "/users//posts/1", "/users/7/posts/", "//", "/users//"})
        EXPECT_EQ(ask(tree, get, path), "404") << path;
}

TEST(route_tree, a_tail_is_the_rest_and_may_be_empty) {
    const route_tree tree = table({{get, "/files/{path...}"}, {get, "/x/{id}/{rest...}"}});
    EXPECT_EQ(ask(tree, get, "/files/"), "1 path=");
    EXPECT_EQ(ask(tree, get, "/files/a"), "1 path=a");
    EXPECT_EQ(ask(tree, get, "/files/a/b//c/"), "1 path=a/b//c/");
    EXPECT_EQ(ask(tree, get, "/x/7/"), "2 id=7 rest=");
    EXPECT_EQ(ask(tree, get, "/x/7/8/9"), "2 id=7 rest=8/9");
    for (const std::string_view path : {"/files", "/filesa", "/x/7", "/x//a"}) EXPECT_EQ(ask(tree, get, path), "404");
    EXPECT_EQ(ask(table({{get, "/{all...}"}}), get, "/"), "1 all=");
}

TEST(route_tree, a_path_may_have_any_number_of_segments) {
    const route_tree tree = table({{get, "/a/{rest...}"}, {get, "/a/b/c"}});
    std::string path = "/a";
    for (int i = 0; i < 1000; ++i) {
        path += "/b";
        EXPECT_EQ(ask(tree, get, path), "1 rest=" + path.substr(3));
    }
    EXPECT_EQ(ask(tree, get, "/z" + path), "404");
}

TEST(route_tree, the_more_specific_pattern_wins_in_any_order_of_registration) {
    const std::vector<std::string_view> patterns = {"/{all...}", "/{a}",         "/{a}/b",  "/x/{b}",
                                                    "/x/b",      "/x/{rest...}", "/{a}/{b}"};
    std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6};
    do {
        route_tree_builder builder;
        for (const std::size_t i : order) ASSERT_TRUE(builder.add(get, patterns[i], static_cast<std::uint32_t>(i)));
        const route_tree tree = builder.build();
        ASSERT_EQ(ask(tree, get, "/"), "0 all=");
        ASSERT_EQ(ask(tree, get, "/x"), "1 a=x");
        ASSERT_EQ(ask(tree, get, "/y/b"), "2 a=y");
        ASSERT_EQ(ask(tree, get, "/x/c"), "3 b=c");
        ASSERT_EQ(ask(tree, get, "/x/b"), "4");
        ASSERT_EQ(ask(tree, get, "/x/"), "5 rest=");
        ASSERT_EQ(ask(tree, get, "/x/b/c"), "5 rest=b/c");
        ASSERT_EQ(ask(tree, get, "/y/c"), "6 a=y b=c");
        ASSERT_EQ(ask(tree, get, "/y/c/d"), "0 all=y/c/d");
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(route_tree, the_leftmost_difference_decides) {
    const route_tree tree = table({{get, "/{y}/b"}, {get, "/a/{x...}"}});
    EXPECT_EQ(ask(tree, get, "/a/b"), "2 x=b");
    EXPECT_EQ(ask(tree, get, "/c/b"), "1 y=c");
}

TEST(route_tree, a_way_that_ends_nowhere_hides_nothing) {
    const route_tree tree = table({{get, "/a/b/c/d"}, {get, "/a/{x}/c/e"}, {get, "/{w}/b/{y}/f"}, {get, "/{z...}"}});
    EXPECT_EQ(ask(tree, get, "/a/b/c/d"), "1");
    EXPECT_EQ(ask(tree, get, "/a/b/c/e"), "2 x=b");
    EXPECT_EQ(ask(tree, get, "/a/b/c/f"), "3 w=a y=c");
    EXPECT_EQ(ask(tree, get, "/a/b/c/g"), "4 z=a/b/c/g");
    EXPECT_EQ(ask(tree, get, "/a/b"), "4 z=a/b");
}

TEST(route_tree, methods_are_told_apart_and_the_others_listed) {
    const route_tree tree = table({{get, "/a"}, {post, "/a"}, {del, "/b"}, {0, "/c"}, {last_method, "/c"}});
    EXPECT_EQ(ask(tree, get, "/a"), "1");
    EXPECT_EQ(ask(tree, post, "/a"), "2");
    EXPECT_EQ(ask(tree, del, "/b"), "3");
    EXPECT_EQ(ask(tree, 0, "/c"), "4");
    EXPECT_EQ(ask(tree, last_method, "/c"), "5");
    EXPECT_EQ(ask(tree, put, "/a"), "405 2,3,4,7");
    EXPECT_EQ(ask(tree, get, "/b"), "405 1,7");
    EXPECT_EQ(ask(tree, head, "/b"), "405 1,7");
    EXPECT_EQ(ask(tree, get, "/c"), "405 0,7,62");
    EXPECT_EQ(ask(tree, put, "/d"), "404");
    EXPECT_EQ(ask(tree, 63, "/a"), "405 2,3,4,7");
    EXPECT_EQ(ask(tree, 255, "/a"), "405 2,3,4,7");
}

TEST(route_tree, head_uses_get_unless_it_has_a_route) {
    const route_tree tree =
        table({{get, "/a/{x}"}, {get, "/b"}, {head, "/b"}, {head, "/{y}"}, {any_method, "/c"}, {get, "/c"}});
    EXPECT_EQ(ask(tree, head, "/a/1"), "1 x=1");
    EXPECT_EQ(ask(tree, head, "/b"), "3");
    EXPECT_EQ(ask(tree, get, "/b"), "2");
    EXPECT_EQ(ask(tree, head, "/c"), "6") << "GET's route goes before the one for any method";
    EXPECT_EQ(ask(tree, get, "/z"), "405 3,7") << "GET does not use HEAD's";
}

TEST(route_tree, options_is_reported_unless_it_has_a_route) {
    const route_tree tree = table({{get, "/a"}, {options, "/b"}, {get, "/b"}, {post, "/{x}"}, {any_method, "/c"}});
    EXPECT_EQ(ask(tree, options, "/a"), "405 2,3,4,7") << "all that match the path, of every pattern";
    EXPECT_EQ(ask(tree, options, "/b"), "2");
    EXPECT_EQ(ask(tree, options, "/c"), "5");
    EXPECT_EQ(ask(tree, options, "/c/d"), "404");
    EXPECT_EQ(ask(tree, options, "*"), "404");
}

TEST(route_tree, any_method_takes_what_has_no_route_of_its_own) {
    const route_tree tree = table({{any_method, "/a"}, {post, "/a"}, {get, "/{x}"}});
    EXPECT_EQ(ask(tree, get, "/a"), "1") << "the pattern goes before the method";
    EXPECT_EQ(ask(tree, post, "/a"), "2");
    EXPECT_EQ(ask(tree, 0, "/a"), "1");
    EXPECT_EQ(ask(tree, last_method, "/a"), "1");
    EXPECT_EQ(ask(tree, 63, "/a"), "1");
    EXPECT_EQ(ask(tree, 255, "/a"), "1");
    EXPECT_EQ(ask(tree, get, "/b"), "3 x=b");
}

TEST(route_tree, any_method_does_not_mean_trace) {
    const route_tree tree =
        table({{any_method, "/a"}, {any_method, "/b"}, {method_trace, "/b"}, {method_trace, "/{x}"}});
    EXPECT_EQ(ask(tree, method_trace, "/a"), "4 x=a");
    EXPECT_EQ(ask(tree, method_trace, "/b"), "3");
    route_params params;
    const route_match none = table({{any_method, "/a"}}).find(method_trace, padded("/a"), params);
    EXPECT_EQ(none.kind, match_kind::method_not_allowed);
    EXPECT_EQ(none.allowed, ~method_bit(method_trace));
}

TEST(route_tree, a_pattern_without_the_method_hides_no_other) {
    const route_tree tree = table({{post, "/users/me"}, {get, "/users/{id}"}, {put, "/users/{rest...}"}});
    EXPECT_EQ(ask(tree, post, "/users/me"), "1");
    EXPECT_EQ(ask(tree, get, "/users/me"), "2 id=me");
    EXPECT_EQ(ask(tree, put, "/users/me"), "3 rest=me");
    EXPECT_EQ(ask(tree, del, "/users/me"), "405 2,3,4,5,7");
    EXPECT_EQ(ask(tree, del, "/users/7"), "405 2,3,5,7");
    EXPECT_EQ(ask(tree, del, "/users/"), "405 5,7");
}

TEST(route_tree, each_route_keeps_its_own_names) {
    const route_tree tree = table({{get, "/users/{id}"}, {post, "/users/{name}"}, {get, "/users/{who}/x/{n}"}});
    EXPECT_EQ(ask(tree, get, "/users/1"), "1 id=1");
    EXPECT_EQ(ask(tree, head, "/users/1"), "1 id=1");
    EXPECT_EQ(ask(tree, post, "/users/1"), "2 name=1");
    EXPECT_EQ(ask(tree, get, "/users/1/x/2"), "3 who=1 n=2");
}

TEST(route_tree, parameters_are_found_by_name_and_stay_right_when_bytes_move) {
    const route_tree tree = table({{get, "/r/{owner}/{repo}"}});
    std::string path = "/r/someone/thing";
    route_params params;
    ASSERT_EQ(tree.find(get, padded(path), params).kind, match_kind::found);
    const std::string elsewhere = path;
    path.assign(path.size(), '-');
    EXPECT_EQ(params.find("repo", elsewhere), "thing");
    EXPECT_EQ(params.find("owner", elsewhere), "someone");
    EXPECT_EQ(params.find("own", elsewhere), std::nullopt);
    EXPECT_EQ(params.offset(1), 11u);
    EXPECT_EQ(params.length(1), 5u);
    params.clear();
    EXPECT_EQ(params.find("repo", elsewhere), std::nullopt);
}

TEST(route_tree, survives_a_move_and_its_builder) {
    route_tree tree;
    {
        route_tree_builder builder;
        ASSERT_TRUE(builder.add(get, "/{n}", 1));
        route_tree first = builder.build();
        ASSERT_TRUE(builder.add(get, "/{n}/more", 2));
        EXPECT_EQ(ask(first, get, "/x/more"), "404") << "a table does not see what is added later";
        tree = builder.build();
        EXPECT_EQ(builder.route_count(), 2u);
    }
    const route_tree moved = std::move(tree);
    EXPECT_EQ(ask(moved, get, "/x"), "1 n=x");
    EXPECT_EQ(ask(moved, get, "/x/more"), "2 n=x");
    EXPECT_EQ(moved.route_count(), 2u);
}

TEST(route_tree, literals_are_matched_in_normal_form) {
    const route_tree tree = table({{get, "/a b"},
                                   {get, "/%7euser"},
                                   {get, "/caf\xC3\xA9"},
                                   {get, "/x%2fy"},
                                   {get, "/%7Bid%7d"},
                                   {get, "/a:b@c!$&'()*+,;="},
                                   {get, "/a/../b"}});
    const auto sent = [&](std::string_view path) {
        std::string scratch(path.size(), '\0');
        const auto normal = fastserve::http::normal_path(path, scratch.data());
        return normal ? ask(tree, get, *normal) : "400";
    };
    EXPECT_EQ(sent("/a%20b"), "1");
    EXPECT_EQ(sent("/%61%20%62"), "1");
    EXPECT_EQ(sent("/a b"), "404") << "no octet of a URI";
    EXPECT_EQ(sent("/~user"), "2");
    EXPECT_EQ(sent("/%7Euse%72"), "2");
    EXPECT_EQ(sent("/caf%c3%a9"), "3");
    EXPECT_EQ(sent("/x%2Fy"), "4");
    EXPECT_EQ(sent("/x/y"), "404");
    EXPECT_EQ(sent("/%7bid%7D"), "5");
    EXPECT_EQ(sent("/a:b@c!$&'()*+,;="), "6");
    EXPECT_EQ(sent("/a%3Ab@c!$&'()*+,;="), "404") << "reserved octets differ from their triples";
    EXPECT_EQ(sent("/a/../b"), "7") << "dot segments are literals";
    EXPECT_EQ(sent("/b"), "404");
    EXPECT_EQ(sent("/a%2"), "400");
}

TEST(route_tree_builder, refuses_a_bad_pattern) {
    const std::string sixteen = "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}";
    std::string segments;
    for (std::size_t i = 0; i < max_route_segments; ++i) segments += "/s";
    const std::string octets = std::string("/") + std::string(max_pattern_octets - 1, 'o');
    struct row {
        std::string pattern;
        route_errc error;
    };
    const row rows[] = {
        {"", route_errc::no_leading_slash},
        {"a", route_errc::no_leading_slash},
        {"{a}", route_errc::no_leading_slash},
        {"/{", route_errc::unclosed_brace},
        {"/{a", route_errc::unclosed_brace},
        {"/{a/b}", route_errc::unclosed_brace},
        {"/a}", route_errc::stray_brace},
        {"/}a{", route_errc::stray_brace},
        {"/a{b}", route_errc::partial_segment},
        {"/{a}.json", route_errc::partial_segment},
        {"/{a}{b}", route_errc::partial_segment},
        {"/{a}}", route_errc::partial_segment},
        {"/{}", route_errc::empty_name},
        {"/{...}", route_errc::empty_name},
        {"/{a b}", route_errc::bad_name},
        {"/{a:int}", route_errc::bad_name},
        {"/{a.}", route_errc::bad_name},
        {"/{a....}", route_errc::bad_name},
        {"/{{a}", route_errc::bad_name},
        {"/{a}/x/{a}", route_errc::duplicate_name},
        {"/{a}/{a...}", route_errc::duplicate_name},
        {"/{a...}/", route_errc::tail_not_last},
        {"/{a...}/{b...}", route_errc::tail_not_last},
        {"/a%", route_errc::bad_escape},
        {"/%zz", route_errc::bad_escape},
        {"/%00", route_errc::bad_escape},
        {std::string("/a\0b", 4), route_errc::bad_escape},
        {"/a?b=c", route_errc::query_or_fragment},
        {"/a#b", route_errc::query_or_fragment},
        {octets, route_errc::ok},
        {octets + "o", route_errc::pattern_too_long},
        {segments, route_errc::ok},
        {segments + "/", route_errc::too_many_segments},
        {sixteen, route_errc::ok},
        {sixteen + "/{q}", route_errc::too_many_parameters},
        {sixteen + "/{q...}", route_errc::too_many_parameters},
    };
    route_tree_builder builder;
    std::size_t good = 0;
    for (const row& r : rows) {
        const registration got = builder.add(get, r.pattern, 1);
        const std::error_code want = r.error == route_errc::ok ? std::error_code() : r.error;
        EXPECT_EQ(got.error, want) << r.pattern << ": " << got.detail;
        if (got) ++good;
        EXPECT_EQ(builder.route_count(), good);
        if (!got) {
            EXPECT_NE(got.detail.find(message_of(r.error)), std::string::npos) << got.detail;
            EXPECT_LT(got.detail.size(), 400u);
        }
    }
    EXPECT_EQ(good, 3u);
    const route_tree tree = builder.build();
    EXPECT_EQ(ask(tree, get, segments), "1");
    EXPECT_EQ(ask(tree, get, octets), "1");
    EXPECT_EQ(ask(tree, get, "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16"),
              "1 a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9 j=10 k=11 l=12 m=13 n=14 o=15 p=16");
}

TEST(route_tree_builder, says_which_patterns_conflict) {
    route_tree_builder builder;
    ASSERT_TRUE(builder.add(get, "/users/{id}", 41));
    ASSERT_TRUE(builder.add(any_method, "/users/{any}", 42));
    ASSERT_TRUE(builder.add(get, "/f/{x...}", 43));
    ASSERT_TRUE(builder.add(get, "/f/{x}", 44)) << "a tail and a parameter are two places";
    ASSERT_TRUE(builder.add(get, "/a%20b", 45));

    const registration r = builder.add(get, "/users/{name}", 50);
    EXPECT_EQ(r.error, route_errc::duplicate_route);
    EXPECT_EQ(r.other, 41u);
    EXPECT_NE(r.detail.find("\"/users/{name}\""), std::string::npos) << r.detail;
    EXPECT_NE(r.detail.find("\"/users/{id}\""), std::string::npos) << r.detail;

    EXPECT_EQ(builder.add(get, "/users/{id}", 50).other, 41u);
    EXPECT_EQ(builder.add(any_method, "/users/{id}", 50).other, 42u);
    EXPECT_EQ(builder.add(get, "/f/{y...}", 50).other, 43u);
    EXPECT_EQ(builder.add(get, "/a b", 50).other, 45u) << "one pattern in two spellings";
    EXPECT_EQ(builder.add(get, "/%61%20b", 50).error, route_errc::duplicate_route);
    EXPECT_EQ(builder.add(64, "/new", 50).error, route_errc::bad_method);
    EXPECT_EQ(builder.route_count(), 5u);
    EXPECT_EQ(ask(builder.build(), get, "/users/7"), "41 id=7") << "what was refused has changed nothing";
}

TEST(route_tree_builder, counts_routes) {
    route_tree_builder builder;
    const auto pattern = [](std::size_t i) { return std::string("/r") + std::to_string(i) + "/{x}"; };
    for (std::size_t i = 0; i < max_routes; ++i)
        ASSERT_TRUE(builder.add(get, pattern(i), static_cast<std::uint32_t>(i)));
    EXPECT_EQ(builder.add(get, pattern(max_routes), 0).error, route_errc::too_many_routes);
    const route_tree tree = builder.build();
    EXPECT_EQ(tree.worst_steps(), 3u) << "does not grow with the number of routes";
    for (std::size_t i = 0; i < max_routes; ++i)
        ASSERT_EQ(ask(tree, get, "/r" + std::to_string(i) + "/v"), std::to_string(i) + " x=v");
    EXPECT_EQ(ask(tree, get, pattern(max_routes)), "404");
}

TEST(route_errc, each_has_a_message_of_its_own) {
    std::vector<std::string_view> seen;
    for (std::uint8_t i = 0; i < route_errc_count; ++i) {
        const auto message = message_of(static_cast<route_errc>(i));
        EXPECT_EQ(std::count(seen.begin(), seen.end(), message), 0) << message;
        EXPECT_NE(message, "unknown error");
        seen.push_back(message);
    }
    EXPECT_EQ(message_of(static_cast<route_errc>(route_errc_count)), "unknown error");
    const std::error_code code = route_errc::bad_name;
    EXPECT_EQ(code.message(), message_of(route_errc::bad_name));
    EXPECT_STREQ(code.category().name(), "fastserve.route");
}

// Every segment could be the literal or the parameter, and only the last one tells: what makes a matcher that walks
// patterns, or a regular expression, take exponential time.
TEST(route_tree, coming_back_is_bounded) {
    constexpr std::size_t length = 30, wild = 15;
    route_tree_builder builder;
    std::size_t nodes = 1;
    // Chains of literals, each with up to 15 parameters in another place.
    for (std::size_t i = 0; i < length; ++i) {
        std::string pattern;
        for (std::size_t at = 0; at < length; ++at)
            pattern += at >= i && at < i + wild ? "/{p" + std::to_string(at) + "}" : "/a";
        ASSERT_TRUE(builder.add(get, pattern + "/z" + std::to_string(i), static_cast<std::uint32_t>(i)));
        nodes += length + 1;
    }
    const route_tree tree = builder.build();
    EXPECT_LE(tree.worst_steps(), 2 * nodes);

    std::string path;
    for (std::size_t at = 0; at < length; ++at) path += "/a";
    route_params params;
    const route_match miss = tree.find(get, padded(path + "/none"), params);
    EXPECT_EQ(miss.kind, match_kind::not_found);
    EXPECT_GT(miss.steps, nodes / 2) << "the table was meant to be a bad one";
    EXPECT_LE(miss.steps, tree.worst_steps());
    for (std::size_t i = 0; i < length; ++i) {
        const route_match hit = tree.find(get, padded(path + "/z" + std::to_string(i)), params);
        ASSERT_EQ(hit.kind, match_kind::found);
        EXPECT_EQ(hit.route, i);
        EXPECT_LE(hit.steps, tree.worst_steps());
    }
    // A longer path is no more work.
    std::string endless;
    for (int i = 0; i < 500'000; ++i) endless += "/a";
    EXPECT_LE(tree.find(get, padded(endless), params).steps, tree.worst_steps());
}

} // namespace
} // namespace fastserve::detail
