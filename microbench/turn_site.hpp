// What a turn is measured with: an application, and a machine beside it that is given requests and asked for answers as
// net::worker does it, without a socket.
#pragma once

#include "request_heads.hpp"

#include "../server/app/src/application.hpp"

#include <fastserve/http/machine.hpp>
#include <fastserve/net/acceptor.hpp>
#include <fastserve/net/worker.hpp>

#include <benchmark/benchmark.h>

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turn_site {

namespace http = fastserve::http;
namespace net = fastserve::net;
using fastserve::detail::application, fastserve::detail::route_table, fastserve::detail::make_handler;
using request_heads::head_set, request_heads::require, request_heads::variants;

inline constexpr std::size_t most_pipelined = 16;
inline constexpr std::int64_t now = 784'111'777;

inline std::string expected(std::string_view target) {
    return "HTTP/1.1 200 OK\r\nServer: fastserve\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
           "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 11\r\n\r\n" +
           std::string(target == "/" ? "hello world" : "hello guest");
}

// All heads of a set one behind the other, and the first ones again, so that 16 follow each.
class stream_of_heads {
public:
    explicit stream_of_heads(const head_set& set) : size_(set.size) {
        for (std::size_t i = 0; i < variants + most_pipelined - 1; ++i) text_.append(set.heads[i % variants], 0, size_);
        text_.append(http::parse_padding, '\0');
    }
    std::span<char> at(std::size_t variant, std::size_t count) {
        return {text_.data() + variant * size_, count * size_};
    }

private:
    std::size_t size_;
    std::string text_;
};

// The application of a server with one worker, which never runs: its place in the calls is all that is needed.
class site {
public:
    site() {
        routes_.add(http::verb::get, "/", make_handler([] { return "hello world"; }), {});
        routes_.add(http::verb::get, "/{name}", make_handler([] { return "hello guest"; }), {});
        routes_.add(http::verb::get, "/users/{id}/posts", make_handler([] { return "posts"; }), {});
        routes_.add(http::verb::post, "/echo", make_handler([] { return "echo"; }), {});
        routes_.freeze(settings_.limits);
        const auto at = [this](unsigned) -> net::worker& { return worker_; };
        require(!app_.open(1, at) && !buffers_.open({}), "opening the pools");
        require(templates_.server_name("fastserve"), "the server's name");
        templates_.refresh(now);
        turn_.now_ms = 1;
        machine_.start(turn_.now_ms);
    }
    ~site() {
        if (turn_.spare) service_.release(worker_, static_cast<net::exchange&>(*turn_.spare));
    }
    site(const site&) = delete;
    site& operator=(const site&) = delete;

    // The answers to what was received; good until the next turn.
    std::string_view serve(std::span<char> received) {
        turn_.begin();
        if (!turn_.spare) turn_.spare = service_.acquire(worker_);
        turn_.input = received;
        http::step s = machine_.resume(turn_);
        if (s.next == http::action::read) s = machine_.on_input(turn_, machine_.input_area(turn_).size());
        while (s.next == http::action::route || s.next == http::action::handle) {
            auto& x = static_cast<net::exchange&>(*machine_.current());
            if (s.next == http::action::route)
                s = machine_.on_decision(turn_, service_.route(worker_, x));
            else
                s = service_.handle(worker_, x) ? machine_.on_answer(turn_) : machine_.on_suspended(turn_);
        }
        const std::string_view answers = machine_.output(turn_)[1];
        machine_.on_sent(turn_, answers.size());
        benchmark::DoNotOptimize(machine_.deadline_ms(settings_.limits));
        return s.next == http::action::read ? answers : "";
    }

private:
    fastserve::options settings_;
    route_table routes_;
    application app_{settings_, routes_};
    net::service& service_ = app_;
    net::connection_pool connections_;
    fastserve::pool::buffer_pool buffers_;
    net::load_board board_{1};
    net::gate gate_{settings_.limits};
    boost::asio::io_context loop_{1};
    net::worker worker_{
        {settings_.limits, app_, connections_, buffers_, nullptr, board_, gate_, "fastserve"}, 0, loop_};
    std::vector<char> output_ = std::vector<char>(256 * 1024);
    http::response_templates templates_;
    http::turn turn_{settings_.limits, worker_.buffers(), templates_, {}, output_};
    http::machine machine_;
};

} // namespace turn_site
