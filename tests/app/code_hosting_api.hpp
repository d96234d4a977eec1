// A table of the shape that a large code-hosting REST API has: deep paths with two or three parameters, many routes
// under one prefix, several methods a pattern. For tests and benchmarks; deterministic.
#pragma once

#include <fastserve/detail/route_tree.hpp>

#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace code_hosting_api {

struct route {
    fastserve::detail::method_index method;
    std::string pattern;

    bool is_static() const { return pattern.find('{') == std::string::npos; }
};

// Exactly `count` routes, at most 1,000: the same list for the same count.
inline std::vector<route> routes(std::size_t count) {
    constexpr fastserve::detail::method_index get = 2, post = 4, put = 5, patch = 29, del = 1;
    using names = std::vector<std::string_view>;
    static const names in_repo = {"issues",
                                  "pulls",
                                  "commits",
                                  "branches",
                                  "tags",
                                  "releases",
                                  "labels",
                                  "milestones",
                                  "comments",
                                  "contributors",
                                  "collaborators",
                                  "deployments",
                                  "environments",
                                  "events",
                                  "forks",
                                  "git/blobs",
                                  "git/refs",
                                  "git/trees",
                                  "hooks",
                                  "invitations",
                                  "keys",
                                  "languages",
                                  "notifications",
                                  "pages/builds",
                                  "projects",
                                  "stargazers",
                                  "statuses",
                                  "subscribers",
                                  "teams",
                                  "topics",
                                  "actions/runs",
                                  "actions/jobs",
                                  "actions/caches",
                                  "actions/secrets",
                                  "actions/variables",
                                  "actions/workflows",
                                  "actions/artifacts",
                                  "actions/runners",
                                  "check-runs",
                                  "check-suites",
                                  "code-scanning/alerts",
                                  "dependabot/alerts",
                                  "secret-scanning/alerts",
                                  "security-advisories",
                                  "traffic/views",
                                  "autolinks",
                                  "rulesets",
                                  "codespaces"};
    static const names in_org = {"members",
                                 "teams",
                                 "repos",
                                 "hooks",
                                 "invitations",
                                 "blocks",
                                 "projects",
                                 "packages",
                                 "rulesets",
                                 "migrations",
                                 "events",
                                 "issues",
                                 "audit-log",
                                 "outside_collaborators",
                                 "personal-access-tokens",
                                 "codespaces"};
    static const names of_me = {
        "repos",    "orgs",          "keys",          "emails",           "followers",      "following",  "issues",
        "starred",  "gists",         "teams",         "packages",         "blocks",         "codespaces", "migrations",
        "gpg_keys", "installations", "subscriptions", "memberships/orgs", "social_accounts"};
    static const names of_user = {"repos",  "orgs",    "keys",     "gists",    "followers",     "following",
                                  "events", "starred", "packages", "projects", "subscriptions", "received_events"};
    static const names on_top = {"",
                                 "/meta",
                                 "/rate_limit",
                                 "/emojis",
                                 "/licenses",
                                 "/events",
                                 "/feeds",
                                 "/zen",
                                 "/versions",
                                 "/octocat",
                                 "/user",
                                 "/issues",
                                 "/gists",
                                 "/gists/public",
                                 "/gists/starred",
                                 "/notifications",
                                 "/search/code",
                                 "/search/issues",
                                 "/search/users",
                                 "/search/repositories",
                                 "/search/commits",
                                 "/search/topics",
                                 "/search/labels",
                                 "/advisories",
                                 "/classrooms",
                                 "/app",
                                 "/app/installations",
                                 "/markdown",
                                 "/markdown/raw",
                                 "/repositories",
                                 "/users",
                                 "/organizations",
                                 "/marketplace_listing/plans",
                                 "/marketplace_listing/accounts"};

    std::vector<route> out;
    std::set<std::pair<fastserve::detail::method_index, std::string>> seen;
    const auto add = [&](fastserve::detail::method_index m, std::string pattern) {
        if (seen.emplace(m, pattern).second) out.push_back({m, std::move(pattern)});
    };
    const auto resource = [&](const std::string& base, const std::string& id, const names& below) {
        add(get, base);
        add(post, base);
        add(get, base + "/" + id);
        add(patch, base + "/" + id);
        add(del, base + "/" + id);
        for (const std::string_view name : below) {
            add(get, base + "/" + id + "/" + std::string(name));
            add(post, base + "/" + id + "/" + std::string(name));
            add(del, base + "/" + id + "/" + std::string(name) + "/{sub_id}");
        }
    };
    // The first ten are a small service's.
    add(get, "/");
    add(get, "/user");
    add(get, "/user/repos");
    add(get, "/repos/{owner}/{repo}");
    add(get, "/repos/{owner}/{repo}/issues");
    add(post, "/repos/{owner}/{repo}/issues");
    add(get, "/repos/{owner}/{repo}/issues/{issues_id}");
    add(get, "/repos/{owner}/{repo}/issues/{issues_id}/comments");
    add(get, "/repos/{owner}/{repo}/contents/{path...}");
    add(put, "/repos/{owner}/{repo}/contents/{path...}");
    const auto id_of = [](std::string_view name) {
        return std::string("{").append(name.substr(name.rfind('/') + 1)).append("_id}");
    };
    for (const std::string_view name : on_top)
        if (!name.empty()) add(get, std::string(name));
    for (const std::string_view name : of_me) resource("/user/" + std::string(name), id_of(name), {});
    for (const std::string_view name : of_user) resource("/users/{username}/" + std::string(name), id_of(name), {});
    for (const std::string_view name : in_org)
        resource("/orgs/{org}/" + std::string(name), id_of(name), {"repos", "roles"});
    add(get, "/repos/{owner}/{repo}/issues/comments");
    add(get, "/repos/{owner}/{repo}/issues/comments/{comment_id}");
    add(get, "/repos/{owner}/{repo}/compare/{basehead...}");
    for (const std::string_view name : in_repo)
        resource("/repos/{owner}/{repo}/" + std::string(name), id_of(name), {"comments", "reactions", "timeline"});
    if (out.size() > count) out.resize(count);
    return out;
}

// A path for `pattern`, with a fresh value for each parameter.
inline std::string path_for(std::string_view pattern, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::string out;
    while (!pattern.empty()) {
        if (!pattern.starts_with('{')) {
            out += pattern.front();
            pattern.remove_prefix(1);
            continue;
        }
        const std::size_t close = pattern.find('}');
        const bool tail = pattern.substr(0, close).ends_with("...");
        for (std::size_t parts = tail ? 1 + below(4) : 1; parts > 0; --parts) {
            // An upper case letter first: no literal of the table looks like that.
            out += static_cast<char>('A' + below(26));
            for (std::size_t size = 1 + below(18); size > 0; --size)
                out += "abcdefghijklmnopqrstuvwxyz0123456789-"[below(37)];
            if (parts > 1) out += '/';
        }
        pattern.remove_prefix(close + 1);
    }
    return out;
}

} // namespace code_hosting_api
