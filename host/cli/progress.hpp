#pragma once
// Progress on stderr: a bar with the time left on a terminal, plain lines elsewhere.
#include <chrono>
#include <cstdint>
#include <string>

namespace gibbsite::cli {

class Progress {
 public:
  /// `seconds_between_lines` when stderr is not a terminal; quiet: nothing at all.
  Progress(std::string label, bool quiet, double seconds_between_lines);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  ///< takes the bar away

  /// total = 0: unknown.
  void update(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool quiet_;
  bool terminal_;
  double interval_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace gibbsite::cli
