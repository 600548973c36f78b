#include "interrupt.hpp"

#include <signal.h>

#include "gibbsite/core/error.hpp"

namespace gibbsite::cli {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // so a handler may set it

void request_stop(int /*signal*/) { stop.store(true); }

}  // namespace

std::atomic<bool>& stop_flag() { return stop; }

void stop_if_asked() {
  if (stop) throw Interrupted("interrupted; nothing was written");
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace gibbsite::cli
