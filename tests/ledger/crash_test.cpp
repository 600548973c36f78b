// Kill -9 at every system call of a release: what it wrote is in the ledger, whatever was killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/ledger/ledger.hpp"
#include "support/repeats.hpp"
#include "support/temp_dir.hpp"

namespace gibbsite {
namespace crash_test {

// As fit does it: enter, then write.
[[noreturn]] void release_and_exit(const Ledger& ledger, const std::string& out) {
  try {
    static_cast<void>(ledger.enter({"fit path", {.mu = 0.01, .tv = 1e-15}, "key", "digest"}));
    write_file_atomically(out, "the release");
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

enum class End { killed, done, failed, untraceable };

/// Runs a release in a process of its own and kills it when it stops for the `calls`-th time, at
/// the entry to a system call or at its return.
End run_for(const Ledger& ledger, const std::string& out, int calls) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    release_and_exit(ledger, out);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
    return End::untraceable;
  }
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
  for (int stop = 0;; ++stop) {
    if (stop == calls) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return End::killed;
    }
    if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return End::untraceable;
    if (waitpid(child, &status, 0) != child) return End::untraceable;
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? End::done : End::failed;
  }
}

TEST(LedgerCrash, KilledAtEverySystemCallItLosesBudgetAtMost) {
  const int stride = static_cast<int>(support::repeats(1, 7));
  int killed = 0, lost = 0, entered_and_written = 0, nothing = 0;
  for (int calls = 1;; calls += stride) {
    const testing::TempDir folder;
    const LedgerOptions options{std::chrono::seconds(10), folder.path("memory")};
    const Ledger ledger = Ledger::create(folder.path("l"), 1, 1e-6, {}, {}, options);
    const std::string out = folder.path("model.json");
    const End end = run_for(ledger, out, calls);
    if (end == End::untraceable) GTEST_SKIP() << "no process may be traced here";
    ASSERT_NE(end, End::failed) << calls;
    // What the next program finds.
    const LedgerState state = ledger.read();
    const bool written = std::filesystem::exists(out), entered = !state.entries.empty();
    ASSERT_LE(state.entries.size(), 1U);
    ASSERT_TRUE(entered || !written) << "a release that nobody paid for, killed at " << calls;
    if (written) {
      ASSERT_EQ(folder.read("model.json"), "the release");
    }
    // It goes on, the dead one's key is spent, and no journal is left.
    EXPECT_EQ(ledger.enter({"fit path", {.mu = 0.01}, "key 2", "digest 2"}), entered ? 2U : 1U);
    EXPECT_FALSE(std::filesystem::exists(folder.path("l-journal")));
    if (end == End::done) break;
    ++killed;
    ++(written ? entered_and_written : entered ? lost : nothing);
  }
  // The kills fell before the commit, between it and the output, and after.
  EXPECT_GT(nothing, 5);
  EXPECT_GT(lost, 1);
  EXPECT_GT(killed, 20);
  RecordProperty("kills", killed);
}

}  // namespace crash_test
}  // namespace gibbsite
