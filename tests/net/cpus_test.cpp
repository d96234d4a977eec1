#include <fastserve/net/cpus.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include <sched.h>
#include <stdlib.h>

namespace {

using namespace fastserve::net;
namespace fs = std::filesystem;

// A root directory with the files of a test in it.
class tree {
public:
    tree() {
        std::string name = (fs::temp_directory_path() / "fastserve-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
    }
    ~tree() { fs::remove_all(root_); }
    tree& with(const char* path, std::string_view text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << '\n';
        return *this;
    }
    std::optional<double> quota() const { return cpu_quota(root_); }

private:
    fs::path root_;
};

TEST(cpu_quota, v2) {
    EXPECT_EQ(tree().quota(), std::nullopt);
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/").quota(), std::nullopt);
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/").with("sys/fs/cgroup/cpu.max", "max 100000").quota(),
              std::nullopt);
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/").with("sys/fs/cgroup/cpu.max", "150000 100000").quota(), 1.5);
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/a/b").with("sys/fs/cgroup/a/b/cpu.max", "50000 100000").quota(),
              0.5);
}

TEST(cpu_quota, the_smallest_up_the_tree_counts) {
    tree t;
    t.with("proc/self/cgroup", "0::/kubepods/pod7/web")
        .with("sys/fs/cgroup/kubepods/cpu.max", "800000 100000")
        .with("sys/fs/cgroup/kubepods/pod7/cpu.max", "200000 100000")
        .with("sys/fs/cgroup/kubepods/pod7/web/cpu.max", "max 100000")
        .with("sys/fs/cgroup/other/cpu.max", "10000 100000");
    EXPECT_EQ(t.quota(), 2.0);
    EXPECT_EQ(t.with("sys/fs/cgroup/kubepods/pod7/web/cpu.max", "100000 100000").quota(), 1.0);
    EXPECT_EQ(t.with("sys/fs/cgroup/kubepods/cpu.max", "30000 100000").quota(), 0.3);
}

TEST(cpu_quota, a_container_sees_its_group_at_the_mount) {
    // The path is the host's, the mount begins at the container.
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/docker/abc").with("sys/fs/cgroup/cpu.max", "300000 100000").quota(),
              3.0);
    EXPECT_EQ(tree().with("proc/self/cgroup", "0::/../../x").with("sys/fs/cgroup/cpu.max", "300000 100000").quota(),
              3.0);
}

TEST(cpu_quota, v1) {
    tree t;
    t.with("proc/self/cgroup", "5:memory:/m\n4:cpuset:/s\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/x");
    EXPECT_EQ(t.quota(), std::nullopt);
    t.with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1").with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(t.quota(), std::nullopt);
    t.with("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "250000")
        .with("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000");
    EXPECT_EQ(t.quota(), 2.5);
    t.with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "120000");
    EXPECT_EQ(t.quota(), 1.2);
    t.with("sys/fs/cgroup/cpuset/s/cpu.cfs_quota_us", "1").with("sys/fs/cgroup/cpuset/s/cpu.cfs_period_us", "100000");
    EXPECT_EQ(t.quota(), 1.2) << "cpuset is another controller";
}

TEST(cpu_quota, both_versions_at_once) {
    tree t;
    t.with("proc/self/cgroup", "1:cpu:/\n0::/x")
        .with("sys/fs/cgroup/unified/x/cpu.max", "400000 100000")
        .with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000")
        .with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(t.quota(), 4.0);
}

TEST(cpu_quota, nonsense_limits_nothing) {
    for (const char* text : {"", "100000", "x y", "-5 100000", "100000 0", "nan 100000", "100000 100000x"})
        EXPECT_EQ(tree().with("proc/self/cgroup", "0::/").with("sys/fs/cgroup/cpu.max", text).quota(), std::nullopt)
            << text;
    EXPECT_EQ(tree().with("proc/self/cgroup", "nonsense\n0:\n\n:").quota(), std::nullopt);
}

TEST(auto_workers, is_the_smaller_of_mask_and_quota_rounded_up) {
    EXPECT_EQ(auto_workers(8, std::nullopt), 8u);
    EXPECT_EQ(auto_workers(8, 2.0), 2u);
    EXPECT_EQ(auto_workers(8, 2.1), 3u);
    EXPECT_EQ(auto_workers(8, 0.2), 1u);
    EXPECT_EQ(auto_workers(2, 64.0), 2u);
    EXPECT_EQ(auto_workers(1, 1e30), 1u);
    EXPECT_EQ(auto_workers(0, std::nullopt), 1u);
}

TEST(should_pin, only_if_the_whole_mask_is_ours) {
    EXPECT_TRUE(should_pin(pin::automatic, 4, 4, std::nullopt));
    EXPECT_TRUE(should_pin(pin::automatic, 8, 4, std::nullopt));
    EXPECT_FALSE(should_pin(pin::automatic, 3, 4, std::nullopt));
    EXPECT_FALSE(should_pin(pin::automatic, 4, 4, 4.0));
    EXPECT_TRUE(should_pin(pin::on, 1, 4, 0.5));
    EXPECT_FALSE(should_pin(pin::off, 4, 4, std::nullopt));
}

TEST(cpu_of_worker, wraps) {
    const std::vector<int> mask{2, 5, 64};
    EXPECT_EQ(cpu_of_worker(mask, 0), 2);
    EXPECT_EQ(cpu_of_worker(mask, 2), 64);
    EXPECT_EQ(cpu_of_worker(mask, 4), 5);
}

TEST(pinning, a_pinned_thread_has_one_cpu) {
    const std::vector<int> mine = affinity_cpus();
    ASSERT_FALSE(mine.empty());
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    std::thread([&] {
        for (const int cpu : mine) {
            EXPECT_FALSE(pin_this_thread(cpu));
            EXPECT_EQ(affinity_cpus(), std::vector<int>{cpu});
            EXPECT_EQ(::sched_getcpu(), cpu);
        }
        EXPECT_FALSE(pin_this_thread(mine));
        EXPECT_EQ(affinity_cpus(), mine);
        for (const int cpu : {-1, 60'000, 1 << 20}) EXPECT_EQ(pin_this_thread(cpu), std::errc::invalid_argument) << cpu;
        EXPECT_EQ(affinity_cpus(), mine) << "a failure changes nothing";
    }).join();
    EXPECT_EQ(affinity_cpus(), mine);
}

} // namespace
