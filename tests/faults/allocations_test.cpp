// The k-th allocation of the server fails, for every k, in one request of each kind: its client gets the right answer,
// a 500, a 503 or the end of its connection, the next one is served, and nothing stays behind.
#include "failing_malloc.hpp"

#include "amount.hpp"
#include "house.hpp"

#include <optional>
#include <string>
#include <vector>

namespace fastserve::test {
namespace {

struct asked {
    const char* name;
    std::string bytes;
    std::vector<std::string> bodies;
};

std::vector<asked> kinds() {
    std::vector<asked> all;
    for (const char* kind :
         {"plain", "at-once", "coroutine", "deferred", "blocking", "offload", "hooked/plain", "behind/blocking"}) {
        const std::string path = std::string("/") + kind + "/1";
        all.push_back({kind, request_line("GET", path), {path}});
    }
    const std::string upload = large_body(100'000);
    all.push_back({"length", request_line("POST", "/echo/1", "", upload), {upload}});
    all.push_back({"chunked",
                   request_line("POST", "/echo-later/1", "Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n",
                   {"abc"}});
    all.push_back({"large", request_line("GET", "/large/300000"), {large_body(300'000)}});
    const std::string chunks = "Transfer-Encoding: chunked\r\n";
    all.push_back({"pieces in", request_line("POST", "/pieces-in/1", "", upload), {upload}});
    all.push_back({"pieces out", request_line("GET", "/pieces-out/100000"), {upload}});
    all.push_back(
        {"pieces", request_line("POST", "/pieces/1", chunks) + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", {"abcde"}});
    all.push_back({"pipeline",
                   request_line("GET", "/plain/a") + request_line("GET", "/coroutine/b") +
                       request_line("GET", "/deferred/c") + request_line("GET", "/blocking/d"),
                   {"/plain/a", "/coroutine/b", "/deferred/c", "/blocking/d"}});
    return all;
}

class Allocations : public testing::Test {
protected:
    void SetUp() override {
        failing_malloc::exempt = true;
        answerer::begins = [] { failing_malloc::exempt = true; };
    }
    void TearDown() override {
        failing_malloc::exempt = false;
        answerer::begins = nullptr;
    }

    // True: an allocation failed.
    bool try_one(house& h, const asked& what, std::int64_t k, tally& t) {
        const std::string where = std::string(what.name) + ", allocation " + std::to_string(k);
        ++t.tried;
        failing_malloc::arm(k);
        {
            client c(h.ports[0]);
            c.send(what.bytes);
            for (const std::string& body : what.bodies) {
                const answer a = c.read();
                if (a.status == 200 && a.body == body) continue;
                if (a.status == 500 || a.status == 503) {
                    if (a.field("Connection") == "close") break;
                    continue;
                }
                if (a.status == 0 && c.at_end()) break;
                t.fail(where + ": status " + std::to_string(a.status));
                break;
            }
        }
        const bool failed = failing_malloc::disarm() <= 0;
        if (client(h.ports[0]).get("/plain/next").body != "/plain/next") t.fail(where + ": the next one is not served");
        if (client(h.ports[0]).get("/coroutine/next").body != "/coroutine/next")
            t.fail(where + ": the next coroutine is not served");
        if (const std::string left = h.left_behind(); !left.empty()) t.fail(where + ": " + left);
        return failed;
    }
};

TEST_F(Allocations, EachFailsOnceOnAColdServer) {
    tally t("failed allocations, cold");
    // The first ones make a batch of exchanges, one as the other: the suite has no time for all of them.
    const std::int64_t alike = amount(0) != 0 ? 0 : 60;
    for (const asked& what : kinds()) {
        for (std::int64_t k = 1;; k += k < alike ? 9 : 1) {
            house h(house::patient(1));
            h.start();
            const bool failed = try_one(h, what, k, t);
            if (const std::string left = h.stop(); !left.empty()) t.fail(what.name + (": " + left));
            if (!failed) break;
        }
    }
}

TEST_F(Allocations, EachFailsOnceOnAWarmServer) {
    tally t("failed allocations, warm");
    house h(house::patient(1));
    h.start();
    for (const asked& what : kinds()) {
        for (std::int64_t k = 1; try_one(h, what, k, t); ++k) {
        }
    }
    EXPECT_EQ(h.stop(), "");
}

} // namespace
} // namespace fastserve::test
