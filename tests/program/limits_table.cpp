// Writes docs/limits.md to its standard output.
#include "../../server/cli/quantity.hpp"

#include <fastserve/http/limits.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr const char* head =
    R"(# Limits

Nothing is unbounded, and every default is safe on an open network. Each limit is a flag of the program and a member of
`fastserve::limits`: that of `--head-bytes` is `head_bytes`, and so on; that of `--max-connections` is `connections`.
Sizes are in steps of 1024; where the least is 0, it means "no limit", except for `--body-bytes` and
`--trailer-fields`, of which it allows none, and `--body-grace`.

This page is written by a program from the table in
[limits.hpp](../server/http/include/fastserve/http/limits.hpp), and a test holds the two together.

| flag | default | least | most | |
|---|---|---|---|---|
)";

} // namespace

int main() {
    std::string out = head;
    for (const fastserve::http::limit_row& row : fastserve::http::limit_table) {
        const auto text = [&row](std::uint64_t value) { return fastserve::cli::format_quantity(value, row.unit); };
        out.append("| `--").append(row.name).append("` | ").append(text(row.get({})));
        out.append(" | ").append(text(row.least)).append(" | ").append(text(row.most));
        out.append(" | ").append(row.help).append(" |\n");
    }
    return std::fputs(out.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
