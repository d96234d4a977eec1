// The flags of the program.
#pragma once

#include <fastserve/files.hpp>
#include <fastserve/server.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fastserve::cli {

struct settings {
    fastserve::options server{};
    std::vector<std::string> listen{"127.0.0.1:8080"};
    std::string admin{};            // empty: no admin listener
    bool connections_given = false; // --max-connections was
    std::string folder{};           // whose files are served; empty: the built-in pages
    files_options files{};
};

// Either settings, or the status to exit with: 0 after --help and --version, 2 after a usage error.
struct outcome {
    std::optional<settings> run;
    int status = 0;
};

// Reads the flags. What is wrong with them has been said in one line on stderr.
outcome read_command_line(int argc, char** argv);

} // namespace fastserve::cli
