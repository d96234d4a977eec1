#include "admin.hpp"
#include "command_line.hpp"
#include "pages.hpp"
#include "resources.hpp"

#include <fastserve/fastserve.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace {

void say(const fastserve::log_record& r) {
    static constexpr const char* prefixes[] = {"", "warning: ", "error: "};
    std::fprintf(stderr, "fastserve: %s%.*s\n", prefixes[static_cast<int>(r.level)], static_cast<int>(r.message.size()),
                 r.message.data());
}

int fail(const std::string& why) {
    say({fastserve::log_level::error, why});
    return 1;
}

int run(fastserve::cli::settings s) {
    s.server.log = say;
    const std::uint64_t asked = s.server.limits.connections;
    const std::uint64_t allowed = fastserve::cli::raise_descriptor_limit(asked, s.server.workers);
    if (allowed < asked) {
        if (s.connections_given) return fail(fastserve::cli::too_few_descriptors(asked, allowed));
        // The default is a wish: what the machine allows is served.
        s.server.limits.connections = allowed;
        say({fastserve::log_level::info,
             "at most " + std::to_string(allowed) + " connections, by the limit of open descriptors"});
    }
    fastserve::server app(s.server);
    fastserve::cli::add_pages(app);

    // Before the admin listener, so that "ready" is never said by a server that cannot listen.
    for (const std::string& where : s.listen)
        if (const auto at = app.listen(where); !at) return fail(fastserve::listen_error(where, at.error()));

    std::optional<fastserve::server> admin;
    if (!s.admin.empty()) {
        fastserve::options o;
        o.workers = 1;
        o.pin = fastserve::pin::off;
        o.log = say;
        o.limits.connections = 64;
        o.grace = std::chrono::milliseconds(100);
        admin.emplace(o);
        fastserve::cli::add_admin_pages(*admin, app);
        if (const auto at = admin->listen(s.admin); !at) return fail(fastserve::listen_error(s.admin, at.error()));
        if (const auto e = admin->start()) return fail("cannot start the admin listener: " + e.message());
    }
    return app.run();
}

} // namespace

int main(int argc, char** argv) {
    try {
        fastserve::cli::outcome given = fastserve::cli::read_command_line(argc, argv);
        return given.run ? run(std::move(*given.run)) : given.status;
    } catch (const std::exception& e) {
        return fail(e.what());
    }
}
