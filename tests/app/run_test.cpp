// server::run() as a program's main, with its signals and its exit status.
#include "site.hpp"

#include <csignal>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fastserve::test {
namespace {

// The program of run_program.cpp in a process of its own.
class program {
public:
    explicit program(const std::string& where = "127.0.0.1:0", const std::string& grace_ms = "30000",
                     const std::optional<int> signal_at_listen = std::nullopt) {
        const std::string number = signal_at_listen ? std::to_string(*signal_at_listen) : "";
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(ends[1], STDERR_FILENO);
            ::execl(RUN_PROGRAM, RUN_PROGRAM, where.c_str(), grace_ms.c_str(),
                    signal_at_listen ? number.c_str() : nullptr, nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        log_fd_ = ends[0];
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(log_fd_);
    }

    void signal(int s) const { ::kill(pid_, s); }

    // Waits until these words have been logged.
    bool says(std::string_view words) {
        return read_log([&] { return log_.find(words) != std::string::npos; });
    }
    const std::string& log() const { return log_; }

    std::uint16_t port() {
        if (!says(" worker\n")) return 0;
        const std::size_t at = log_.find("http://127.0.0.1:");
        return at == std::string::npos ? 0 : static_cast<std::uint16_t>(std::stoul(log_.substr(at + 17)));
    }

    // As waitpid() tells; -1: it did not end.
    int wait() {
        read_log([] { return false; }); // to its end
        int status = -1;
        return eventually([&] { return has_ended(status); }) ? status : -1;
    }
    bool has_ended(int& status) {
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
        pid_ = 0;
        return true;
    }
    // The exit status; -1: it did not exit.
    int exit() {
        const int status = wait();
        return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    template <class F>
    bool read_log(F enough) {
        while (!enough()) {
            pollfd p{log_fd_, POLLIN, 0};
            if (::poll(&p, 1, static_cast<int>(client::patience.count())) <= 0) return false;
            char part[4096];
            const ssize_t n = ::read(log_fd_, part, sizeof part);
            if (n <= 0) return enough();
            log_.append(part, static_cast<std::size_t>(n));
        }
        return true;
    }

    pid_t pid_ = 0;
    int log_fd_ = -1;
    std::string log_;
};

TEST(Run, EndsWith0AtASignal) {
    for (const int s : {SIGTERM, SIGINT}) {
        program p;
        client c(p.port());
        EXPECT_EQ(c.get("/").body, "hello world");
        c.close();
        p.signal(s);
        EXPECT_EQ(p.exit(), 0) << p.log();
        EXPECT_NE(p.log().find("draining"), std::string::npos);
        EXPECT_NE(p.log().find("stopped\n"), std::string::npos);
    }
}

TEST(Run, FinishesWhatIsInFlight) {
    program p;
    client c(p.port());
    c.send(request_line("GET", "/slow/200"));
    client other(p.port());
    EXPECT_EQ(other.get("/").status, 200);
    other.close();
    p.signal(SIGTERM);
    EXPECT_EQ(c.read().body, "done");
    c.close();
    EXPECT_EQ(p.exit(), 0) << p.log();
}

TEST(Run, ASecondSignalEndsAtOnce) {
    program p;
    client c(p.port());
    c.send(request_line("GET", "/slow/3600000"));
    client other(p.port());
    EXPECT_EQ(other.get("/").status, 200);
    p.signal(SIGTERM);
    ASSERT_TRUE(p.says("draining"));
    p.signal(SIGTERM);
    EXPECT_EQ(p.exit(), 1) << p.log();
    EXPECT_NE(p.log().find("and 1 handlers that had not finished"), std::string::npos) << p.log();
}

TEST(Run, TheGraceIsOverByItself) {
    program p("127.0.0.1:0", "50");
    client c(p.port());
    c.send(request_line("GET", "/slow/3600000"));
    client other(p.port());
    EXPECT_EQ(other.get("/").status, 200);
    p.signal(SIGINT);
    EXPECT_EQ(p.exit(), 1) << p.log();
}

TEST(Run, AThirdSignalIsTheSystems) {
    program p;
    client c(p.port());
    c.send(request_line("GET", "/stubborn"));
    client other(p.port());
    EXPECT_EQ(other.get("/").status, 200);
    p.signal(SIGTERM);
    ASSERT_TRUE(p.says("draining"));
    p.signal(SIGTERM);
    ASSERT_TRUE(p.says("ending at once"));
    // Its handling is taken back just after that line; until then a signal is one more to be ignored.
    int status = -1;
    EXPECT_TRUE(eventually([&] {
        p.signal(SIGTERM);
        return p.has_ended(status);
    }));
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST(Run, LogsAndIgnoresSighup) {
    program p;
    client c(p.port());
    p.signal(SIGHUP);
    EXPECT_TRUE(p.says("SIGHUP"));
    p.signal(SIGHUP);
    EXPECT_EQ(c.get("/").body, "hello world");
    c.close();
    p.signal(SIGTERM);
    EXPECT_EQ(p.exit(), 0) << p.log();
}

// Clients may be in the queue by then.
TEST(Run, ASignalBetweenListeningAndServingIsNoDeath) {
    for (const int s : {SIGTERM, SIGINT}) {
        program p("127.0.0.1:0", "30000", s);
        EXPECT_EQ(p.exit(), 0) << p.log();
        EXPECT_NE(p.log().find("draining"), std::string::npos) << p.log();
    }
    program p("127.0.0.1:0", "30000", SIGHUP);
    EXPECT_TRUE(p.says("SIGHUP")) << p.log();
    p.signal(SIGTERM);
    EXPECT_EQ(p.exit(), 0) << p.log();
}

TEST(Run, SaysInOneLineWhyItCannotListen) {
    server taken;
    const auto at = taken.listen("127.0.0.1:0");
    ASSERT_TRUE(at);
    program p(at->to_string());
    EXPECT_EQ(p.exit(), 1);
    EXPECT_NE(p.log().find("address in use"), std::string::npos) << p.log();
    EXPECT_EQ(std::count(p.log().begin(), p.log().end(), '\n'), 1) << p.log();
    program wrong("example.org:80");
    EXPECT_EQ(wrong.exit(), 1);
    EXPECT_EQ(std::count(wrong.log().begin(), wrong.log().end(), '\n'), 1) << wrong.log();
}

} // namespace
} // namespace fastserve::test
