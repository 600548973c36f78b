#pragma once
// Ctrl-C and SIGTERM ask for an end; the work looks at the flag and leaves a checkpoint or nothing.
#include <atomic>

namespace gibbsite::cli {

std::atomic<bool>& stop_flag();
/// From here on SIGINT and SIGTERM set the flag; a second one ends the program at once.
void catch_interrupts();
/// Throws Interrupted when the flag is set.
void stop_if_asked();

}  // namespace gibbsite::cli
