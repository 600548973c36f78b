#pragma once
// Ranks that do not come. MPI begins when all programs of a job have begun it: one that ends
// before, or is another program, would keep the others waiting for ever.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace gibbsite::mpi {

/// While it lives the ranks are about to meet; ends this process, and with it the job, where that
/// takes longer than GIBBSITE_MEETING_SECONDS.
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
  static constexpr int usual_seconds = 60, failed = 3;  // Status::backend_unavailable

  static int number(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);        // NOLINT: nothing sets one meanwhile
    return text != nullptr ? std::atoi(text) : otherwise;  // NOLINT: 0 where it is none
  }

  void watch() {
    const int most = std::max(1, number("GIBBSITE_MEETING_SECONDS", usual_seconds));
    const int rank = number("PMIX_RANK", number("PMI_RANK", 0));
    // The launcher ends the others where one fails: so the first that waits speaks alone.
    const std::chrono::seconds patience(most + std::clamp(rank, 0, 4));
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return met_; })) return;
    ::dprintf(
        STDERR_FILENO,
        "gibbsite: ranks: not all have met within %d s: one has ended, or is another program; "
        "start the same gibbsite on all ranks\n",
        most);
    std::_Exit(failed);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool met_ = false;
  std::thread thread_;
};

}  // namespace gibbsite::mpi
