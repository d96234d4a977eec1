#include "admin.hpp"
#include "command_line.hpp"
#include "pages.hpp"
#include "resources.hpp"

#include <fastserve/fastserve.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace {

using fastserve::log_level;

// One call, so that lines of several threads do not mix.
void say(const fastserve::log_record& r) {
    static constexpr const char* prefixes[] = {"", "warning: ", "error: "};
    std::fprintf(stderr, "fastserve: %s%.*s\n", prefixes[static_cast<int>(r.level)], static_cast<int>(r.message.size()),
                 r.message.data());
}

int fail(const std::string& why) {
    say({log_level::error, why});
    return 1;
}

// Serves `main`'s state at `where`; with a line said for the URL or for the failure, which returns null.
std::unique_ptr<fastserve::server> start_admin(const std::string& where, const fastserve::server& main) {
    fastserve::options o;
    o.workers = 1;
    o.pin = fastserve::pin::off;
    o.log = say;
    o.limits.connections = 64;
    o.limits.suspended_exchanges = 64;
    auto admin = std::make_unique<fastserve::server>(std::move(o));
    fastserve::cli::add_admin_pages(*admin, main);
    const auto at = admin->listen(where);
    if (!at) {
        fail(fastserve::listen_error(where, at.error()));
        return nullptr;
    }
    if (const auto e = admin->start()) {
        fail("cannot start the admin listener: " + e.message());
        return nullptr;
    }
    say({log_level::info, "admin on " + at->url()});
    return admin;
}

int run(fastserve::cli::settings s) {
    s.server.log = say;
    s.server.idle = fastserve::cli::give_memory_back;
    const std::uint64_t asked = s.server.limits.connections;
    const auto descriptors = fastserve::cli::raise_descriptor_limit(asked, s.server.workers);
    const bool lowered = descriptors.connections < asked;
    if (lowered && s.connections_given) return fail(fastserve::cli::too_few_descriptors(asked, descriptors));
    // The default is a wish: what the machine allows is served.
    s.server.limits.connections = descriptors.connections;
    fastserve::server app(std::move(s.server));
    if (s.folder.empty())
        fastserve::cli::add_pages(app);
    else
        app.files("/", s.folder, s.files);

    fastserve::cli::hold_signals();
    // Before the admin listener, so that "ready" is never said by a server that cannot listen. The admin listener goes
    // on until the drain has ended, so that it can be watched.
    for (const std::string& where : s.listen)
        if (const auto at = app.listen(where); !at) return fail(fastserve::listen_error(where, at.error()));
    std::unique_ptr<fastserve::server> admin;
    if (!s.admin.empty() && !(admin = start_admin(s.admin, app))) return 1;
    if (lowered)
        say({log_level::info, "at most " + std::to_string(descriptors.connections) +
                                  " connections, because the limit of open descriptors is " +
                                  std::to_string(descriptors.open)});
    return app.run();
}

} // namespace

int main(int argc, char** argv) {
    fastserve::cli::prepare_standard_streams();
    try {
        fastserve::cli::outcome given = fastserve::cli::read_command_line(argc, argv);
        return given.run ? run(std::move(*given.run)) : given.status;
    } catch (const std::exception& e) {
        return fail(e.what());
    }
}
