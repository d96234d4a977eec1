#include <fastserve/pool/tagged_index.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace fastserve::pool {
namespace {

static_assert(std::is_trivially_copyable_v<tagged_index>);
static_assert(sizeof(basic_tagged_index<1>) == 8);
static_assert(tagged_index{}.is_null());
static_assert(tagged_index{7, 9}.index() == 7 && tagged_index{7, 9}.tag() == 9);

TEST(TaggedIndex, KeepsBothPartsAtTheirExtremes) {
    constexpr std::uint64_t last_tag = (std::uint64_t{1} << 40) - 1;
    constexpr tagged_index low{0, last_tag}, high{null_index - 1, 0};
    EXPECT_EQ(low.index(), 0u);
    EXPECT_EQ(low.tag(), last_tag);
    EXPECT_EQ(high.index(), null_index - 1);
    EXPECT_EQ(high.tag(), 0u);
    EXPECT_FALSE(low.is_null());
    EXPECT_FALSE(high.is_null());
}

TEST(TaggedIndex, WordRoundTrips) {
    const tagged_index there{0xABCDEF, 0x123456789A};
    EXPECT_EQ(tagged_index::from_word(there.to_word()), there);
    EXPECT_EQ(there.to_word(), 0x123456789AABCDEFu);
}

TEST(TaggedIndex, RemovalAdvancesTheTagAndPushKeepsIt) {
    const tagged_index head{3, 41};
    EXPECT_EQ(head.advanced_to(4), (tagged_index{4, 42}));
    EXPECT_EQ(head.with_index(4), (tagged_index{4, 41}));
}

TEST(TaggedIndex, TagWrapsWithoutTouchingTheIndex) {
    EXPECT_EQ((tagged_index{5, tagged_index::tag_mask}.advanced_to(5)), (tagged_index{5, 0}));
    using narrow = basic_tagged_index<1>;
    EXPECT_EQ((narrow{5, 0}.advanced_to(6).advanced_to(5)), (narrow{5, 0}));
    // from_word drops what lies beyond the tag.
    EXPECT_EQ(narrow::from_word(~std::uint64_t{0}).tag(), 1u);
}

} // namespace
} // namespace fastserve::pool
