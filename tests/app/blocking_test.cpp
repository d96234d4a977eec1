// Handlers and jobs on the offload pool: what waits does not keep a worker.
#include "folder.hpp"
#include "site.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>

namespace fastserve::test {
namespace {

using namespace std::chrono_literals;

TEST(Offload, RunsElsewhereAndResumesHere) {
    site s;
    s.app.get("/value", [](request&, response& a) -> awaitable<> {
        const auto here = std::this_thread::get_id();
        std::string local = "frame";
        const std::string got = co_await offload([&local, here] {
            EXPECT_NE(std::this_thread::get_id(), here);
            return local + "+pool";
        });
        EXPECT_EQ(std::this_thread::get_id(), here);
        co_await offload([&local] { local = "void"; });
        const auto moved = co_await offload([] { return std::make_unique<int>(7); });
        a.text(got + " " + local + " " + std::to_string(*moved));
    });
    s.app.get("/throws", [](request&, response& a) -> awaitable<> {
        try {
            co_await offload([]() -> int { throw std::runtime_error("from the pool"); });
        } catch (const std::runtime_error& e) {
            a.text(e.what());
        }
        co_await offload([] { throw std::runtime_error("not caught"); });
    });
    s.start();
    client c = s.connect();
    EXPECT_EQ(c.get("/value").body, "frame+pool void 7");
    EXPECT_EQ(c.get("/throws").status, 500);
    EXPECT_EQ(s.log.count("/throws", "not caught"), 1U);
    EXPECT_EQ(c.get("/value").status, 200);
}

// One thread, kept busy until it is let go.
struct Busy : testing::Test {
    void SetUp() override {
        s.app.get("/keep", blocking([this] {
                      ++kept;
                      while (!free) std::this_thread::sleep_for(1ms);
                      return "kept";
                  }));
        s.app.get("/offload", [this](request&, response& a) -> awaitable<> {
            co_await offload([this] { ++ran; });
            a.text("ran");
        });
        s.app.get("/caught", [](request&, response& a) -> awaitable<> {
            try {
                co_await offload([] {});
            } catch (const std::runtime_error& e) {
                a.status(429).text(e.what());
            }
        });
        s.app.get("/blocking", blocking([this] {
                      ++ran;
                      return "ran";
                  }));
        s.app.group("").use([](request&, response&) {}).get("/behind", blocking([] { return "behind"; }));
        s.app.post(
            "/save",
            [this](request& q, response& a) -> awaitable<> {
                result<part> p = co_await q.next_part();
                const result<saved_file> saved = co_await p->save(in.path());
                a.text(saved ? "saved" : saved.error().message());
            },
            streamed);
        s.app.get("/plain", [] { return "plain"; });
        s.start();
        keeper.emplace(s.connect());
        keeper->send(request_line("GET", "/keep"));
        ASSERT_TRUE(eventually([&] { return kept == 1; }));
    }
    void TearDown() override { free = true; }

    folder in;
    std::atomic<int> kept{0}, ran{0};
    std::atomic<bool> free{false};
    site s{{.workers = 1, .blocking_threads = 1, .blocking_queue = 1}};
    std::optional<client> keeper;
};

TEST_F(Busy, TheWorkerServesOthersMeanwhile) {
    client c = s.connect();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(c.get("/plain").body, "plain");
    free = true;
    EXPECT_EQ(keeper->read().body, "kept");
}

TEST_F(Busy, AFullQueueIs503WithRetryAfter) {
    client queued = s.connect(), c = s.connect();
    queued.send(request_line("GET", "/blocking"));
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_queued == 1; }));
    for (const char* path : {"/blocking", "/offload", "/behind"}) {
        const answer a = c.get(path);
        EXPECT_EQ(a.status, 503) << path;
        EXPECT_EQ(a.field("Retry-After"), "1") << path;
    }
    const answer caught = c.get("/caught");
    EXPECT_EQ(caught.status, 429);
    EXPECT_EQ(caught.body, "the offload queue is full");
    EXPECT_EQ(s.app.snapshot().offload_refused, 4U);
    EXPECT_EQ(s.app.snapshot().offload_running, 1U);
    free = true;
    EXPECT_EQ(keeper->read().body, "kept");
    EXPECT_EQ(queued.read().body, "ran");
    EXPECT_EQ(c.get("/offload").body, "ran");
    EXPECT_EQ(ran, 2);
}

TEST_F(Busy, AFileIsWrittenByThePool) {
    client c = s.connect(), other = s.connect();
    c.send(request_line("POST", "/save", "Content-Type: multipart/form-data; boundary=b\r\n",
                        "--b\r\nContent-Disposition: form-data; name=f; filename=a\r\n\r\nxyz\r\n--b--"));
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_queued == 1; }));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(other.get("/plain").body, "plain");
    EXPECT_TRUE(in.names().empty());
    free = true;
    EXPECT_EQ(c.read().body, "saved");
    EXPECT_EQ(in.read("a"), "xyz");
}

TEST_F(Busy, AnOffloadedJobIsDroppedWithItsPeer) {
    client c = s.connect();
    c.send(request_line("GET", "/offload"));
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_queued == 1; }));
    c.reset();
    ASSERT_TRUE(eventually([&] { return s.suspended() == 1; })) << "at once, not when its turn comes";
    free = true;
    EXPECT_EQ(keeper->read().body, "kept");
    // It answers before its thread looks into the queue again, in which the dropped job still takes the only place.
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_queued == 0; }));
    EXPECT_EQ(s.get("/blocking").body, "ran");
    EXPECT_EQ(ran, 1);
}

TEST_F(Busy, ABlockingHandlerIsNotBegunForNobody) {
    client c = s.connect();
    c.send(request_line("GET", "/blocking"));
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().offload_queued == 1; }));
    const std::uint64_t before = s.app.snapshot().connections;
    c.reset();
    ASSERT_TRUE(eventually([&] { return s.app.snapshot().connections == before - 1; }));
    free = true;
    EXPECT_EQ(keeper->read().body, "kept");
    ASSERT_TRUE(eventually([&] { return s.suspended() == 0; }));
    EXPECT_EQ(ran, 0);
}

TEST(Blocking, SeesThatItsPeerHasLeft) {
    std::atomic<bool> started{false}, told{false};
    site s;
    s.app.get("/", blocking([&](request& q, response& a) {
                  const std::stop_token stop = q.stop();
                  started = true;
                  while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
                  told = true;
                  a.text("nobody reads this");
                  throw std::runtime_error("nor this");
              }));
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/"));
    ASSERT_TRUE(eventually([&] { return started.load(); }));
    c.reset();
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
    EXPECT_EQ(s.log.size(), 0U);
}

TEST(Blocking, IsTheSameBehindMiddleware) {
    std::atomic<bool> started{false}, told{false};
    site s;
    s.app.use([](request&, response& a, next rest) -> awaitable<> {
        const auto here = std::this_thread::get_id();
        co_await rest();
        a.set("X-Back", std::this_thread::get_id() == here ? "yes" : "no");
    });
    s.app.get("/elsewhere", blocking([](request& q, response& a) { a.text(q.path()); }));
    s.app.get("/left", blocking([&](request& q) -> std::string {
                  const std::stop_token stop = q.stop();
                  started = true;
                  while (!stop.stop_requested()) std::this_thread::sleep_for(1ms);
                  told = true;
                  throw std::runtime_error("nobody reads this");
              }));
    s.start();
    client c = s.connect();
    for (int i = 0; i < 20; ++i) {
        const answer a = c.get("/elsewhere");
        EXPECT_EQ(a.body, "/elsewhere");
        EXPECT_EQ(a.field("X-Back"), "yes");
    }
    c.send(request_line("GET", "/left"));
    ASSERT_TRUE(eventually([&] { return started.load(); }));
    c.reset();
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(eventually([&] { return s.suspended() == 0; }));
    EXPECT_EQ(s.log.size(), 0U);
}

TEST(Blocking, SeesThatThePeerHasFinishedSending) {
    site s;
    s.app.get("/", blocking([](request& q, response& a) {
                  for (int i = 0; i < 5000 && !q.peer_finished(); ++i) std::this_thread::sleep_for(1ms);
                  a.text(q.peer_finished() ? "finished" : "never");
              }));
    s.start();
    client c = s.connect();
    c.send(request_line("GET", "/"));
    ASSERT_TRUE(eventually([&] { return s.suspended() == 1; }));
    c.finish_sending();
    EXPECT_EQ(c.read().body, "finished");
}

TEST(Blocking, UsesAsManyThreadsAsItMay) {
    std::atomic<int> inside{0}, most{0};
    site s{{.workers = 2, .blocking_threads = 4}};
    s.app.get("/", blocking([&] {
                  const int now = ++inside;
                  int seen = most;
                  while (seen < now && !most.compare_exchange_weak(seen, now)) {
                  }
                  eventually([&] { return most == 4; });
                  --inside;
                  return "done";
              }));
    s.start();
    std::vector<client> clients;
    for (int i = 0; i < 12; ++i) {
        clients.push_back(s.connect());
        clients.back().send(request_line("GET", "/"));
    }
    for (client& c : clients) EXPECT_EQ(c.read().body, "done");
    EXPECT_EQ(most, 4);
}

} // namespace
} // namespace fastserve::test
