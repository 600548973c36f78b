#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "text.hpp"

namespace gibbsite::cli {

Progress::Progress(std::string label, bool quiet, double seconds_between_lines)
    : label_(std::move(label)),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      interval_(terminal_ ? 0.1 : seconds_between_lines) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  const auto now = Clock::now();
  const auto since = [&](Clock::time_point t) {
    return std::chrono::duration<double>(now - t).count();
  };
  if (quiet_ || total == 0 || done == 0 || since(last_) < interval_) return;
  last_ = now;
  drawn_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string left =
      done >= total ? "" : ", " + human_time(since(start_) * (1 - share) / share) + " left";
  const double percent = done >= total ? 100 : std::min(99.0, std::floor(100 * share));
  if (terminal_) {
    const auto filled = static_cast<std::size_t>(30 * share);
    std::string bar;
    for (std::size_t i = 0; i < 30; ++i) bar += i < filled ? "█" : "░";
    fmt::print(stderr, "\r{} {} {:3.0f} %{}\x1b[K", label_, bar, percent, left);
  } else {
    fmt::print(stderr, "{}: {:.0f} %{}\n", label_, percent, left);
  }
  std::fflush(stderr);
}

}  // namespace gibbsite::cli
