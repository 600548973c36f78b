// Closed and full standard streams, no threads and no memory: no command aborts, none is left half
// done, and what ends it says so in a line of ours.
#include "cli/cli.hpp"
#include "support/repeats.hpp"

namespace gibbsite::testing {
namespace streams_test {

// A sanitizer takes terabytes of addresses, so limits on them stop everything.
constexpr bool takes_terabytes = support::sanitized;

class Streams : public Cli {
 protected:
  /// A shell's command line, in which $G is the program.
  [[nodiscard]] Outcome shell(const std::string& line) const {
    return run({"/bin/sh", "-c", "G=" GIBBSITE_CLI "; " + line}, folder.path());
  }
  void SetUp() override {
    Cli::SetUp();
    ASSERT_EQ(gibbsite(fit({"--out", "model.json", "--quiet"})).status, 0);
  }
  static constexpr const char* fit_line =
      "$G fit --data table.csv --schema table.toml --epsilon 1 --delta 1e-6 --force --out ";
};

TEST_F(Streams, NoCommandAbortsWhereStderrIsClosedOrFull) {
  for (const std::string to : {"2>&-", "2>/dev/full", "2>/dev/null"}) {
    // Warns of few rows.
    EXPECT_EQ(shell(fit_line + ("m.json " + to)).status, 0) << to;
    EXPECT_EQ(shell("$G verify m.json " + to).status, 0) << to;
    EXPECT_EQ(shell("$G evaluate --model m.json --data table.csv " + to).status, 0) << to;
    EXPECT_EQ(shell("$G --version " + to).status, 0) << to;
    EXPECT_EQ(shell("$G predict --model absent.json --data table.csv " + to).status, 2) << to;
    EXPECT_EQ(shell("$G nonsense " + to).status, 2) << to;
  }
}

TEST_F(Streams, ClosedStandardOutputIsSaidInOneLine) {
  for (const std::string command :
       {"--version", "--help",
        "plan --rows 1000 --features 4 --row-norm 1 --epsilon 1 --delta 1e-6", "verify model.json",
        "predict --model model.json --data table.csv",
        "evaluate --model model.json --data table.csv"}) {
    const Outcome both = shell("$G " + command + " >&- 2>&-");
    EXPECT_EQ(both.status, 2) << command;
    const Outcome out = shell("$G " + command + " >&-");
    EXPECT_EQ(out.status, 2) << command;
    EXPECT_THAT(out.err, ::testing::HasSubstr("gibbsite: ")) << command;
  }
  const Outcome fitted = shell(fit_line + std::string("new.json >&-"));
  EXPECT_EQ(fitted.status, 2);
  EXPECT_THAT(fitted.err, ::testing::HasSubstr("what goes to files was written"));
  EXPECT_EQ(shell("$G verify new.json").status, 0);
  EXPECT_EQ(shell(fit_line + std::string("new.json --quiet >&-")).status, 0);
}

// A file that is opened takes the lowest free number: with stderr closed the ledger was number 2,
// and a warning would have gone into it.
TEST_F(Streams, NoFileTakesTheNumberOfAClosedStream) {
  for (const std::string closed : {"2>&-", ">&-", ">&- 2>&-", "0<&- >&- 2>&-"}) {
    static_cast<void>(shell("rm -f L"));
    ASSERT_EQ(shell("$G ledger create L --epsilon 2 --delta 1e-5").status, 0);
    static_cast<void>(shell(fit_line + ("kept.json --ledger L " + closed)));
    EXPECT_EQ(shell("$G verify kept.json").status, 0) << closed;
    EXPECT_EQ(shell("$G ledger show L").status, 0) << closed;
    const Outcome predicted =
        shell("$G predict --model model.json --data table.csv --out p.csv --force " + closed);
    EXPECT_EQ(predicted.status, 0) << closed;
    EXPECT_EQ(folder.read("p.csv").substr(0, 11), "prediction\n") << closed;
  }
}

TEST_F(Streams, AReaderThatLeavesEarlyIsNoError) {
  for (const std::string command :
       {"predict --model model.json --data table.csv", "--help", "verify model.json"}) {
    const Outcome early = shell("(sleep 0.3; $G " + command + "; echo $? >status) | true");
    EXPECT_EQ(folder.read("status"), "141\n") << command;
    EXPECT_THAT(early.err, ::testing::Not(::testing::HasSubstr("gibbsite: "))) << command;
  }
  // The model is written all the same.
  static_cast<void>(shell("(sleep 0.3; " + (fit_line + std::string("piped.json")) + ") | true"));
  EXPECT_EQ(shell("$G verify piped.json").status, 0);
}

TEST_F(Streams, WithoutThreadsTheCallerDoesTheWork) {
  if (takes_terabytes) GTEST_SKIP() << "a sanitizer needs more addresses than the limit";
  std::string big = "age,work,income\n";
  for (int i = 0; i < 60'000; ++i) {
    big += std::to_string(18 + i % 60) + ",Private," + (i % 60 > 30 ? ">50K" : "<=50K") + "\n";
  }
  folder.write("big.csv", big);
  // Stacks larger than all addresses: no thread can be started.
  const std::string none = "ulimit -s 4000000 && ulimit -v 3000000 && ";
  const std::string line =
      "$G fit --data big.csv --schema table.toml --epsilon 1 --delta 1e-6 --out ";
  const Outcome alone = shell(none + line + "alone.json");
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(shell("$G verify alone.json").status, 0);
  EXPECT_EQ(shell(none + "$G evaluate --model alone.json --data big.csv").status, 0);
  EXPECT_EQ(shell(none + "$G bench --rows 20000 --features 4").status, 0);
  EXPECT_EQ(shell(none + "$G sample --data big.csv --schema table.toml --prior-precision 1 "
                         "--draws 20 --out draws")
                .status,
            0);
}

TEST_F(Streams, MemoryThatRunsOutIsSaidInOneLine) {
  if (takes_terabytes) GTEST_SKIP() << "a sanitizer needs more addresses than the limit";
  std::size_t refused = 0;
  for (const char* const limit : {"-d 2000", "-d 8000", "-d 20000", "-v 60000"}) {
    const Outcome out =
        shell("ulimit " + std::string(limit) + " && " + fit_line + "small.json --quiet");
    if (out.status == 0) continue;
    if (out.err.find("error while loading shared libraries") != std::string::npos) continue;
    ++refused;
    EXPECT_EQ(out.status, 2) << limit << out.err;
    EXPECT_THAT(out.err, ::testing::HasSubstr("gibbsite: out of memory")) << limit;
    EXPECT_THAT(out.err, ::testing::Not(::testing::HasSubstr("terminate"))) << limit;
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace streams_test
}  // namespace gibbsite::testing
