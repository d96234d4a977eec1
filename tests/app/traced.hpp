// A server whose handlers and middleware tell in which order they ran.
#pragma once

#include "request_line.hpp"

#include <fastserve/fastserve.hpp>
#include <fastserve/test/client.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fastserve::test {

// What runs leaves a letter in `trace`; the handler is '-'.
struct Middleware : testing::Test {
    auto before(char c) {
        return [this, c](request&, response&) { trace += c; };
    }
    auto hook(char c) {
        return after([this, c](response&) { trace += c; });
    }
    auto around(char in, char out) {
        return [this, in, out](request&, response&, next rest) -> awaitable<> {
            trace += in;
            co_await rest();
            trace += out;
        };
    }
    // One handler of each kind that answers "x".
    template <class Routes>
    void add_all_kinds(Routes&& to) {
        to.get("/plain", [this] {
            trace += '-';
            return "x";
        });
        to.get("/at_once", [this]() -> awaitable<std::string> {
            trace += '-';
            co_return "x";
        });
        to.get("/slow", [this](request&, response& a) -> awaitable<> {
            co_await sleep_for(std::chrono::milliseconds(10));
            trace += '-';
            a.text("x");
        });
        to.get("/blocking", blocking([this] {
                   trace += '-';
                   return "x";
               }));
    }
    static constexpr std::string_view all_kinds[] = {"/plain", "/at_once", "/slow", "/blocking"};

    reply ask(std::string_view path, std::string_view fields = "", std::string_view method = "GET") {
        trace.clear();
        client c(app);
        return c.send(request_line(method, path, fields));
    }
    std::size_t logged(std::string_view words) const {
        return static_cast<std::size_t>(std::count_if(
            log.begin(), log.end(), [&](const std::string& line) { return line.find(words) != std::string::npos; }));
    }

    std::string trace;
    std::vector<std::string> log;
    std::vector<responder> held;
    server app{options{.workers = 1, .log = [this](const log_record& r) { log.emplace_back(r.message); }}};
};

} // namespace fastserve::test
