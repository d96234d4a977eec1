// Files that have their name only when they are complete: without a name until then, and with one of their own.
#include "../../server/app/src/new_file.hpp"

#include "folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

namespace fastserve::test {
namespace {

using detail::new_file;

struct NewFile : testing::TestWithParam<bool> {
    // One with that content, and not published.
    void fill(new_file& f, std::string_view content) {
        ASSERT_FALSE(f.is_open());
        ASSERT_FALSE(f.open(in.path()));
        ASSERT_TRUE(f.is_open());
        ASSERT_FALSE(f.write(content));
    }
    folder in;
};

TEST_P(NewFile, AppearsWhole) {
    {
        new_file f(GetParam());
        fill(f, "begun, ");
        EXPECT_FALSE(f.write("")) << "nothing is no error";
        EXPECT_FALSE(f.write("ended"));
        for (const std::string& name : in.names()) EXPECT_TRUE(name.starts_with(".fastserve-")) << name;
        EXPECT_EQ(in.names().empty(), GetParam());
        EXPECT_FALSE(f.publish("a.txt"));
        EXPECT_FALSE(f.is_open());
    }
    EXPECT_EQ(in.names(), std::vector<std::string>{"a.txt"});
    EXPECT_EQ(in.read("a.txt"), "begun, ended");
    struct stat s {};
    ASSERT_EQ(::stat(in.at("a.txt").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777U, 0600U);
    EXPECT_EQ(s.st_nlink, 1U);
}

TEST_P(NewFile, LeavesNothingUnlessPublished) {
    const auto before = open_descriptors();
    {
        const new_file never;
        new_file f(GetParam()), taken(GetParam());
        fill(f, "x");
        in.write("taken", "old");
        fill(taken, "new");
        EXPECT_EQ(taken.publish("taken"), std::errc::file_exists);
        EXPECT_EQ(taken.publish("no/where"), std::errc::no_such_file_or_directory);
        EXPECT_TRUE(taken.is_open()) << "it may be tried again";
    }
    EXPECT_EQ(in.names(), std::vector<std::string>{"taken"});
    EXPECT_EQ(in.read("taken"), "old");
    EXPECT_EQ(open_descriptors(), before);
}

TEST_P(NewFile, FindsAnotherNameWhereOneIsTaken) {
    const struct {
        std::string name, stem, extension;
    } cases[] = {{"a.tar.gz", "a.tar", ".gz"},
                 {"none", "none", ""},
                 {".hidden", ".hidden", ""},
                 {"a.an extension so long", "a.an extension so long", ""}};
    for (const auto& [name, stem, extension] : cases) {
        for (int i = 0; i != 3; ++i) {
            new_file f(GetParam());
            fill(f, std::to_string(i));
            std::string given = name;
            EXPECT_FALSE(f.publish_beside(given)) << name;
            EXPECT_EQ(in.read(given), std::to_string(i)) << given;
            EXPECT_EQ(given == name, i == 0);
            EXPECT_TRUE(i == 0 || (given.starts_with(stem + "-") && given.ends_with(extension))) << given;
        }
    }
    EXPECT_EQ(in.names().size(), 3 * std::size(cases));
}

// As long as a name can be: the stem gives way, by whole characters.
TEST_P(NewFile, CutsALongName) {
    std::string accents = "x";
    while (accents.size() < 251) accents += "\xc3\xa4";
    for (const std::string& name : {std::string(251, 'l') + ".txt", accents + ".txt"}) {
        for (int i = 0; i != 8; ++i) {
            new_file f(GetParam());
            fill(f, "x");
            std::string given = name;
            EXPECT_FALSE(f.publish_beside(given)) << name;
            EXPECT_LE(given.size(), 255U);
            EXPECT_GT(given.size(), 252U);
            EXPECT_TRUE(given.ends_with(".txt")) << given;
            if (i == 0) continue;
            const std::string stem = given.substr(0, given.find('-'));
            EXPECT_TRUE(name.starts_with(stem)) << given;
            EXPECT_TRUE(stem.back() == 'l' || stem.size() % 2 == 1) << given;
        }
    }
}

TEST_P(NewFile, FollowsNoLink) {
    const folder outside;
    outside.write("victim", "old");
    std::filesystem::create_symlink(outside.at("victim"), in.at("link"));
    std::filesystem::create_symlink(outside.at("absent"), in.at("dangling"));
    for (const std::string target : {"link", "dangling"}) {
        new_file f(GetParam());
        fill(f, "new");
        EXPECT_EQ(f.publish(target), std::errc::file_exists);
        std::string name = target;
        EXPECT_FALSE(f.publish_beside(name));
        EXPECT_NE(name, target);
    }
    EXPECT_EQ(outside.names(), std::vector<std::string>{"victim"});
    EXPECT_EQ(outside.read("victim"), "old");
}

TEST_P(NewFile, SaysWhyItCannotBe) {
    new_file nowhere(GetParam()), in_a_file(GetParam());
    EXPECT_EQ(nowhere.open(in.at("absent")), std::errc::no_such_file_or_directory);
    EXPECT_FALSE(nowhere.is_open());
    in.write("file", "");
    EXPECT_EQ(in_a_file.open(in.at("file")), std::errc::not_a_directory);
}

INSTANTIATE_TEST_SUITE_P(Unnamed, NewFile, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Named, NewFile, testing::Values(false));

} // namespace
} // namespace fastserve::test
