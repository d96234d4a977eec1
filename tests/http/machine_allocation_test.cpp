// A warm keep-alive request allocates nothing on its way through the machine, whatever becomes of it.
#include "../support/counted_new.hpp"

#include <fastserve/http/machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace {

using namespace fastserve;
using namespace fastserve::http;
using fastserve::test::allocations;

class warm_machine : public testing::Test {
protected:
    warm_machine()
        : opened_(pool_.open({})), cache_(pool_),
          x_(bounds_), t_{.limits = bounds_, .buffers = cache_, .templates = templates_} {
        EXPECT_FALSE(opened_);
        t_.input = {input_, sizeof input_ - parse_padding};
        t_.output = output_;
        t_.spare = &x_;
        m_.start(0);
    }
    ~warm_machine() override { m_.abandon(); }

    // Receives `bytes` in two pieces; the socket takes all but the last byte at first. Returns the bytes sent.
    std::size_t serve(std::string_view bytes, std::size_t split) {
        std::size_t sent = 0;
        for (std::string_view left = bytes; !left.empty();) {
            t_.begin();
            const std::span<char> area = m_.input_area(t_);
            const std::size_t until =
                left.size() > bytes.size() - split ? left.size() - (bytes.size() - split) : left.size();
            const std::size_t n = std::min(until, area.size());
            std::memcpy(area.data(), left.data(), n);
            left.remove_prefix(n);
            step s = m_.on_input(t_, n);
            while (s.next != action::read) {
                switch (s.next) {
                case action::route:
                    s = m_.on_decision(t_, {.plain = plain, .body_bytes = 1'000});
                    break;
                case action::handle:
                    m_.current()->response.content_type("text/plain");
                    m_.current()->response.body("hello world");
                    s = suspends ? m_.on_suspended(t_) : m_.on_answer(t_);
                    break;
                case action::wait:
                    sent += send(0);
                    t_.begin();
                    s = m_.on_answer(t_);
                    break;
                default:
                    ADD_FAILURE() << static_cast<int>(s.next);
                    return 0;
                }
            }
            sent += send(partial);
            sent += send(0);
        }
        return sent;
    }

    std::size_t send(std::size_t less) {
        std::size_t total = 0;
        for (const std::string_view p : m_.output(t_)) total += p.size();
        total -= std::min(less, total);
        EXPECT_TRUE(m_.on_sent(t_, total));
        return total;
    }

    void expect_none(std::string_view request) {
        std::size_t before = 0;
        std::size_t answer_bytes = 0;
        for (std::size_t round = 0; round != 1'000; ++round) {
            if (round == 300) before = allocations;
            const std::size_t sent = serve(request, round % request.size());
            if (round == 0) answer_bytes = sent;
            ASSERT_EQ(sent, answer_bytes);
            ASSERT_TRUE(m_.idle());
        }
        EXPECT_GT(answer_bytes, 100U);
        EXPECT_EQ(allocations, before);
        EXPECT_EQ(pool_.stats().in_use, 0U);
    }

    bool plain = true;
    bool suspends = false;
    std::size_t partial = 0;

private:
    limits bounds_;
    pool::buffer_pool pool_;
    std::error_code opened_;
    pool::buffer_cache cache_;
    response_templates templates_;
    exchange x_;
    turn t_;
    machine m_;
    char input_[4096 + parse_padding];
    char output_[64 * 1024];
};

constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
constexpr std::string_view with_body = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12345";
constexpr std::string_view with_chunks =
    "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n";

TEST_F(warm_machine, plain) {
    expect_none(request);
}
TEST_F(warm_machine, pipelined) {
    expect_none(std::string(request) + std::string(request) + std::string(request));
}
TEST_F(warm_machine, with_body) {
    expect_none(with_body);
}
TEST_F(warm_machine, with_chunks) {
    expect_none(std::string(with_chunks) + std::string(request));
}
TEST_F(warm_machine, partly_sent) {
    partial = 1;
    expect_none(request);
}
TEST_F(warm_machine, owned) {
    plain = false;
    expect_none(std::string(with_body) + std::string(request));
}
TEST_F(warm_machine, suspended) {
    plain = false;
    suspends = true;
    expect_none(std::string(with_chunks) + std::string(with_body) + std::string(request));
}

} // namespace
