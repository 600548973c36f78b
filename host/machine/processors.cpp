#include "machine/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace gibbsite {
namespace {

namespace fs = std::filesystem;
constexpr double unlimited = std::numeric_limits<double>::infinity();

// "$MAX $PERIOD" in microseconds, or "max $PERIOD" (Linux, cgroup-v2.rst).
double version_2(const fs::path& group) {
  std::ifstream in(group / "cpu.max");
  double most = 0, period = 0;
  return in >> most >> period && most > 0 && period > 0 ? most / period : unlimited;
}

// -1 for no limit.
double version_1(const fs::path& group) {
  std::ifstream most_in(group / "cpu.cfs_quota_us"), period_in(group / "cpu.cfs_period_us");
  double most = 0, period = 0;
  return most_in >> most && period_in >> period && most > 0 && period > 0 ? most / period
                                                                          : unlimited;
}

bool among(const std::string& list, const std::string& wanted) {
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

// Where a hierarchy is mounted: its folder `root` at `at`.
struct Mount {
  bool version_2;
  fs::path root, at;
};

// Reads /proc/PID/mountinfo: "36 35 98:0 ROOT AT options [fields] - TYPE source super-options".
std::vector<Mount> mounts(const fs::path& process) {
  std::vector<Mount> out;
  std::ifstream in(process / "mountinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t bar = line.find(" - ");
    if (bar == std::string::npos) continue;
    std::istringstream first(line), second(line.substr(bar + 3));
    std::string word, root, at, type, source, options;
    first >> word >> word >> word >> root >> at;
    second >> type >> source >> options;
    if (type == "cgroup2") out.push_back({true, root, at});
    if (type == "cgroup" && among(options, "cpu")) out.push_back({false, root, at});
  }
  return out;
}

// The least of a group and those above it, as far as they are mounted.
double least(const Mount& mount, const fs::path& group) {
  const fs::path below = group.lexically_relative(mount.root);
  const bool seen = !below.empty() && *below.begin() != "..";
  fs::path at = mount.at;
  const auto here = [&] { return mount.version_2 ? version_2(at) : version_1(at); };
  double out = here();
  if (!seen) return out;
  for (const fs::path& part : below) {
    at /= part;
    out = std::min(out, here());
  }
  return out;
}

}  // namespace

double quota(const fs::path& process) {
  const std::vector<Mount> all = mounts(process);
  double out = unlimited;
  std::ifstream in(process / "cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::GROUP" or "4:cpu,cpuacct:GROUP"
    const std::size_t one = line.find(':'), two = line.find(':', one + 1);
    if (one == std::string::npos || two == std::string::npos) continue;
    const std::string controllers = line.substr(one + 1, two - one - 1);
    const bool second = controllers.empty();
    if (!second && !among(controllers, "cpu")) continue;
    for (const Mount& mount : all) {
      if (mount.version_2 == second) out = std::min(out, least(mount, line.substr(two + 1)));
    }
  }
  return out;
}

int allowed_processors() {
#ifdef __linux__
  // Machines of more processors than fit a cpu_set_t are refused by the call.
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

int usable_processors() {
  double most = std::min(static_cast<double>(allowed_processors()), std::ceil(quota()));
  if (const char* const wanted = std::getenv("OMP_NUM_THREADS")) {  // "4", or "4,2" by levels
    if (const int number = std::atoi(wanted); number > 0)
      most = std::min(most, static_cast<double>(number));
  }
  return std::max(static_cast<int>(most), 1);
}

int startable_threads(int wanted) {
  std::vector<std::thread> started;
  std::atomic<bool> leave = false;
  try {
    while (static_cast<int>(started.size()) + 1 < wanted) {
      started.emplace_back([&leave] { leave.wait(false); });
    }
  } catch (const std::exception&) {  // std::system_error, or memory
  }
  leave = true;
  leave.notify_all();
  for (std::thread& one : started) one.join();
  return static_cast<int>(started.size()) + 1;
}

}  // namespace gibbsite
