// Memory that is refused is a result, at every place where it is asked for; a warm context asks for none. A binary of
// its own, for it replaces malloc.
#include "coding_site.hpp"

#include <cerrno>

extern "C" {
void* __libc_malloc(std::size_t size);                    // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t count, std::size_t size); // NOLINT(bugprone-reserved-identifier)
}

namespace {

constexpr std::size_t never = ~std::size_t{0};
std::size_t asked = 0;
std::size_t refuse_at = never;
bool watching = false;

bool refused() {
    if (!watching || asked++ != refuse_at) return false;
    errno = ENOMEM;
    return true;
}

} // namespace

extern "C" {
void* malloc(std::size_t size) {
    return refused() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    return refused() ? nullptr : __libc_calloc(count, size);
}
}

namespace {

using namespace coding_test;

// Runs `deed`, which returns an errc, and refuses one request for memory.
template <class Deed>
errc run(std::size_t refusing, Deed deed) {
    asked = 0;
    refuse_at = refusing;
    watching = true;
    const errc result = deed();
    watching = false;
    return result;
}

TEST(coding_memory, refused_at_every_place) {
    const std::string body = words(600'000);
    for (const content_coding c : codings()) {
        SCOPED_TRACE(to_string(c));
        const std::string coded = encoded(c, body);
        std::size_t refusals = 0;
        for (std::size_t at = 0;; ++at) {
            ASSERT_LT(at, 1'000u);
            context_cache cache;
            std::string wire;
            const errc result = run(at, [&] { return encode_whole(cache, c, body, wire); });
            const bool over = asked <= at;
            ASSERT_EQ(result, over ? errc::ok : errc::no_memory) << at;
            ASSERT_EQ(wire, over ? coded : "") << at;
            // The next one works, with whatever is left of the context.
            wire.clear();
            ASSERT_EQ(encode_whole(cache, c, body, wire), errc::ok) << at;
            ASSERT_EQ(wire, coded) << at;
            if (over) break;
            ++refusals;
        }
        EXPECT_GE(refusals, 5u);
        refusals = 0;
        for (std::size_t at = 0;; ++at) {
            ASSERT_LT(at, 1'000u);
            context_cache cache;
            std::string back;
            const errc result = run(at, [&] { return decode_whole(cache, c, coded, back); });
            const bool over = asked <= at;
            ASSERT_EQ(result, over ? errc::ok : errc::no_memory) << at;
            ASSERT_TRUE(back == (over ? body : "")) << at;
            back.clear();
            ASSERT_EQ(decode_whole(cache, c, coded, back), errc::ok) << at;
            ASSERT_TRUE(back == body) << at;
            if (over) break;
            ++refusals;
        }
        EXPECT_GE(refusals, 4u);
    }
}

TEST(coding_memory, a_warm_context_asks_for_none) {
    const std::string body = words(100'000);
    std::string wire(body.size(), '\0'), back(body.size() + 1, '\0');
    for (const content_coding c : codings()) {
        context_cache cache;
        for (int round = 0; round != 4; ++round) {
            std::size_t size = 0;
            const errc coding_error = run(never, [&] {
                encoder coder;
                if (const errc failed = coder.open(cache, c); failed != errc::ok) return failed;
                const progress p = coder.encode(body, wire, operation::finish);
                size = p.produced;
                return p.error;
            });
            ASSERT_EQ(coding_error, errc::ok);
            EXPECT_EQ(asked != 0, round == 0) << to_string(c) << " encodes, round " << round << ", asked " << asked;
            const errc decoding_error = run(never, [&] {
                decoder coder;
                if (const errc failed = coder.open(cache, c); failed != errc::ok) return failed;
                const progress p = coder.decode(std::string_view(wire).substr(0, size), back, true);
                return p.state == status::done ? errc::ok : p.error == errc::ok ? errc::misuse : p.error;
            });
            ASSERT_EQ(decoding_error, errc::ok);
            EXPECT_EQ(asked != 0, round == 0) << to_string(c) << " decodes, round " << round << ", asked " << asked;
            EXPECT_EQ(std::string_view(back).substr(0, body.size()), body);
        }
    }
}

} // namespace
