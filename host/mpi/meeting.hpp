#pragma once
// Ranks that do not come. MPI begins when all programs of a job have begun it: one that ends
// before, or is another program, would keep the others waiting for ever.
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>

namespace gibbsite::mpi {

/// While it lives the ranks are about to meet; ends this process, and with it the job, where one is
/// missing.
class Meeting {
 public:
  Meeting() : thread_([this] { watch(); }) {}
  ~Meeting() {
    {
      const std::lock_guard lock(mutex_);
      met_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  // Seconds: a rank that has ended is told from one that was not started yet; another program may
  // be a script that is about to start this one; other machines may be slow.
  static constexpr int ended_after = 4, other_after = 7, most = 60, turn_of_others = 2,
                       turn_of_launcher = 5;
  static constexpr int failed = 3;  // Status::backend_unavailable

  // What of a rank runs on this machine.
  struct Seen {
    bool same_program = false;
    std::string other;  // the name of another program
  };

  static std::string variable(const char* name) {
    const char* const text = std::getenv(name);  // NOLINT: nothing sets one meanwhile
    return text != nullptr ? text : "";
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A variable of an environment, "NAME=value" with zeros between.
  static std::string value_in(const std::string& environment, const std::string& name) {
    const std::string wanted = '\0' + name + "=";
    const std::string all = '\0' + environment;
    const std::size_t at = all.find(wanted);
    return at == std::string::npos ? "" : std::string(all.c_str() + at + wanted.size());
  }

  /// Whether the launcher's process is above this one: else siblings are not to be seen either, in
  /// a container of each.
  static bool launcher_is_seen() {
    int pid = ::getppid();
    for (int generation = 0; pid > 0 && generation < 16; ++generation) {
      const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
      const std::size_t open = stat.find('('), close = stat.rfind(')');
      if (open == std::string::npos || close == std::string::npos) return false;
      const std::string name = stat.substr(open + 1, close - open - 1);
      for (const char* const known : {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"})
        if (name == known) return true;
      pid =
          close + 4 < stat.size() ? std::atoi(stat.c_str() + close + 4) : 0;  // NOLINT: "(x) S 12"
    }
    return false;
  }

  static std::map<int, Seen> seen_here(const std::string& job) {
    namespace fs = std::filesystem;
    std::map<int, Seen> out;
    std::error_code gone;
    const fs::path program = fs::read_symlink("/proc/self/exe", gone);
    for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
      const std::string name = at->path().filename().string();
      if (std::isdigit(static_cast<unsigned char>(name[0])) == 0) continue;
      const std::string environment = text_of(at->path() / "environ");  // none of one that ended
      if (value_in(environment, "PMIX_NAMESPACE") != job) continue;
      const std::string rank = value_in(environment, "PMIX_RANK");
      if (rank.empty()) continue;
      std::error_code hidden;
      const fs::path its = fs::read_symlink(at->path() / "exe", hidden);
      Seen& seen = out[std::atoi(rank.c_str())];  // NOLINT: a launcher's number
      if (its == program) {
        seen.same_program = true;
      } else {
        seen.other = its.filename().string();
      }
    }
    return out;
  }

  /// Who is missing, for how long; "" where nobody is, or it cannot be told. `later`: seconds that
  /// are another's, to say so.
  std::string missing(int seconds, int& later) {
    later = 0;
    const std::string job = variable("PMIX_NAMESPACE"), mine = variable("PMIX_RANK");
    const int size = std::atoi(variable("OMPI_COMM_WORLD_SIZE").c_str()),  // NOLINT
        here = std::atoi(variable("OMPI_COMM_WORLD_LOCAL_SIZE").c_str());  // NOLINT
    if (job.empty() || mine.empty() || here < 2 || !launcher_is_seen()) return "";
    const std::map<int, Seen> seen = seen_here(job);
    // One line: of the first rank that waits here.
    for (const auto& [rank, what] : seen) {
      if (!what.same_program) continue;
      if (std::to_string(rank) != mine) later = turn_of_others;
      break;
    }
    // One that was here has said why it ended, and its launcher is ending the others.
    for (const int rank : were_here_)
      if (!seen.contains(rank)) later = turn_of_launcher;
    for (const auto& [rank, what] : seen)
      if (what.same_program) were_here_.insert(rank);
    if (static_cast<int>(seen.size()) < here) {
      int first = 0;
      while (here == size && seen.contains(first)) ++first;
      return (here == size ? "rank " + std::to_string(first) + ":" : "a rank of this machine") +
             " has ended before it met the others; start the same gibbsite on all ranks";
    }
    for (const auto& [rank, what] : seen)
      if (!what.same_program && seconds >= other_after)
        return "rank " + std::to_string(rank) + ": is '" + what.other +
               "', which has not met the others for " + std::to_string(other_after) +
               " s; start the same gibbsite on all ranks";
    return "";
  }

  void watch() {
    std::unique_lock lock(mutex_);
    std::string before;
    for (int seconds = 1, times = 0;; ++seconds) {
      if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return met_; })) return;
      int later = 0;
      const std::string what = missing(seconds, later);
      if (seconds < ended_after) continue;
      // Twice, as a process may be about to become another; anew where it is another matter, as
      // when this rank's launcher ends the job.
      times = what.empty() ? 0 : what == before ? times + 1 : 1;
      before = what;
      if (times >= 2 + later) end(what);
      if (seconds >= most + later)
        end("ranks: not all have met within " + std::to_string(most) + " s; start the job again");
    }
  }

  [[noreturn]] static void end(const std::string& what) {
    ::dprintf(STDERR_FILENO, "gibbsite: %s\n", what.c_str());
    std::_Exit(failed);  // launchers end all where one fails
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  std::set<int> were_here_;  // ranks that ran this program on this machine
  std::thread thread_;
};

}  // namespace gibbsite::mpi
