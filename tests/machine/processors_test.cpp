// Quotas of control groups, from made-up /proc and /sys folders of both versions.
#include "machine/processors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "support/temp_dir.hpp"

namespace gibbsite {
namespace processors_test {

namespace fs = std::filesystem;

class Quota : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_.path(name)).parent_path());
    folder_.write(name, text);
  }
  [[nodiscard]] std::string mount(const std::string& root, const std::string& at,
                                  const std::string& type, const std::string& options) const {
    return "30 23 0:26 " + root + " " + folder_.path(at) + " rw,nosuid shared:4 - " + type + " " +
           type + " " + options + "\n";
  }
  [[nodiscard]] double read() const { return quota(folder_.path("proc")); }

  testing::TempDir folder_;
};

TEST_F(Quota, WithoutGroupsThereIsNone) {
  EXPECT_EQ(read(), INFINITY);
  write("proc/cgroup", "0::/\n");
  write("proc/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\nhalf a line\n");
  EXPECT_EQ(read(), INFINITY);
}

TEST_F(Quota, VersionTwoTakesTheLeastOfAGroupAndThoseAbove) {
  write("proc/cgroup", "0::/a/b\n");
  write("proc/mountinfo", mount("/", "sys", "cgroup2", "rw"));
  write("sys/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(read(), INFINITY);
  write("sys/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(read(), 1.5);
  write("sys/a/b/cpu.max", "25000 50000\n");
  EXPECT_EQ(read(), 0.5);
  write("sys/a/other/cpu.max", "1000 50000\n");
  EXPECT_EQ(read(), 0.5);
  write("sys/a/b/cpu.max", "nonsense");
  EXPECT_EQ(read(), 1.5);
}

TEST_F(Quota, VersionTwoInAContainer) {
  write("proc/cgroup", "0::/\n");
  write("proc/mountinfo", mount("/", "sys", "cgroup2", "rw"));
  write("sys/cpu.max", "200000 100000\n");
  EXPECT_EQ(read(), 2);
}

TEST_F(Quota, VersionOne) {
  write("proc/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/1\n0::/\n");
  write("proc/mountinfo", mount("/", "memory", "cgroup", "rw,memory") +
                              mount("/docker/1", "cpu", "cgroup", "rw,cpu,cpuacct"));
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read(), INFINITY);
  write("cpu/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(read(), 0.5);
  // Seen from above, where the group's own folder is.
  write("proc/mountinfo", mount("/", "all", "cgroup", "rw,cpu"));
  EXPECT_EQ(read(), INFINITY);
  write("all/docker/1/cpu.cfs_quota_us", "150000\n");
  write("all/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read(), 1.5);
}

TEST_F(Quota, ThreadsAreAsManyAsMayRun) {
  EXPECT_GE(allowed_processors(), 1);
  ::unsetenv("OMP_NUM_THREADS");
  const int all = usable_processors();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, allowed_processors());
  EXPECT_LE(all, std::max(1.0, std::ceil(quota())));
  for (const auto& [wanted, expected] :
       {std::pair{"1", 1}, {"1,8", 1}, {"100000", all}, {"0", all}, {"-3", all}, {"many", all}}) {
    ::setenv("OMP_NUM_THREADS", wanted, 1);
    EXPECT_EQ(usable_processors(), expected) << wanted;
  }
  ::unsetenv("OMP_NUM_THREADS");
}

}  // namespace processors_test
}  // namespace gibbsite
