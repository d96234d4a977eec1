// A warm response allocates nothing, whatever it is used for, and no answer is written with an allocation.
#include "../support/counted_new.hpp"

#include <fastserve/http/chunked.hpp>
#include <fastserve/http/serializer.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

using namespace fastserve::http;
using fastserve::test::allocations;

class warm_response : public testing::Test {
protected:
    void answer(int round) {
        r.reset();
        r.status(round % 3 == 0 ? 404 : 200);
        r.content_type("application/json");
        r.set("Cache-Control", "no-store");
        r.add("Set-Cookie", "a=1");
        r.add("Set-Cookie", {digits, 1 + static_cast<std::size_t>(round) % 9});
        r.set("cache-control", "max-age=60");
        r.remove("Set-Cookie");
        if (round % 2 == 0)
            r.body(std::string_view(body, static_cast<std::size_t>(round) % sizeof body));
        else
            r.body_buffer().append(body, 10);
        const answer_plan plan = plan_answer(r, {.keep_alive = round % 5 != 0});
        char* const end = write_head(out, r, plan, templates);
        std::memcpy(end, r.body_view().data(), r.body_view().size());
    }

    static constexpr char digits[] = "a=2345678";
    char body[3000] = {};
    response r;
    response_templates templates;
    char out[8192];
};

TEST_F(warm_response, allocates_nothing) {
    for (int round = 0; round < 3000; ++round) answer(round);
    const std::size_t before = allocations;
    EXPECT_GT(before, 0U) << "the count counts";
    for (int round = 0; round < 3000; ++round) {
        templates.refresh(round);
        answer(round);
    }
    EXPECT_EQ(allocations, before);
}

TEST_F(warm_response, shares_a_body_without_a_copy) {
    const auto shared = std::make_shared<const std::string>(100'000, 's');
    answer(0);
    const std::size_t before = allocations;
    for (int round = 0; round < 100; ++round) {
        r.reset();
        r.body(shared);
        write_head(out, r, plan_answer(r, {}), templates);
        ASSERT_EQ(r.body_view().data(), shared->data());
    }
    EXPECT_EQ(allocations, before);
}

TEST_F(warm_response, neither_do_errors_interims_and_chunks) {
    field_block fields;
    fields.add("Link", "x");
    const std::size_t before = allocations;
    for (int round = 0; round < 100; ++round) {
        fields.clear();
        fields.add("Link", "</style.css>; rel=preload; as=style");
        char* at = write_interim(out, 103, fields);
        at += write_error(at, 1024, 503, {}, templates, {"Retry-After", "1"});
        at = write_chunk_head(at, 5);
        std::memcpy(at, "hello\r\n", 7);
        char* const body_begin = at - 3;
        at = write_last_chunk(at + 7, fields);
        chunked_decoder decoder;
        const auto result = decoder.decode(body_begin, static_cast<std::size_t>(at - body_begin));
        ASSERT_EQ(result.status, decode_status::done);
        ASSERT_EQ(result.produced, 5U);
    }
    EXPECT_EQ(allocations, before);
}

} // namespace
