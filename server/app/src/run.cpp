// server::run: what a program's main would otherwise write by hand.
#include "server_impl.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

#include <signal.h>

namespace fastserve {

namespace {

void to_stderr(const log_record& r) {
    static constexpr const char* names[] = {"", "warning: ", "error: "};
    std::fprintf(stderr, "fastserve: %s%.*s\n", names[static_cast<int>(r.level)], static_cast<int>(r.message.size()),
                 r.message.data());
}

// Blocks the signals run() takes, or lets them through, in this thread for as long as it lives.
class run_signals {
public:
    explicit run_signals(int how) noexcept {
        sigset_t set;
        sigemptyset(&set);
        for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
        pthread_sigmask(how, &set, &before_);
    }
    ~run_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    run_signals(const run_signals&) = delete;
    run_signals& operator=(const run_signals&) = delete;

private:
    sigset_t before_{};
};

} // namespace

std::string listen_error(std::string_view where, const error_code& e) {
    std::string line = "cannot listen on " + std::string(where) + ": ";
    if (e == std::errc::address_in_use)
        return line + "address in use; stop the program that listens there, or choose another port";
    if (e == std::errc::permission_denied)
        return line + "permission denied; ports below 1024 need CAP_NET_BIND_SERVICE, Unix sockets a writable folder";
    return line + e.message();
}

int server::run(std::string_view where) {
    if (!impl_->settings.log) impl_->settings.log = to_stderr;
    // Clients can connect once we listen: from then on a signal is a drain, and never the end of their connections.
    const run_signals held(SIG_BLOCK);
    const result<address> at = listen(where);
    if (!at) {
        impl_->app.log(log_level::error, listen_error(where, at.error()));
        return 1;
    }
    return run();
}

int server::run() {
    if (!impl_->settings.log) impl_->settings.log = to_stderr;
    const auto& app = impl_->app;
    if (impl_->users_loop) {
        app.log(log_level::error, "run() is for a server with workers of its own: run the loop, and stop() there");
        return 1;
    }

    boost::asio::io_context loop(1);
    boost::asio::signal_set signals(loop, SIGTERM, SIGINT, SIGHUP);
    const run_signals taken(SIG_UNBLOCK); // those that wait come now

    if (const error_code e = start()) {
        app.log(log_level::error, "cannot start: " + e.message());
        return 1;
    }
    for (const address& a : impl_->workers.addresses())
        app.log(log_level::info, "serving on " + a.url() + " with " + std::to_string(impl_->workers.size()) +
                                     (impl_->workers.size() == 1 ? " worker" : " workers"));

    drain_report report;
    std::thread stopper;
    bool stopped = false;
    std::function<void()> wait = [&] {
        signals.async_wait([&](const boost::system::error_code& e, int signal) {
            if (e || stopped) return;
            if (signal == SIGHUP) {
                app.log(log_level::info, "SIGHUP: nothing to reload");
            } else if (!stopper.joinable()) {
                app.log(log_level::info, "draining: a second signal ends at once");
                stopper = std::thread([&] {
                    report = stop();
                    boost::asio::post(loop, [&] {
                        stopped = true;
                        signals.cancel();
                    });
                });
            } else {
                app.log(log_level::warning, "ending at once");
                abort();
                // Whoever waits for a blocking handler that does not look at its stop token may still kill us.
                signals.clear();
                return;
            }
            wait();
        });
    };
    wait();
    loop.run();
    if (stopper.joinable()) stopper.join();
    if (report.clean()) {
        app.log(log_level::info, "stopped");
        return 0;
    }
    app.log(log_level::warning, "stopped; cut " + std::to_string(report.connections_cut) + " connections and " +
                                    std::to_string(report.handlers_cut) + " handlers that had not finished");
    return 1;
}

} // namespace fastserve
