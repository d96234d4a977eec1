// What the program says about its flags.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fastserve::cli {

// --help in lines of at most 100 columns: the flag on the left, what it does and its default on the right.
class help_formatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App*, std::string name) const override;
    std::string make_group(std::string group, bool is_positional, std::vector<const CLI::Option*>) const override;
    std::string make_option(const CLI::Option*, bool is_positional) const override;
};

// One line about an argument that is no flag of `app`, with the flag that was probably meant.
std::string unknown_argument(const CLI::App& app, std::string_view argument);

} // namespace fastserve::cli
