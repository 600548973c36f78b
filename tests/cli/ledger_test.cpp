// Releases that a ledger counts, on the command line.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace ledger_test {

using ::testing::HasSubstr;
using ::testing::Not;

class LedgerCli : public Cli {
 protected:
  LedgerCli() { setenv("XDG_STATE_HOME", state.path().c_str(), 1); }
  ~LedgerCli() override { unsetenv("XDG_STATE_HOME"); }

  void make(const std::string& epsilon = "2") const {
    const Outcome made =
        gibbsite({"ledger", "create", "l", "--epsilon", epsilon, "--delta", "1e-6"});
    ASSERT_EQ(made.status, 0) << made.err;
    ASSERT_EQ(made.err, "");
  }
  /// At epsilon 1, delta 1e-6, into that file.
  [[nodiscard]] Outcome fit_to(const std::string& out, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--out", out, "--ledger", "l"});
    return gibbsite(fit(more));
  }
  [[nodiscard]] nlohmann::json shown() const {
    return nlohmann::json::parse(gibbsite({"ledger", "show", "l", "--json"}).out);
  }

  TempDir state;
};

TEST_F(LedgerCli, CountsReleasesUntilTheBudgetIsSpent) {
  make();
  const Outcome first = fit_to("1.json");
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("Entered: in l, "));
  ASSERT_EQ(fit_to("2.json", {"--mechanism", "path", "--quiet"}).status, 0);
  ASSERT_EQ(gibbsite({"verify", "2.json"}).status, 0);
  // Twice sqrt(2) of (1, 1e-6) is nearly (2, 1e-6); a third is too much. What fits is said, and
  // does.
  ASSERT_EQ(fit_to("3.json", {"--mechanism", "output"}).status, 0);
  const Outcome refused = fit_to("4.json");
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("gibbsite: l: this release takes 0.0"));
  EXPECT_THAT(refused.err, HasSubstr("of mu^2, 0.0"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("4.json")));
  const std::size_t at = refused.err.find("--epsilon ");
  ASSERT_NE(at, std::string::npos) << refused.err;
  std::vector<std::string> smaller = fit({"--out", "4.json", "--ledger", "l"});
  smaller[6] = refused.err.substr(at + 10, refused.err.find(' ', at + 10) - at - 10);
  EXPECT_EQ(gibbsite(smaller).status, 0) << smaller[6];

  const nlohmann::json all = shown();
  ASSERT_EQ(all["releases"].size(), 4U);
  EXPECT_EQ(all["releases"][1]["command"], "fit path");
  EXPECT_EQ(all["releases"][1]["digest"], json("2.json")["certificate"]["digest"]);
  EXPECT_EQ(all["guarantee"]["epsilon"], 2);
  const std::string words = gibbsite({"ledger", "show", "l"}).out;
  EXPECT_THAT(words, HasSubstr("l: 4 releases since 20"));
  EXPECT_THAT(words, ::testing::ContainsRegex(
                         "The guarantee is the cap's: all that is ever released through this "
                         "ledger, together, is \\(2,[ \n]1e-06\\)-differentially[ \n]private"));
  EXPECT_THAT(words, HasSubstr("is information and no guarantee"));
  EXPECT_THAT(words, HasSubstr("fit whitened"));
  ASSERT_EQ(gibbsite({"ledger", "export", "l", "--out", "l.json"}).status, 0);
  EXPECT_EQ(json("l.json"), all);
  expect_error(gibbsite({"ledger", "export", "l", "--out", "l.json"}), 2, "is there already");
  expect_error(gibbsite({"ledger", "export", "l", "--out", "l", "--force"}), 2, "--out");
}

// Every mechanism keeps to its budget by its own certificate, whatever covers it in a sum.
TEST_F(LedgerCli, OneOfOneReleasesBudgetHoldsIt) {
  for (const char* mechanism : {"whitened", "path", "output", "objective"}) {
    std::filesystem::remove(folder.path("l"));
    make("1");
    const std::vector<std::string> by{"--mechanism", mechanism, "--quiet", "--force"};
    const Outcome first = fit_to("1.json", by);
    EXPECT_EQ(first.status, 0) << mechanism << ": " << first.err;
    EXPECT_EQ(gibbsite({"verify", "1.json"}).status, 0) << mechanism;
    EXPECT_EQ(fit_to("2.json", by).status, 5) << mechanism;
    EXPECT_EQ(shown()["releases"].size(), 1U) << mechanism;
  }
  std::filesystem::remove(folder.path("l"));
  make("1");
  const Outcome whole = fit_to("1.json", {"--quiet", "--force"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("--ledger: this release takes all of l, and nothing can be"));
  EXPECT_EQ(shown()["whole"], true);
  EXPECT_EQ(shown()["guarantee"].count("mu"), 0U);
  EXPECT_THAT(gibbsite({"ledger", "show", "l"}).out, HasSubstr("One release took all of it"));
}

// The certificate of a mechanism with a delta of its own is dearer than its profile.
TEST_F(LedgerCli, ProfilesEnterByTheGaussianThatCoversThem) {
  make();
  ASSERT_EQ(fit_to("1.json", {"--mechanism", "objective", "--quiet"}).status, 0);
  ASSERT_EQ(gibbsite({"fit", "--data", "table.csv", "--schema", "table.toml", "--model",
                      "categorical", "--column", "work", "--epsilon", "1", "--delta", "1e-6",
                      "--out", "2.json", "--ledger", "l", "--quiet"})
                .status,
            0);
  const nlohmann::json all = shown();
  ASSERT_EQ(all["releases"].size(), 2U);
  EXPECT_EQ(all["releases"][0]["command"], "fit objective");
  EXPECT_EQ(all["releases"][1]["command"], "fit conjugate");
  for (const auto& release : all["releases"]) {
    EXPECT_LT(std::stod(release["mu_squared"].get<std::string>()), 0.16)
        << release;  // 1.23^2 as (1, delta)
    const double delta0 = std::stod(release["reveal"].get<std::string>());
    EXPECT_GT(delta0, 0);
    EXPECT_LE(delta0, 1e-9);
  }
}

// A copied checkpoint finishes twice with the same noise: on other data that would give the rows
// away, and the ledger cannot know that it is the same.
TEST_F(LedgerCli, ACheckpointFinishesOnce) {
  make();
  const std::vector<std::string> run{"--mechanism", "path", "--checkpoint", "c", "--quiet"};
  // Stopped by a full disk after its last step.
  std::vector<std::string> command = fit({"--out", "1.json"});
  command.insert(command.end(), run.begin(), run.end());
  ASSERT_EQ(gibbsite(command, 1024).status, 2);
  ASSERT_TRUE(std::filesystem::exists(folder.path("c")));
  std::filesystem::copy(folder.path("c"), folder.path("copy"));
  ASSERT_EQ(fit_to("1.json", run).status, 0);
  std::filesystem::rename(folder.path("copy"), folder.path("c"));
  expect_error(fit_to("2.json", run), 2, "this very release is entry 1 of ");
  EXPECT_FALSE(std::filesystem::exists(folder.path("2.json")));
  EXPECT_EQ(shown()["releases"].size(), 1U);
}

// The reveal of a fitted profile is a part of delta. No epsilon helps, so the refusal names a delta
// that fits.
TEST_F(LedgerCli, ARevealThatIsTooLargeIsOneOfDelta) {
  make();
  const auto at = [&](const std::string& delta) {
    std::vector<std::string> run = fit({"--mechanism", "objective", "--quiet", "--out", "1.json",
                                        "--ledger", "l", "--epsilon", "0.1", "--delta", delta});
    run.erase(run.begin() + 5, run.begin() + 9);
    return gibbsite(run);
  };
  const Outcome refused = at("1e-4");
  EXPECT_EQ(refused.status, 5);
  EXPECT_THAT(refused.err, HasSubstr("of reveal, "));
  EXPECT_THAT(refused.err, Not(HasSubstr("--epsilon")));
  const std::string before = "give at most ";
  const std::size_t found = refused.err.find(before);
  ASSERT_NE(found, std::string::npos) << refused.err;
  const std::string delta = refused.err.substr(found + before.size());
  EXPECT_EQ(at(delta.substr(0, delta.find('\n'))).status, 0) << delta;
}

// What fits is found from afar too.
TEST_F(LedgerCli, AnEpsilonThatFitsIsNamedForAHugeOne) {
  make();
  std::vector<std::string> run =
      fit({"--mechanism", "output-pure", "--quiet", "--out", "1.json", "--ledger", "l"});
  const auto at = std::ranges::find(run, "--epsilon") + 1;
  *at = "700";
  const Outcome refused = gibbsite(run);
  EXPECT_EQ(refused.status, 5);
  const std::size_t found = refused.err.find("--epsilon ");
  ASSERT_NE(found, std::string::npos) << refused.err;
  *at = refused.err.substr(found + 10, refused.err.find(' ', found + 10) - found - 10);
  EXPECT_EQ(gibbsite(run).status, 0) << *at;
}

// SQLite would remove it, after the budget was spent.
TEST_F(LedgerCli, NothingIsWrittenOverItsJournal) {
  make();
  std::filesystem::create_symlink("l", folder.path("link"));
  for (const char* name : {"l-journal", "./l-wal", "l-shm"}) {
    expect_error(fit_to(name), 2, "is the name of the journal of --ledger");
    expect_error(fit_to("1.json", {"--checkpoint", name}), 2, "--checkpoint: ");
    expect_error(gibbsite(fit({"--out", name, "--ledger", "link"})), 2, "--out: ");
    EXPECT_FALSE(std::filesystem::exists(folder.path(name)));
  }
  EXPECT_EQ(fit_to("l-journal.json", {"--quiet"}).status, 0);
}

TEST_F(LedgerCli, AReleaseThatIsLostIsPaidForAndThatIsSaid) {
  make();
  const Outcome lost = fit_to("/dev/full", {"--quiet"});
  EXPECT_EQ(lost.status, 2);
  EXPECT_THAT(lost.err, HasSubstr("warning: --ledger: l holds this release though it was not "
                                  "written: its budget is spent\n"));
  EXPECT_THAT(lost.err, HasSubstr("/dev/full: cannot write"));
  EXPECT_EQ(shown()["releases"].size(), 1U);
  // Refusals before the entry cost nothing.
  EXPECT_NE(fit_to("absent/1.json").status, 0);
  EXPECT_NE(fit_to("1.json", {"--mechanism", "dalalyan"}).status, 0);
  EXPECT_EQ(shown()["releases"].size(), 1U);
}

TEST_F(LedgerCli, BadInputIsOneLine) {
  make();
  const auto error = [&](const std::vector<std::string>& command, const std::string& what) {
    expect_error(gibbsite(command), 2, what);
  };
  error({"ledger", "create", "l", "--epsilon", "1", "--delta", "1e-6"},
        "l: is there already; give another name: a ledger is never replaced");
  error({"ledger", "create", "m", "--epsilon", "0", "--delta", "1e-6"}, "--epsilon");
  error({"ledger", "create", "m", "--epsilon", "1", "--delta", "1"}, "--delta");
  error({"ledger", "create", "m", "--epsilon", "1"},
        "--delta: is missing; give it, such as --delta 1e-6; see");
  error({"ledger", "create", "m", "--epsilon", "1", "--delta", "1e-6", "--adjacency", "both"},
        "--adjacency");
  error({"ledger", "create", "m", "--epsilon", "1", "--delta", "1e-6", "--tv-share", "1"},
        "--tv-share");
  error({"ledger", "create", "absent/m", "--epsilon", "1", "--delta", "1e-6"}, "absent/m");
  error({"ledger", "show", "absent"}, "absent: there is no such ledger");
  error({"ledger", "show", "table.csv"}, "table.csv: is no ledger");
  error({"ledger"}, "see 'gibbsite ledger --help'");
  error({"ledger", "burn", "l"}, "see 'gibbsite ledger");
  error(fit({"--out", "l", "--ledger", "l"}), "--out");
  error(fit({"--out", "1.json", "--ledger", "l", "--rows-per-person", "2"}),
        "l: counts replace-one neighbors of 1 row(s) a person, this release protects replace-one "
        "ones of 2");
  EXPECT_FALSE(std::filesystem::exists(folder.path("m")));
  EXPECT_EQ(shown()["releases"].size(), 0U);
  // What was seen here and is gone.
  std::filesystem::copy(folder.path("l"), folder.path("old"));
  ASSERT_EQ(fit_to("1.json", {"--quiet"}).status, 0);
  std::filesystem::rename(folder.path("old"), folder.path("l"));
  expect_error(fit_to("2.json"), 2, "l: it has 0 entries, 1 were seen here: this is an older copy");
}

}  // namespace ledger_test
}  // namespace gibbsite::testing
